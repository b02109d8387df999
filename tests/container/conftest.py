"""The image, built once, on an engine."""

import functools
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.container import ingredients
from tests.container.engine import Engine, Image, an_engine


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    """Built from this checkout as `make image` builds it, on a Debian base, with wheels instead of an index."""
    name = f"threadbridge-test-{uuid.uuid4().hex[:8]}"
    try:
        with an_engine() as engine, _served(ingredients.wheels()) as url:
            engine.docker("import", ingredients.base(), f"{name}-base")
            try:
                _build(engine, name, url)
                yield Image(engine, name)
            finally:
                engine.attempt("image", "rm", "--force", name, f"{name}-base")
    except ingredients.NotHere as error:
        pytest.skip(str(error))


def _build(engine: Engine, name: str, wheels_url: str) -> None:
    settings = {"BASE": f"{name}-base", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels_url, "VERSION": "1.2.3"}
    arguments = [argument for key, value in settings.items() for argument in ("--build-arg", f"{key}={value}")]
    engine.docker("build", "--network=host", "--tag", name, *arguments, ingredients.ROOT)


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Every wheel would be a line."""
