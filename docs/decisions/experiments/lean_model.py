"""Measures the CPU time of a 200-token turn: ChatOpenAI against ChatOpenAICompatible, through create_agent.

Run it with `python docs/decisions/experiments/lean_model.py`. A server in a process of its own sends 200 tokens per
answer, as fast as they are taken or at a given rate; the client process counts its own CPU time only.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import statistics
import time
from multiprocessing.connection import Connection

from aiohttp import web
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from agent.models import ChatOpenAICompatible

TOKENS = 200
TURNS_AT_ONCE = 8
ROUNDS = 6


def serve(ready: Connection) -> None:
    async def complete(request: web.Request) -> web.StreamResponse:
        rate = float((await request.json())["user"])
        answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await answer.prepare(request)
        began = time.monotonic()
        for number in range(TOKENS):
            if rate:
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            await answer.write(event({"delta": {"content": f"token{number % 10} "}, "finish_reason": None}))
        await answer.write(event({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n")
        return answer

    def event(choice: dict[str, object]) -> bytes:
        chunk = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, **choice}],
        }
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", complete)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ready.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


async def measure(model: ChatOpenAI) -> tuple[float, float]:
    """Give CPU milliseconds and chunks per turn, the median of the rounds."""
    agent = create_agent(model, tools=[], system_prompt="You are a helpful assistant.", checkpointer=InMemorySaver())

    async def turn(name: str) -> int:
        chunks, text = 0, ""
        config = {"configurable": {"thread_id": name}}
        async for chunk, _ in agent.astream({"messages": [("user", "hi")]}, config, stream_mode="messages"):
            chunks += 1
            text += str(chunk.content)
        if text.count("token") != TOKENS:
            raise RuntimeError("tokens were lost")
        return chunks

    await asyncio.gather(*(turn(f"warm-{number}") for number in range(TURNS_AT_ONCE)))
    costs, counts = [], []
    for number in range(ROUNDS):
        before = time.process_time()
        counts += await asyncio.gather(*(turn(f"{number}-{at}") for at in range(TURNS_AT_ONCE)))
        costs.append((time.process_time() - before) * 1000 / TURNS_AT_ONCE)
    return statistics.median(costs), statistics.median(counts)


async def compare(port: int) -> None:
    for rate in (0, 50):
        for kind in (ChatOpenAI, ChatOpenAICompatible):
            url = f"http://127.0.0.1:{port}/v1"
            model = kind(model="m", api_key="k", base_url=url, stream_usage=True, model_kwargs={"user": str(rate)})
            cost, chunks = await measure(model)
            pace = f"{rate} tokens/s" if rate else "full speed"
            print(f"{kind.__name__:22} {pace:12} {cost:7.1f} CPU-ms per turn, {chunks:.0f} chunks")
            if isinstance(model, ChatOpenAICompatible):
                await model.aclose()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    asyncio.run(compare(here.recv()))
    server.terminate()
    server.join()
