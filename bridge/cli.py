"""The command line. Heavy imports stand inside the commands, so that `--help` and `version` answer at once."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.errors import BridgeError, ConfigError, InvalidRequest
from bridge.lean_imports import enter_by_name, lean_start
from bridge.logs import LogLevel

if TYPE_CHECKING:
    from bridge.config import Config

EXIT_FAILURE = 1
EXIT_USAGE = 2

app = typer.Typer(
    name="threadbridge",
    help="Carries conversations between chat platforms and a LangGraph agent.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
config_app = typer.Typer(help="The configuration.", no_args_is_help=True)
inbox_app = typer.Typer(help="Messages that could not be handled.", no_args_is_help=True)
db_app = typer.Typer(help="The database.", no_args_is_help=True)
access_app = typer.Typer(
    help="Who may write to the bot, where `access: pairing` leaves it to the admins.", no_args_is_help=True
)
app.add_typer(config_app, name="config")
app.add_typer(inbox_app, name="inbox")
app.add_typer(db_app, name="db")
app.add_typer(access_app, name="access")

ConfigPath = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Else $THREADBRIDGE_CONFIG_PATH, ./config.yaml, or the defaults."),
]
Level = Annotated[LogLevel, typer.Option("--log-level", help="How much is logged, on stderr.")]
Code = Annotated[str, typer.Argument(metavar="CODE", help="As the person was told it.")]
EventId = Annotated[int, typer.Argument(metavar="ID", help="As `threadbridge inbox list` shows it.")]


@app.callback()
def options(context: typer.Context, config: ConfigPath = None) -> None:
    """Carries conversations between chat platforms and a LangGraph agent."""
    enter_by_name()
    context.obj = config


@app.command()
def serve(
    context: typer.Context,
    config: ConfigPath = None,
    log_level: Level = LogLevel.INFO,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CHANNEL", help="Start no other channel (repeatable).")
    ] = None,
) -> None:
    """Run the bridge until it is told to stop (Ctrl-C, SIGTERM)."""
    import logging

    with lean_start():
        import uvloop

        from bridge.app import run
        from bridge.logs import set_up_logging

        loaded = _load(context, config)
    set_up_logging(log_level, loaded.secrets())
    for warning in loaded.warnings:
        logging.getLogger("bridge.config").warning("%s", warning)
    uvloop.run(run(loaded.with_only(only) if only else loaded))


@app.command()
def chat(
    context: typer.Context,
    config: ConfigPath = None,
    thread: Annotated[str, typer.Option("--thread", metavar="NAME", help="Go on with a conversation.")] = "default",
) -> None:
    """Talk to the agent here in the terminal, without any platform."""
    from bridge import terminal
    from bridge.logs import set_up_logging

    loaded = _load(context, config)
    set_up_logging(LogLevel.ERROR, loaded.secrets())
    asyncio.run(terminal.chat(loaded, thread))


@app.command()
def doctor(context: typer.Context, config: ConfigPath = None) -> None:
    """Check everything the bridge needs and say what to mend."""
    from bridge import doctor as physician
    from bridge.logs import set_up_logging

    loaded = _load(context, config)
    set_up_logging(LogLevel.ERROR, loaded.secrets())
    findings = asyncio.run(physician.examine(loaded))
    for finding in findings:
        typer.echo(f"{finding.verdict.value:<5} {finding.subject}: {finding.detail}")
    if any(finding.verdict is physician.Verdict.FAILED for finding in findings):
        raise typer.Exit(EXIT_FAILURE)


@app.command()
def version() -> None:
    """Say which version this is."""
    from importlib import metadata

    typer.echo(metadata.version("threadbridge"))


@config_app.command("check")
def config_check(context: typer.Context, config: ConfigPath = None) -> None:
    """Read the configuration and point at what is wrong in it."""
    loaded = _load(context, config)
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(f"{loaded.source or 'the built-in defaults'}: fine")
    typer.echo(f"  home      {loaded.home}")
    typer.echo(f"  models    {', '.join(model.name for model in loaded.agent.models) or 'demo (built in)'}")
    typer.echo(f"  channels  {', '.join(loaded.channels.enabled()) or 'none'}")


@inbox_app.command("list")
def inbox_list(context: typer.Context, config: ConfigPath = None) -> None:
    """Show the messages that failed too often, oldest first."""
    from bridge.operations import buried_events

    events = asyncio.run(buried_events(_load(context, config)))
    for event in events:
        said = f"{event.received_at:%Y-%m-%d %H:%M} {event.conversation} {event.kind}"
        typer.echo(f"{event.id}  {said}  {event.error or ''}")
    if not events:
        typer.echo("nothing is buried")


@inbox_app.command("retry")
def inbox_retry(context: typer.Context, event_id: EventId, config: ConfigPath = None) -> None:
    """Handle a buried message again."""
    from bridge.operations import unbury
    from bridge.persistence.inbox import EventState

    asyncio.run(unbury(_load(context, config), event_id, EventState.RECEIVED))
    typer.echo(f"{event_id} waits to be handled again")


@inbox_app.command("drop")
def inbox_drop(context: typer.Context, event_id: EventId, config: ConfigPath = None) -> None:
    """Give a buried message up."""
    from bridge.operations import unbury
    from bridge.persistence.inbox import EventState

    asyncio.run(unbury(_load(context, config), event_id, EventState.DROPPED))
    typer.echo(f"{event_id} is dropped")


@access_app.command("list")
def access_list(context: typer.Context, config: ConfigPath = None) -> None:
    """Show who was let in and who asks to be."""
    from bridge.operations import access

    admitted, waiting = asyncio.run(access(_load(context, config)))
    for request in waiting:
        asked = f"{request.key.channel} {request.key.account} {request.key.person_id} {request.name}"
        typer.echo(f"asks      {asked}  code {request.code}, until {request.expires_at:%H:%M} UTC")
    for person in admitted:
        place = f"{person.key.channel} {person.key.account} {person.key.person_id} {person.name}"
        typer.echo(f"admitted  {place}  by {person.admitted_by}, {person.admitted_at:%Y-%m-%d %H:%M} UTC")
    if not admitted and not waiting:
        typer.echo("nobody was let in, and nobody asks")


@access_app.command("approve")
def access_approve(context: typer.Context, code: Code, config: ConfigPath = None) -> None:
    """Let in whoever was given this code."""
    from bridge.operations import settle_request

    request = asyncio.run(settle_request(_load(context, config), code, admit=True))
    typer.echo(f"{request.name or request.key.person_id} may write on {request.key.channel} from now on")


@access_app.command("decline")
def access_decline(context: typer.Context, code: Code, config: ConfigPath = None) -> None:
    """Drop the request with this code."""
    from bridge.operations import settle_request

    request = asyncio.run(settle_request(_load(context, config), code, admit=False))
    typer.echo(f"{request.name or request.key.person_id} was not let in")


@access_app.command("revoke")
def access_revoke(
    context: typer.Context,
    channel: Annotated[str, typer.Argument(help="As `threadbridge access list` shows it.")],
    account: Annotated[str, typer.Argument(help="The bot or workspace.")],
    person: Annotated[str, typer.Argument(help="The person's id.")],
    config: ConfigPath = None,
) -> None:
    """Shut somebody out again who was let in."""
    from bridge.operations import shut_out
    from bridge.persistence.people import PersonKey

    asyncio.run(shut_out(_load(context, config), PersonKey(channel, account, person)))
    typer.echo(f"{person} may no longer write on {channel}")


@db_app.command("status")
def db_status(context: typer.Context, config: ConfigPath = None) -> None:
    """Show where the tables are, their revision, and what waits in them."""
    from bridge.operations import database_status

    status = asyncio.run(database_status(_load(context, config)))
    typer.echo(status.place)
    if status.revision is None:
        typer.echo("  revision  none yet: the bridge makes the tables at its start")
        return
    note = "" if status.is_current else " (the bridge upgrades it at its start)"
    if status.is_too_new:
        note = " (made by a newer version of the program; install that one)"
    typer.echo(f"  revision  {status.revision}{note}")
    typer.echo(f"  inbox     {status.waiting_events} waiting, {status.buried_events} buried")


def main() -> None:
    """Run the command; what goes wrong is one paragraph on stderr and an exit code: 1 failure, 2 usage or configuration."""
    try:
        app()
    except Exception as error:  # noqa: BLE001  # the program's edge: what is not an error of ours is raised again
        sys.exit(_complain(error))


def _complain(error: Exception) -> int:
    from agent.errors import AgentError, ClassNotLoaded, ModelNotConfigured
    from channels.contract import ChannelError, ChannelNotConfigured

    if not isinstance(error, BridgeError | AgentError | ChannelError):
        raise error
    typer.echo(f"threadbridge: {error}", err=True)
    users_to_mend = ConfigError | InvalidRequest | ModelNotConfigured | ClassNotLoaded | ChannelNotConfigured
    return EXIT_USAGE if isinstance(error, users_to_mend) else EXIT_FAILURE


def _load(context: typer.Context, config: Path | None) -> "Config":
    from bridge.config import find_config, folder_of, load_config
    from bridge.config.environment import read_environment

    root = context.find_root()
    source = find_config(config or root.obj, os.environ)
    # Libraries read variables of their own (proxies, tracing); they find what `.env` says, too.
    os.environ.update(read_environment(folder_of(source), os.environ))
    return load_config(source, os.environ)
