"""The one table from an error's code to its HTTP status."""

from collections.abc import Mapping
from http import HTTPStatus

from agent.errors import AgentError
from bridge.errors import BridgeError
from channels.contract import ChannelError

KnownError = BridgeError | AgentError | ChannelError

STATUSES: Mapping[str, HTTPStatus] = {
    # the house
    "internal": HTTPStatus.INTERNAL_SERVER_ERROR,
    "config": HTTPStatus.INTERNAL_SERVER_ERROR,
    "schema_too_new": HTTPStatus.INTERNAL_SERVER_ERROR,
    "schema_unusable": HTTPStatus.INTERNAL_SERVER_ERROR,
    "home_unusable": HTTPStatus.INTERNAL_SERVER_ERROR,
    "cannot_listen": HTTPStatus.INTERNAL_SERVER_ERROR,
    "already_running": HTTPStatus.INTERNAL_SERVER_ERROR,
    "not_found": HTTPStatus.NOT_FOUND,
    "thread_gone": HTTPStatus.NOT_FOUND,
    "already_exists": HTTPStatus.CONFLICT,
    "thread_busy": HTTPStatus.CONFLICT,
    "run_finished": HTTPStatus.CONFLICT,
    "invalid_request": HTTPStatus.UNPROCESSABLE_ENTITY,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "too_many_waiting": HTTPStatus.TOO_MANY_REQUESTS,
    "unreadable_event": HTTPStatus.INTERNAL_SERVER_ERROR,
    "lease_expired": HTTPStatus.SERVICE_UNAVAILABLE,
    "shutting_down": HTTPStatus.SERVICE_UNAVAILABLE,
    "database_unreachable": HTTPStatus.SERVICE_UNAVAILABLE,
    "transcription_failed": HTTPStatus.BAD_GATEWAY,
    # the mind
    "agent_error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "model_call_failed": HTTPStatus.BAD_GATEWAY,
    "model_not_configured": HTTPStatus.INTERNAL_SERVER_ERROR,
    "class_not_loaded": HTTPStatus.INTERNAL_SERVER_ERROR,
    "tool_failed": HTTPStatus.INTERNAL_SERVER_ERROR,
    "path_outside": HTTPStatus.FORBIDDEN,
    "lease_lost": HTTPStatus.SERVICE_UNAVAILABLE,
    "unknown_assistant": HTTPStatus.UNPROCESSABLE_ENTITY,
    "checkpoint_not_stored": HTTPStatus.INTERNAL_SERVER_ERROR,
    "unknown_checkpoint": HTTPStatus.NOT_FOUND,
    "step_limit_reached": HTTPStatus.INTERNAL_SERVER_ERROR,
    "stack_order": HTTPStatus.INTERNAL_SERVER_ERROR,
    # the doors
    "channel_error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "channel_not_configured": HTTPStatus.SERVICE_UNAVAILABLE,
    "channel_conflict": HTTPStatus.SERVICE_UNAVAILABLE,
    "rate_limited": HTTPStatus.TOO_MANY_REQUESTS,
    "channel_unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "outcome_unknown": HTTPStatus.BAD_GATEWAY,
    "content_rejected": HTTPStatus.UNPROCESSABLE_ENTITY,
    "chat_gone": HTTPStatus.GONE,
    "chat_moved": HTTPStatus.GONE,
    "file_unavailable": HTTPStatus.NOT_FOUND,
}


def status_of(error: KnownError) -> HTTPStatus:
    """The status of an error, by its code; a code without a row is our fault and says 500."""
    return STATUSES.get(error.code, HTTPStatus.INTERNAL_SERVER_ERROR)
