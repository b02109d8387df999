"""The rows of `runs`: claimed in order, held by one, ended once."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import exc

from bridge.persistence import runs, threads
from bridge.persistence.database import Database, PostgresDatabase
from bridge.persistence.tables import runs as runs_table
from bridge.runs.records import CancelAction, MultitaskStrategy, RunRecord, RunSpec, RunStatus
from tests.bridge.conftest import StandingClock
from tests.bridge.persistence.conftest import MakeRun, Write

LEASE = timedelta(seconds=30)


class Claimer:
    """A process that looks for runs."""

    def __init__(self, write: Write, clock: StandingClock) -> None:
        self.write, self.clock = write, clock

    async def __call__(self, owner: str = "me", *dead: str) -> RunRecord | None:
        until = self.clock() + LEASE
        return await self.write(
            lambda c: runs.claim_next(c, owner=owner, now=self.clock(), lease_expires_at=until, from_owners=dead)
        )

    async def must(self, owner: str = "me", *dead: str) -> RunRecord:
        run = await self(owner, *dead)
        assert run is not None
        return run


@pytest.fixture
def claim(write: Write, clock: StandingClock) -> Claimer:
    return Claimer(write, clock)


async def test_everything_a_run_is_asked_survives(make_run: MakeRun, write: Write, clock: StandingClock) -> None:
    spec = RunSpec(
        input={"messages": [{"type": "human", "content": "hi ✓"}]},
        context={"model_name": "m"},
        stream_modes=["values"],
        interrupt_before="*",
        trigger_event=7,
    )
    run_id = await make_run(spec=spec, user_id="ann", metadata={"a": 1}, multitask=MultitaskStrategy.ENQUEUE)
    run = await write(lambda c: runs.find(c, run_id))
    assert run.spec == spec
    assert (run.user_id, run.metadata, run.multitask) == ("ann", {"a": 1}, MultitaskStrategy.ENQUEUE)
    assert (run.created_at, run.attempt, run.status) == (clock(), 0, RunStatus.PENDING)
    assert await write(lambda c: runs.find(c, "no-such")) is None


async def test_a_claim_takes_the_oldest_and_marks_run_and_thread(
    make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock
) -> None:
    first, second = await make_run("a"), await make_run("b")
    run = await claim.must()
    assert (run.run_id, run.status, run.attempt, run.fence, run.owner) == (first, RunStatus.RUNNING, 1, 1, "me")
    assert run.lease_expires_at == clock() + LEASE
    assert (await write(lambda c: threads.find(c, "a"))).status == "busy"
    assert (await claim.must()).run_id == second
    assert await claim() is None


async def test_of_a_thread_only_the_first_starts(make_run: MakeRun, claim: Claimer, write: Write) -> None:
    first, second, third = [await make_run() for _ in range(3)]
    running = await claim.must()
    assert running.run_id == first
    assert await claim() is None
    assert [run.run_id for run in await write(lambda c: runs.open_on(c, "t"))] == [first, second, third]
    assert await write(lambda c: runs.count_ahead(c, third)) == 2
    assert await write(lambda c: runs.count_ahead(c, first)) == 0
    await write(lambda c: runs.end_pending(c, second, now=running.updated_at))
    assert await write(lambda c: runs.count_ahead(c, third)) == 1
    await write(lambda c: runs.finish(c, running, RunStatus.SUCCESS, now=running.updated_at))
    assert (await claim.must()).run_id == third


async def test_the_database_itself_refuses_two_active_runs_of_a_thread(make_run: MakeRun, write: Write) -> None:
    await make_run()
    await make_run()
    with pytest.raises(exc.IntegrityError):
        await write(lambda c: c.execute(runs_table.update().values(status=RunStatus.RUNNING)))


async def test_a_run_is_taken_over_when_its_lease_is_over_or_its_owner_is_dead(
    make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock
) -> None:
    await make_run()
    first = await claim.must("one")
    assert await claim("two") is None
    second = await claim.must("two", "one", "another")
    clock.advance(31)
    third = await claim.must("three")
    assert [run.attempt for run in (first, second, third)] == [1, 2, 3]
    assert first.fence < second.fence < third.fence
    assert not await write(lambda c: runs.finish(c, second, RunStatus.SUCCESS, now=clock()))
    assert await write(lambda c: runs.still_held(c, [second])) == set()
    assert await write(lambda c: runs.still_held(c, [second, third])) == {third.run_id}


async def test_a_process_that_takes_its_own_run_anew_ends_only_the_new_attempt(
    make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock
) -> None:
    await make_run()
    first, second = await claim.must("one"), await claim.must("one", "one")
    assert not await write(lambda c: runs.finish(c, first, RunStatus.SUCCESS, now=clock()))
    assert await write(lambda c: runs.finish(c, second, RunStatus.SUCCESS, now=clock()))


async def test_a_renewed_lease_is_kept(make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock) -> None:
    run_id = await make_run()
    await claim.must("one")
    later = clock() + timedelta(seconds=60)
    kept = await write(lambda c: runs.renew(c, "one", [run_id, "no-such"], lease_expires_at=later))
    assert kept == {run_id}
    assert await write(lambda c: runs.renew(c, "two", [run_id], lease_expires_at=later)) == set()
    clock.advance(31)
    assert await claim("two") is None


async def test_a_run_ends_once(make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock) -> None:
    run_id = await make_run()
    run = await claim.must()
    error = {"error": "E", "message": "m"}
    ending = replace(run, error=error, checkpoint_before="before", checkpoint_after="after")
    assert await write(lambda c: runs.finish(c, ending, RunStatus.ERROR, now=clock()))
    ended = await write(lambda c: runs.find(c, run_id))
    assert (ended.status, ended.error, ended.checkpoint_after) == (RunStatus.ERROR, error, "after")
    assert (ended.owner, ended.lease_expires_at, ended.ended_at) == (None, None, clock())
    assert not await write(lambda c: runs.finish(c, run, RunStatus.SUCCESS, now=clock()))
    assert await write(lambda c: runs.renew(c, "me", [run_id], lease_expires_at=clock())) == set()


async def test_stopping_depends_on_whether_it_has_begun(
    make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock
) -> None:
    running_id, waiting_id = await make_run("a"), await make_run("b")
    await claim.must()
    assert not await write(lambda c: runs.end_pending(c, running_id, now=clock()))
    assert await write(lambda c: runs.ask_to_stop(c, running_id, CancelAction.ROLLBACK, now=clock()))
    assert not await write(lambda c: runs.ask_to_stop(c, waiting_id, CancelAction.ROLLBACK, now=clock()))
    assert await write(lambda c: runs.end_pending(c, waiting_id, now=clock()))
    assert await write(lambda c: runs.cancelled(c, [running_id, waiting_id])) == {running_id: CancelAction.ROLLBACK}
    ended = await write(lambda c: runs.find(c, waiting_id))
    assert (ended.status, ended.ended_at) == (RunStatus.INTERRUPTED, clock())


async def test_an_input_once_made_stays_for_the_next_attempt(make_run: MakeRun, claim: Claimer, write: Write) -> None:
    run_id = await make_run(spec=RunSpec(trigger_event=3))
    first = await claim.must("one")
    await write(lambda c: runs.set_input(c, first, {"messages": ["m"]}))
    second = await claim.must("two", "one")
    assert (second.spec.input, second.spec.trigger_event) == ({"messages": ["m"]}, 3)
    await write(lambda c: runs.set_input(c, first, {"messages": []}))
    assert (await write(lambda c: runs.find(c, run_id))).spec.input == {"messages": ["m"]}


async def test_what_could_be_claimed_is_known_without_claiming(
    make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock
) -> None:
    async def any_claimable(*dead: str) -> bool:
        return await write(lambda c: runs.any_claimable(c, now=clock(), from_owners=dead))

    assert not await any_claimable()
    await make_run()
    assert await any_claimable()
    assert await write(lambda c: runs.any_pending(c, "t"))
    await claim.must("one")
    assert not await write(lambda c: runs.any_pending(c, "t"))
    await make_run()
    assert await write(lambda c: runs.any_pending(c, "t"))
    assert not await write(lambda c: runs.any_pending(c, "another"))
    assert not await any_claimable()
    assert await any_claimable("one")
    clock.advance(31)
    assert await any_claimable()


async def test_a_run_let_go_is_free_at_once_but_only_by_its_holder(
    make_run: MakeRun, claim: Claimer, write: Write, clock: StandingClock
) -> None:
    await make_run()
    first = await claim.must("one")
    second = await claim.must("two", "one")
    await write(lambda c: runs.let_go(c, first, now=clock()))
    assert await claim("three") is None
    await write(lambda c: runs.let_go(c, second, now=clock()))
    assert (await claim.must("three")).attempt == 3


async def test_runs_are_listed_newest_first(make_run: MakeRun, claim: Claimer, write: Write) -> None:
    ids = [await make_run() for _ in range(3)]
    await make_run("another")
    await claim.must()

    async def listed(**options: object) -> list[str]:
        return [run.run_id for run in await write(lambda c: runs.of_thread(c, "t", **options))]

    assert await listed(limit=10) == ids[::-1]
    assert await listed(limit=1, offset=1) == [ids[1]]
    assert await listed(limit=10, status=RunStatus.RUNNING) == [ids[0]]
    await write(lambda c: runs.remove(c, ids[2]))
    assert await listed(limit=10) == ids[1::-1]


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_of_many_claimers_each_gets_another_run(
    make_run: MakeRun, claim: Claimer, database_url: str, database: Database
) -> None:
    wanted = {await make_run(f"t{n}") for n in range(4)}
    claimed = await asyncio.gather(*(claim(f"process-{n}") for n in range(6)))
    taken = [run.run_id for run in claimed if run is not None]
    assert len(taken) == len(set(taken))
    while (run := await claim()) is not None:
        taken.append(run.run_id)
    assert sorted(taken) == sorted(wanted)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_stop_and_a_claim_at_the_same_moment_do_not_block_each_other(
    make_run: MakeRun, claim: Claimer, database: Database, clock: StandingClock
) -> None:
    """Symptom: now and then a /stop came a second late, and the log showed a deadlock."""
    run_id = await make_run()
    assert isinstance(database, PostgresDatabase)
    async with database.engine.begin() as stopping:
        await stopping.run_sync(lambda c: threads.find(c, "t", lock=True))
        claiming = asyncio.create_task(claim())
        await asyncio.sleep(0.1)
        assert await stopping.run_sync(lambda c: runs.end_pending(c, run_id, now=clock()))
    assert await claiming is None
