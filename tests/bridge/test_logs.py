"""What is logged, and what never is."""

import logging

import pytest

from bridge.logs import MASK, LogLevel, RedactingFormatter, set_up_logging


@pytest.fixture
def _logging_put_back():
    names = ("", "agent", "bridge", "channels")
    levels, handlers = {name: logging.getLogger(name).level for name in names}, logging.root.handlers[:]
    yield
    logging.captureWarnings(False)
    logging.root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("_logging_put_back")
@pytest.mark.parametrize("level", list(LogLevel))
def test_our_records_follow_the_level_and_libraries_only_warn(capsys, level):
    set_up_logging(level, {"s3cret"})
    for name in ("bridge.runs", "channels.x", "agent.y", "httpx", "some.sdk"):
        for number in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logging.getLogger(name).log(number, "says s3cret")
    lines = [line.split()[2:4] for line in capsys.readouterr().err.splitlines()]
    wanted = logging.getLevelNamesMapping()[level.upper()]
    assert (
        len([name for _, name in lines if name.startswith(("bridge", "channels", "agent"))]) == 3 * (50 - wanted) // 10
    )
    assert {number for number, name in lines if name == "httpx:"} <= {"WARNING", "ERROR"}
    assert ["ERROR", "some.sdk:"] in lines


@pytest.mark.usefixtures("_logging_put_back")
def test_what_is_written_goes_to_stderr_and_holds_no_secret(capsys):
    set_up_logging(LogLevel.INFO, {"s3cret"})
    logging.getLogger("httpx").warning("GET https://host/bots3cret/x")
    written = capsys.readouterr()
    assert written.out == ""
    assert f"/bot{MASK}/x" in written.err


def test_the_log_masks_secrets_in_messages_arguments_tracebacks_and_addresses():
    formatter = RedactingFormatter({"123:token", "123:token-longer"})
    try:
        raise RuntimeError("POST https://api.telegram.org/bot123:token/getMe")
    except RuntimeError as error:
        record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "called %s", ("bot123%3Atoken-longer/",), None)
        record.exc_info = (RuntimeError, error, error.__traceback__)
    text = formatter.format(record)
    assert "token" not in text
    assert text.count(MASK) == text.count("bot[secret]") >= 2


def test_the_log_does_not_mask_what_is_too_short_to_be_a_secret():
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "a cat", (), None)
    assert RedactingFormatter({"a", ""}).format(record).endswith("a cat")
