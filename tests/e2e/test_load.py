"""Many people at once, through the real program: nothing is lost, doubled, cut or out of order."""

from pathlib import Path

import pytest

from benchmarks.load import Load, crowd
from benchmarks.surroundings import surroundings
from tests.e2e.house import running, settings_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
CROWD = Load(chats=64, turns=2, tokens=200, reply_seconds=200)


async def test_sixty_four_people_get_every_reply_whole_once_and_in_order(
    tmp_path: Path, database_url: str | None
) -> None:
    async with surroundings(tmp_path) as around:
        configured = settings_for(around.telegram, around.model, database_url)
        settings = {**configured, "runs": {}}  # leases as people have them
        async with running(tmp_path / "home", settings), crowd(around, CROWD.chats) as people:
            turns = await people.run(CROWD)
    assert len(turns) == CROWD.chats * CROWD.turns
