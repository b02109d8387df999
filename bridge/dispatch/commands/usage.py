"""`/usage`: what the last turn and the whole conversation have cost, as far as the provider says."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from bridge.dispatch.commands.command import Call, Command
from bridge.persistence import usage
from bridge.runs.records import ModelUsage, RunUsage

NOT_TOLD = "the provider gave no token counts"


def _run(call: Call) -> str:
    thread_id = call.conversation.thread_id
    turns = usage.of_thread(call.connection, thread_id) if thread_id else ()
    if not turns:
        return "Nothing has been answered here yet."
    whole = RunUsage()
    for turn in turns:
        whole += turn
    lines = ["**Last turn**", *_lines(turns[0])]
    count = "1 turn" if len(turns) == 1 else f"{len(turns)} turns"
    return "\n".join([*lines, "", f"**This conversation** ({count})", *_lines(whole)])


def _lines(took: RunUsage) -> Iterator[str]:
    if not took.by_model:
        yield "- no call of a model"
    elif len(took.by_model) > 1:
        yield f"- in all: {_tokens(_sum(took.by_model))}"
    for model, used in took.by_model.items():
        yield f"- `{model}`: {_tokens(used)}"
    yield f"- run time: {_time(took.ran)}"


def _sum(by_model: Mapping[str, ModelUsage]) -> ModelUsage:
    return sum(by_model.values(), start=ModelUsage())


def _tokens(used: ModelUsage) -> str:
    calls = "1 call" if used.calls == 1 else f"{used.calls} calls"
    if not used.counted:
        return f"{NOT_TOLD} ({calls})"
    tokens = f"{used.input_tokens:,} tokens in, {used.output_tokens:,} out ({calls}"
    untold = used.calls - used.counted
    return f"{tokens}, for {untold} of them {NOT_TOLD})" if untold else f"{tokens})"


def _time(ran: timedelta) -> str:
    minutes, seconds = divmod(ran.total_seconds(), 60)
    if not minutes:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds:.0f} s"


COMMAND = Command("usage", "tokens and time of the last turn and in all", _run)
