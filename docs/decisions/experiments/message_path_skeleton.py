"""The least message path that keeps our promises: own offset, stored before confirmed, agent, edits, receipt.

Environment: TELEGRAM_BASE, MODEL_BASE, HOME_DIR; MODEL_CLASS=openai|lean, TELEGRAM_HTTP=httpx|aiohttp,
SAVER=memory|sqlite, LOOP=asyncio|uvloop.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import aiosqlite
import sqlalchemy as sa
import telegram
from aiohttp_request import AiohttpRequest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from telegram.request import BaseRequest, HTTPXRequest

HOME = Path(os.environ["HOME_DIR"])
EDIT_INTERVAL_SECONDS = 1.0

tables = sa.MetaData()
inbound_events = sa.Table(
    "inbound_events", tables,
    sa.Column("update_id", sa.BigInteger, primary_key=True),
    sa.Column("chat_id", sa.BigInteger), sa.Column("payload", sa.JSON), sa.Column("state", sa.String, default="new"),
)  # fmt: skip
deliveries = sa.Table(
    "deliveries", tables,
    sa.Column("update_id", sa.BigInteger, primary_key=True),
    sa.Column("message_id", sa.BigInteger), sa.Column("state", sa.String),
)  # fmt: skip


async def open_database() -> AsyncEngine:
    engine = create_async_engine(f"sqlite+aiosqlite:///{HOME / 'bridge.db'}", connect_args={"isolation_level": None})
    async with engine.connect() as connection:
        await connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        await connection.exec_driver_sql("PRAGMA synchronous=NORMAL")
        await connection.run_sync(tables.create_all)
    return engine


def make_model() -> Any:
    options = {"model": "fake", "base_url": os.environ["MODEL_BASE"], "stream_usage": True, "streaming": True}
    if os.environ["MODEL_CLASS"] == "lean":
        from agent.models.openai_compatible import ChatOpenAICompatible

        return ChatOpenAICompatible(api_key=SecretStr("sk-test"), max_retries=0, **options)
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(api_key=SecretStr("sk-test"), max_retries=0, **options)


async def make_saver() -> Any:
    if os.environ["SAVER"] == "memory":
        return InMemorySaver()
    connection = await aiosqlite.connect(HOME / "checkpoints.db")
    await connection.execute("PRAGMA journal_mode=WAL")
    saver = AsyncSqliteSaver(connection)
    await saver.setup()
    return saver


class Skeleton:
    def __init__(self, bot: telegram.Bot, engine: AsyncEngine, agent: Any) -> None:
        self._bot = bot
        self._engine = engine
        self._agent = agent

    async def poll(self) -> None:
        """Store what came, then move the offset."""
        offset = None
        async with asyncio.TaskGroup() as turns:
            while True:
                updates = await self._bot.get_updates(offset=offset, timeout=20)
                await self._store(updates)
                for update in updates:
                    offset = update.update_id + 1
                    turns.create_task(self._turn(update))

    async def _store(self, updates: Any) -> None:
        rows = [
            {"update_id": one.update_id, "chat_id": one.effective_chat.id, "payload": one.to_dict()} for one in updates
        ]
        if rows:
            await self._write(inbound_events.insert(), rows)

    async def _write(self, statement: Any, rows: Any = None) -> None:
        async with self._engine.connect() as connection:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
            await connection.execute(statement, rows)
            await connection.exec_driver_sql("COMMIT")

    async def _turn(self, update: telegram.Update) -> None:
        message = update.message
        assert message is not None
        sent = await message.reply_text("Working on it...", do_quote=True)
        receipt = {"update_id": update.update_id, "message_id": sent.message_id, "state": "attempting"}
        await self._write(deliveries.insert(), receipt)
        pieces: list[str] = []
        edited_at = 0.0
        config = {"configurable": {"thread_id": str(message.chat_id)}}
        turn = {"messages": [{"role": "user", "content": message.text}]}
        async for chunk, _ in self._agent.astream(turn, config, stream_mode="messages"):
            if chunk.type == "AIMessageChunk" and chunk.content:
                pieces.append(chunk.content)
                if time.monotonic() - edited_at >= EDIT_INTERVAL_SECONDS:
                    edited_at = time.monotonic()
                    await sent.edit_text("".join(pieces) + " ▉")
        await sent.edit_text("".join(pieces))
        await self._finish(update.update_id)

    async def _finish(self, update_id: int) -> None:
        async with self._engine.connect() as connection:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
            for table, state in ((deliveries, "sent"), (inbound_events, "done")):
                await connection.execute(table.update().where(table.c.update_id == update_id).values(state=state))
            await connection.exec_driver_sql("COMMIT")


async def main() -> None:
    requests: list[BaseRequest] = (
        [AiohttpRequest(), AiohttpRequest(read_timeout=25)]
        if os.environ["TELEGRAM_HTTP"] == "aiohttp"
        else [HTTPXRequest(connection_pool_size=256, pool_timeout=60), HTTPXRequest(read_timeout=25)]
    )
    origin = os.environ["TELEGRAM_BASE"]
    bot = telegram.Bot(
        "4242:TEST", base_url=f"{origin}/bot", base_file_url=f"{origin}/file/bot",
        request=requests[0], get_updates_request=requests[1],
    )  # fmt: skip
    agent = create_agent(
        make_model(), tools=[], system_prompt="You are a helpful assistant.", checkpointer=await make_saver()
    )
    async with bot:
        await Skeleton(bot, await open_database(), agent).poll()


if __name__ == "__main__":
    if os.environ.get("LOOP") == "uvloop":
        import uvloop

        uvloop.run(main())
    else:
        asyncio.run(main())
