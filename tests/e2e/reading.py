"""What a test reads off a chat."""

from tests.simulators.telegram.views import ChatView

MAY_BE_A_REPEAT = "This may be a repeat"


def answers(view: ChatView) -> list[str]:
    """The texts of the bot that stand in the chat."""
    return [message.text for message in view.from_bot]
