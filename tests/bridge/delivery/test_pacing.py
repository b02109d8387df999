"""A chat is updated as often as its channel says that its platform allows, in an imagined hour."""

from bridge.delivery.pacing import UpdatePacer
from channels.contract import ChannelCapabilities, ChatKind, ConversationKey, Pace, TextUnit
from tests.bridge.people import CHAT


class Hour:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def pacer(hour: Hour, **pace: Pace) -> UpdatePacer:
    paces = {ChatKind(kind): each for kind, each in pace.items()}
    capabilities = ChannelCapabilities(1, TextUnit.UTF16, 0, 0, pace=paces)
    return UpdatePacer({"demo": capabilities}, clock=hour, sleep=hour.sleep)


async def test_updates_keep_the_interval_whichever_topic_they_are_for() -> None:
    hour = Hour()
    paced = pacer(hour, group=Pace(3.0))
    for topic in ("", "a", "b"):
        await paced.turn(ConversationKey("demo", "bot", "chat", topic), ChatKind.GROUP)
    assert hour.now == 1006
    await paced.turn(ConversationKey("demo", "bot", "another"), ChatKind.GROUP)
    await paced.turn(ConversationKey("demo", "another-bot", "chat"), ChatKind.GROUP)
    for _ in range(3):
        await paced.turn(ConversationKey("demo", "bot", "private"), ChatKind.PRIVATE)
    assert hour.now == 1006


async def test_no_minute_has_more_updates_than_it_may() -> None:
    """Symptom: `per_minute` was said by the channel and heeded by nobody in the house."""
    hour = Hour()
    paced = pacer(hour, group=Pace(0.5, per_minute=20))
    moments = []
    for _ in range(100):
        await paced.turn(CHAT, ChatKind.GROUP)
        moments.append(hour.now)
    busiest = max(sum(start <= moment < start + 60 for moment in moments) for start in moments)
    assert 10 <= busiest < 20  # some are left for the final answers


async def test_silence_is_kept_to_its_latest_end() -> None:
    hour = Hour()
    paced = pacer(hour)
    paced.silence(CHAT, 5)
    paced.silence(CHAT, 1)
    await paced.turn(ConversationKey("demo", "bot", "another"), ChatKind.PRIVATE)
    assert hour.now == 1000
    await paced.turn(CHAT, ChatKind.PRIVATE)
    assert hour.now == 1005
