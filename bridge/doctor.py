"""`threadbridge doctor`: looks at everything the bridge needs and says what to mend."""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from agent.errors import AgentError
from agent.models import DEMO_MODEL, ModelConfig, build_model
from bridge.config import Config
from bridge.errors import ConfigError, DatabaseUnreachable, HomeUnusable
from bridge.home import prepare_home
from bridge.operations import database_status, tasks_under_way
from bridge.transcription import build_transcriber
from channels.contract import Channel, ChannelError, ChannelSection, Remark, SupportsDoctor, Surroundings
from channels.registry import PLUGINS


class Verdict(StrEnum):
    """What came out of a check."""

    OK = "ok"
    WARNING = "warn"
    FAILED = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `detail` says what to do unless all is well."""

    subject: str
    verdict: Verdict
    detail: str


async def examine(config: Config) -> Sequence[Finding]:
    """Every check, in the order in which the bridge needs the things."""
    checks: list[Callable[[Config], Awaitable[Sequence[Finding]]]] = [
        _configuration,
        _home,
        _database,
        _port,
        _models,
        _transcription,
        _channels,
    ]
    return [finding for check in checks for finding in await check(config)]


async def _configuration(config: Config) -> Sequence[Finding]:
    source = str(config.source or "no file, so the built-in defaults")
    return [
        Finding("configuration", Verdict.OK, source),
        *(Finding("configuration", Verdict.WARNING, warning) for warning in config.warnings),
    ]


async def _home(config: Config) -> Sequence[Finding]:
    try:
        await asyncio.to_thread(prepare_home, config.home)
    except HomeUnusable as error:
        return [Finding("home", Verdict.FAILED, str(error).removeprefix("home: "))]
    return [Finding("home", Verdict.OK, str(config.home))]


async def _database(config: Config) -> Sequence[Finding]:
    try:
        if config.database.url is None:
            await asyncio.to_thread(prepare_home, config.home)
        status = await database_status(config)
    except HomeUnusable:
        return [Finding("database", Verdict.FAILED, f"it would lie in {config.home}, which cannot be used")]
    except DatabaseUnreachable as error:
        return [Finding("database", Verdict.FAILED, str(error))]
    if status.is_too_new:
        advice = f"{status.place} is at revision {status.revision}, made by a newer version; install that one"
        return [Finding("database", Verdict.FAILED, advice)]
    state = f"revision {status.revision}" if status.is_current else "the tables are made or upgraded at the next start"
    found = [Finding("database", Verdict.OK, f"{status.place}, {state}")]
    if status.buried_events:
        advice = f"{status.buried_events} messages could not be handled: threadbridge inbox list"
        found.append(Finding("inbox", Verdict.WARNING, advice))
    return found


async def _port(config: Config) -> Sequence[Finding]:
    address = f"{config.gateway.host}:{config.gateway.port}"

    def bind() -> None:
        family, kind, protocol, _, place = socket.getaddrinfo(
            config.gateway.host, config.gateway.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            listener.bind(place)

    try:
        await asyncio.to_thread(bind)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            advice = f"{address}: {error.strerror}; choose another gateway.host or gateway.port"
            return [Finding("port", Verdict.FAILED, advice)]
        advice = f"{address}: {error.strerror}; if it is not this bridge that runs already, choose another gateway.port"
        return [Finding("port", Verdict.WARNING, advice)]
    return [Finding("port", Verdict.OK, f"{address} is free")]


async def _models(config: Config) -> Sequence[Finding]:
    return [await _model(model) for model in config.agent.models or (DEMO_MODEL,)]


async def _model(model: ModelConfig) -> Finding:
    subject = f"model {model.name}"
    try:
        await asyncio.to_thread(build_model, model)
    except AgentError as error:
        return Finding(subject, Verdict.FAILED, str(error))
    except Exception as error:  # noqa: BLE001  # a provider's class may complain about its key in its own way
        return Finding(subject, Verdict.FAILED, str(error).partition("\n")[0])
    return Finding(subject, Verdict.OK, f"{model.use} (built, not called)")


async def _transcription(config: Config) -> Sequence[Finding]:
    try:
        transcriber = await asyncio.to_thread(build_transcriber, config.transcription)
    except ConfigError as error:
        return [Finding("transcription", Verdict.FAILED, str(error))]
    if transcriber is None:
        return []
    await transcriber.close()
    return [Finding("transcription", Verdict.OK, f"{config.transcription.use} (built, not called)")]


async def _channels(config: Config) -> Sequence[Finding]:
    enabled = config.channels.enabled()
    if not enabled:
        return [Finding("channels", Verdict.WARNING, "none is enabled; the bridge serves its HTTP API alone")]
    around = Surroundings(config.inbox.overheard_messages > 0, await tasks_under_way(config))
    return [finding for name, section in enabled.items() for finding in await _channel(name, section, config, around)]


async def _channel(name: str, section: ChannelSection, config: Config, around: Surroundings) -> Sequence[Finding]:
    subject = f"channel {name}"
    try:
        adapter = await asyncio.to_thread(_build, name, section, config.home / "channels" / name)
        try:
            remarks = await adapter.doctor(around) if isinstance(adapter, SupportsDoctor) else [Remark("configured")]
        finally:
            await adapter.close()
    except ImportError as error:
        return [Finding(subject, Verdict.FAILED, f"its package cannot be imported: {error}")]
    except ChannelError as error:
        return [Finding(subject, Verdict.FAILED, str(error))]
    except OSError as error:
        return [Finding(subject, Verdict.FAILED, f"its folder in {config.home} cannot be used: {error.strerror}")]
    return [Finding(subject, Verdict.WARNING if each.is_warning else Verdict.OK, each.text) for each in remarks]


def _build(name: str, section: ChannelSection, state_dir: Path) -> Channel:
    state_dir.mkdir(parents=True, exist_ok=True)
    return PLUGINS[name].build(section, state_dir=state_dir)
