"""The savers keep LangGraph's own contract when they neither prune nor fence."""

from pathlib import Path

from langgraph.checkpoint.conformance import checkpointer_test, validate

from agent.savers import CheckpointConfig, open_checkpoints


async def test_the_official_conformance_suite_passes_with_pruning_off(tmp_path: Path, database_url: str | None) -> None:
    @checkpointer_test(name="threadbridge")
    async def saver():
        everything = CheckpointConfig(keep_turns="all")
        async with open_checkpoints(everything, home=tmp_path, database_url=database_url) as store:
            yield store.saver()

    report = await validate(saver)

    failed = {name: result.failures for name, result in report.results.items() if result.passed is False}
    assert failed == {}
    assert report.passed_all_base()
