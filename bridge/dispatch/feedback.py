"""A thumb under an answer: kept, changed, or taken back."""

from datetime import datetime

from sqlalchemy import Connection

from bridge.persistence import deliveries, feedback, runs
from channels.contract import FeedbackGiven, PressVerdict

NO_SUCH_ANSWER = "This answer is no longer there."
THANKS = "Thank you, noted."
CHANGED = "Changed, thank you."
TAKEN_BACK = "Taken back."


def take(connection: Connection, given: FeedbackGiven, *, now: datetime) -> PressVerdict:
    """Keep the person's opinion of an answer in this conversation, or take it back."""
    run = runs.find(connection, given.run_id)
    if run is None or not deliveries.is_shown_in(connection, run.run_id, given.conversation):
        return PressVerdict(accepted=False, text=NO_SUCH_ANSWER)
    user_id = f"{given.conversation.channel}:{given.sender.id}"
    before = feedback.rating_of(connection, run.run_id, user_id)
    if given.rating == 0 or (given.toggles and given.rating == before):
        feedback.take_back(connection, run.run_id, user_id)
        return PressVerdict(accepted=True, text=TAKEN_BACK)
    feedback.rate(connection, run, user_id, given.rating, comment=given.comment, now=now)
    return PressVerdict(accepted=True, text=CHANGED if before else THANKS)
