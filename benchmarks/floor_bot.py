"""Floors: the least a Telegram bot can do for the same visible behaviour, against which the product is measured.

One progress message, streamed edits at most once a second, one final edit. `FLOOR_MODE` chooses what is behind it:

    langgraph  python-telegram-bot and LangChain's `create_agent`, no middlewares, checkpoints in memory
    sqlite     the same with checkpoints in the SQLite file `FLOOR_DB`
    bare       python-telegram-bot and httpx reading server-sent events, history in a list
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from telegram import Update
from telegram.ext import Application, ApplicationBuilder, ContextTypes, MessageHandler, filters

SYSTEM_PROMPT = "You are a helpful assistant."
API_KEY = "sk-test"
TOKEN = "4242:TEST"
EDIT_INTERVAL_SECONDS = 1.0
MOST_CHATS_AT_ONCE = 256

Answer = Callable[[int, str], AsyncIterator[str]]
"""Streams the answer to a text in a chat, piece by piece."""
MakeAnswer = Callable[[AsyncExitStack], Awaitable[Answer]]


async def bare_answer(model_url: str, stack: AsyncExitStack) -> Answer:
    """The model's stream, read by hand."""
    import httpx

    limits = httpx.Limits(max_connections=MOST_CHATS_AT_ONCE)
    client = await stack.enter_async_context(httpx.AsyncClient(timeout=120, limits=limits))
    histories: defaultdict[int, list[dict[str, str]]] = defaultdict(
        lambda: [{"role": "system", "content": SYSTEM_PROMPT}]
    )

    async def answer(chat_id: int, text: str) -> AsyncIterator[str]:
        history = histories[chat_id]
        history.append({"role": "user", "content": text})
        body = {"model": "fake", "messages": history, "stream": True}
        headers = {"Authorization": f"Bearer {API_KEY}"}
        pieces = []
        async with client.stream("POST", f"{model_url}/chat/completions", json=body, headers=headers) as reply:
            async for line in reply.aiter_lines():
                piece = _content(line)
                if piece:
                    pieces.append(piece)
                    yield piece
        history.append({"role": "assistant", "content": "".join(pieces)})

    return answer


def _content(line: str) -> str | None:
    if not line.startswith("data: {"):
        return None
    choices = json.loads(line.removeprefix("data: "))["choices"]
    content: str | None = choices[0]["delta"].get("content") if choices else None
    return content


async def agent_answer(model_url: str, stack: AsyncExitStack, database: str | None) -> Answer:
    """LangChain's agent, as its documentation shows it."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    model = ChatOpenAI(
        model="fake", api_key=SecretStr(API_KEY), base_url=model_url, max_retries=0, stream_usage=True, streaming=True
    )
    agent: Any = create_agent(model, tools=[], system_prompt=SYSTEM_PROMPT, checkpointer=await _saver(stack, database))

    async def answer(chat_id: int, text: str) -> AsyncIterator[str]:
        config = {"configurable": {"thread_id": str(chat_id)}}
        turn = {"messages": [{"role": "user", "content": text}]}
        async for chunk, _ in agent.astream(turn, config, stream_mode="messages"):
            if chunk.type in {"AIMessageChunk", "ai"} and isinstance(chunk.content, str) and chunk.content:
                yield chunk.content

    return answer


async def _saver(stack: AsyncExitStack, database: str | None) -> Any:
    if database is None:
        from langgraph.checkpoint.memory import InMemorySaver

        return InMemorySaver()
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    connection = await stack.enter_async_context(aiosqlite.connect(database))
    await connection.execute("PRAGMA journal_mode=WAL")
    saver = AsyncSqliteSaver(connection)
    await saver.setup()
    return saver


class FloorBot:
    """Answers every text; what answers is made once the bot's event loop runs, and closed with it."""

    def __init__(self, make_answer: MakeAnswer) -> None:
        self._make_answer = make_answer
        self._stack = AsyncExitStack()
        self._answer: Answer

    async def prepare(self, application: Any) -> None:
        self._answer = await self._make_answer(self._stack)

    async def close(self, application: Any) -> None:
        await self._stack.aclose()

    async def on_text(self, update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        message = update.effective_message
        assert message is not None
        assert message.text is not None
        chat_id = message.chat_id
        sent = await context.bot.send_message(chat_id, "Working on it...", reply_to_message_id=message.message_id)
        pieces, edited_at = [], 0.0
        async for piece in self._answer(chat_id, message.text):
            pieces.append(piece)
            if time.monotonic() - edited_at >= EDIT_INTERVAL_SECONDS:
                edited_at = time.monotonic()
                text = "".join(pieces) + " ▉"
                await context.bot.edit_message_text(text, chat_id=chat_id, message_id=sent.message_id)
        await context.bot.edit_message_text("".join(pieces), chat_id=chat_id, message_id=sent.message_id)


def build(bot: FloorBot, telegram_url: str) -> Application[Any, Any, Any, Any, Any, Any]:
    application = (
        ApplicationBuilder()
        .token(TOKEN)
        .base_url(f"{telegram_url}/bot")
        .base_file_url(f"{telegram_url}/file/bot")
        .concurrent_updates(MOST_CHATS_AT_ONCE)
        .post_init(bot.prepare)
        .post_shutdown(bot.close)
        .build()
    )
    application.add_handler(MessageHandler(filters.TEXT, bot.on_text))
    return application


def main() -> None:
    model_url, mode = os.environ["MODEL_BASE"], os.environ.get("FLOOR_MODE", "langgraph")
    makers: dict[str, MakeAnswer] = {
        "bare": lambda stack: bare_answer(model_url, stack),
        "langgraph": lambda stack: agent_answer(model_url, stack, None),
        "sqlite": lambda stack: agent_answer(model_url, stack, os.environ["FLOOR_DB"]),
    }
    build(FloorBot(makers[mode]), os.environ["TELEGRAM_BASE"].rstrip("/")).run_polling()


if __name__ == "__main__":
    main()
