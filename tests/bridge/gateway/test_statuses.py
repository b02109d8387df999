"""The table of statuses knows every error there is."""

from http import HTTPStatus

import pytest

from agent.errors import AgentError
from bridge.errors import BridgeError, ThreadGone
from bridge.gateway.statuses import STATUSES, status_of
from channels.contract import ChannelError


def tree(root):
    return [root, *(error for child in root.__subclasses__() for error in tree(child))]


@pytest.mark.parametrize("root", [BridgeError, AgentError, ChannelError])
def test_every_error_of_the_trees_has_its_row(root):
    assert {error.code for error in tree(root)} <= set(STATUSES)


def test_the_table_has_no_row_that_no_error_uses():
    assert set(STATUSES) == {error.code for root in (BridgeError, AgentError, ChannelError) for error in tree(root)}


def test_a_deleted_thread_is_not_found():
    assert status_of(ThreadGone("gone")) is HTTPStatus.NOT_FOUND
