import asyncio

from channels.contract import Reply, ReplyPhase, Text
from channels.web.ids import make_key, new_id
from channels.web.outbound import LiveReplies

KEY = make_key(new_id(), new_id())
OTHER = make_key(new_id(), new_id())


def reply(text: str, phase: ReplyPhase = ReplyPhase.WORKING) -> Reply:
    return Reply((Text("m", text),), phase, "run")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_slow_reader_gets_the_newest_snapshot_of_each_reply_and_no_other() -> None:
    live = LiveReplies()
    with live.follow(KEY) as follower:
        for words in ("a", "a b", "a b c"):
            live.put(KEY, "d1", None, reply(words))
        live.put(KEY, "d2", None, reply("x"))
        assert [(change.delivery_id, change.reply) for change in await follower.changes(1)] == [
            ("d1", reply("a b c")),
            ("d2", reply("x")),
        ]


async def test_a_reader_hears_nothing_of_other_conversations() -> None:
    live = LiveReplies()
    with live.follow(KEY) as follower:
        live.put(OTHER, "d1", None, reply("secret"))
        assert await follower.changes(0.01) == []


async def test_the_same_snapshot_again_wakes_nobody() -> None:
    live = LiveReplies()
    live.put(KEY, "d1", None, reply("a"))
    with live.follow(KEY) as follower:
        await follower.changes(1)
        live.put(KEY, "d1", None, reply("a"))
        assert await follower.changes(0.01) == []


async def test_who_comes_back_gets_only_what_changed_meanwhile() -> None:
    live = LiveReplies()
    live.put(KEY, "d1", None, reply("a"))
    live.put(KEY, "d2", None, reply("b"))
    seen = live.of(KEY)[0].version
    with live.follow(KEY, after=seen) as follower:
        assert [change.delivery_id for change in await follower.changes(1)] == ["d2"]


async def test_a_final_reply_is_kept_a_while_and_an_unfinished_one_longer() -> None:
    clock = Clock()
    live = LiveReplies(keep_final_seconds=300, clock=clock)
    live.put(KEY, "done", None, reply("a", ReplyPhase.FINAL))
    live.put(KEY, "going", None, reply("b"))
    clock.now = 299
    assert len(live.of(KEY)) == 2
    clock.now = 301
    assert [kept.delivery_id for kept in live.of(KEY)] == ["going"]


async def test_no_more_than_the_limit_is_kept_and_the_oldest_goes() -> None:
    live = LiveReplies(limit=3)
    for number in range(5):
        live.put(KEY, f"d{number}", None, reply("x"))
    live.put(KEY, "d2", None, reply("newer"))
    live.put(KEY, "d5", None, reply("x"))
    assert [kept.delivery_id for kept in live.of(KEY)] == ["d4", "d2", "d5"]


async def test_a_reader_who_leaves_is_forgotten() -> None:
    live = LiveReplies()
    with live.follow(KEY), live.follow(KEY):
        assert live.follower_count == 2
    assert live.follower_count == 0


async def test_at_the_end_every_reader_is_let_go_at_once_and_later_ones_too() -> None:
    live = LiveReplies()
    with live.follow(KEY) as follower:
        waiting = asyncio.create_task(follower.changes(60))
        await asyncio.sleep(0)
        live.close()
        assert await asyncio.wait_for(waiting, 1) == []
        assert follower.is_ended
    with live.follow(KEY) as late:
        assert late.is_ended
