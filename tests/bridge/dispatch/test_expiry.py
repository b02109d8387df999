"""A question whose time is over says so by itself, once."""

from sqlalchemy import update

from bridge.dispatch.expiry import QuestionExpiry
from bridge.persistence import tables
from bridge.runs.config import RunsConfig
from bridge.signals import Signals
from channels.contract import Clarification, ClarificationState
from tests.bridge.dispatch.conftest import Desk
from tests.bridge.people import message


def expiry_of(desk: Desk) -> QuestionExpiry:
    return QuestionExpiry(desk.database, Signals(), RunsConfig(), desk.clock)


async def test_it_is_said_in_the_answer_once_though_several_processes_look(desk: Desk) -> None:
    await desk.decide(message("hi"))
    run = await desk.ask("red", "blue")
    await desk.take_deliveries()
    one, other = expiry_of(desk), expiry_of(desk)
    assert await one.sweep() == 0
    desk.clock.advance(24 * 3600)
    assert await one.sweep() == 1
    (part,) = await desk.shown(run)
    assert isinstance(part, Clarification)
    assert part.state is ClarificationState.EXPIRED
    assert await desk.take_deliveries() == [run.run_id]
    assert await other.sweep() == 0


async def test_a_question_that_cannot_be_read_does_not_come_up_for_ever(desk: Desk) -> None:
    await desk.decide(message("hi"))
    await desk.ask("red", "blue")
    await desk.database.write(lambda c: c.execute(update(tables.clarifications).values(question="{}")))
    desk.clock.advance(24 * 3600)
    assert await expiry_of(desk).sweep() == 1
    assert await expiry_of(desk).sweep() == 0
