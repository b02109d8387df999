"""Everything the house may raise.

BridgeError
├── ConfigError              the configuration is wrong; the message points at the line and says what to write
├── SchemaTooNew             the database was made by a newer version of the program
├── SchemaUnusable           the database has tables under our names that are not as we make them
├── DatabaseUnreachable      the database does not answer, or refuses us
├── HomeUnusable             the home folder cannot be made or written
├── CannotListen             the gateway's host or port cannot be bound
├── AlreadyRunning           another process serves this home
├── NotFound                 no such thread, run, checkpoint, conversation or file (also: not yours)
│   └── ThreadGone           the thread existed and was deleted
├── AlreadyExists            a thread with that id is there
├── ThreadBusy               a run is active on the thread and the caller asked to be refused then
├── RunFinished              a run that has ended cannot be cancelled
├── InvalidRequest           the request contradicts itself or names what does not exist
├── TooLarge                 an upload beyond the limits
├── TranscriptionFailed      what was spoken could not be put into writing; `user_message` says why
├── TooManyWaiting           the conversation's queue is full
├── UnreadableEvent          a row of the inbox was written by another version, or is damaged
├── LeaseExpired             this process may no longer act for the run or delivery
└── ShuttingDown             retryable: the process is about to stop
"""

from typing import ClassVar


class BridgeError(Exception):
    """Root of what goes wrong in the house.

    `retryable` is for the inbox worker; `user_message` may be shown to the person; `code` is for the gateway's table of statuses.
    """

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, user_message: str | None = None) -> None:
        super().__init__(message)
        self.user_message = user_message


class ConfigError(BridgeError):
    """The configuration cannot be used; the message says where and what to do."""

    code = "config"


class SchemaTooNew(BridgeError):
    """The database's revision is unknown to this program: it was upgraded by a newer one."""

    code = "schema_too_new"


class SchemaUnusable(BridgeError):
    """Tables under our names, without a revision, lack or demand what cannot be mended; the message names all of it."""

    code = "schema_unusable"


class DatabaseUnreachable(BridgeError):
    """The database does not answer or refuses us; the message gives the driver's reason."""

    code = "database_unreachable"


class HomeUnusable(BridgeError):
    """The home folder cannot be made or written; the message names the key and what to do."""

    code = "home_unusable"


class CannotListen(BridgeError):
    """The gateway cannot listen where it is told to; the message names the key and what to do."""

    code = "cannot_listen"


class AlreadyRunning(BridgeError):
    """Another process serves the same home on the embedded database."""

    code = "already_running"


class NotFound(BridgeError):
    """There is none, or it belongs to somebody else: the caller cannot tell which."""

    code = "not_found"


class ThreadGone(NotFound):
    """The thread of a conversation was deleted; the next message begins a new one."""

    code = "thread_gone"


class AlreadyExists(BridgeError):
    """A thread with that id exists and the caller asked to be told."""

    code = "already_exists"


class ThreadBusy(BridgeError):
    """A run is active or waiting on the thread, and the caller chose `reject`."""

    code = "thread_busy"


class RunFinished(BridgeError):
    """The run has ended by itself; there is nothing to cancel."""

    code = "run_finished"


class InvalidRequest(BridgeError):
    """The request cannot be carried out as written; the message says what to change."""

    code = "invalid_request"


class TooLarge(BridgeError):
    """A file or body beyond the configured limit."""

    code = "too_large"


class TranscriptionFailed(BridgeError):
    """A recording could not be put into writing; `user_message` goes on "…could not be transcribed: "."""

    code = "transcription_failed"


class TooManyWaiting(BridgeError):
    """As many messages wait in this conversation as may."""

    code = "too_many_waiting"


class UnreadableEvent(BridgeError):
    """A row of the inbox that this version cannot read: another one wrote it, or it is damaged."""

    code = "unreadable_event"

    def __init__(self, event_id: int, kind: str, reason: str) -> None:
        super().__init__(f"event {event_id} ({kind}) cannot be read by this version: {reason}")
        self.event_id = event_id
        self.kind = kind


class LeaseExpired(BridgeError):
    """The lease on a run or delivery is gone: somebody else goes on with it, and this process must fall silent."""

    code = "lease_expired"


class ShuttingDown(BridgeError):
    """The process is stopping and takes nothing new."""

    code = "shutting_down"
    retryable = True
