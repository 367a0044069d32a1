"""How busy the `openai` adapter keeps a server that takes so long and so many at once.

    python -m benchmarks.openai_adapter [--latency 0.5] [--concurrency 8] [--questions 160]

The server runs in a process of its own on the loopback, needs the same time for every request and
takes no more than its limit at once; it does not even parse, so that it costs no time of its own.
Busy is its time in service over the time of the whole run, start and end included, times its limit.
Clips of 4 s at 48 kHz are resampled and encoded on the way, and every answer is written and synced
to disk as it arrives. The reference is as many bare threads that post one request made beforehand:
what is possible on this machine at the time.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import multiprocessing
import os
import re
import tempfile
import threading
import time

import numpy as np

from otoscope.models.base import AudioInput, Request
from otoscope.models.openai_server import open_openai
from otoscope.prompts.parts import Clip, Question, Text

TARGET = 0.95
RATE, LENGTH_S = 48_000, 4.0


REPLY = json.dumps(
    {
        "model": "tiny",
        "choices": [{"finish_reason": "stop", "message": {"content": "increase"}}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 1},
    }
).encode()
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n"


def serve(latency_s: float, limit: int, pipe) -> None:
    """A server that only waits, until it is stopped; then it gives the number of requests."""
    asyncio.run(_serve(latency_s, limit, pipe))


async def _serve(latency_s: float, limit: int, pipe) -> None:
    slots, n_served = asyncio.Semaphore(limit), 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_served
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))
                async with slots:
                    await asyncio.sleep(latency_s)
                n_served += 1
                writer.write(HEAD.encode() + REPLY)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=2**20)
    pipe.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    await asyncio.to_thread(pipe.recv)
    pipe.send(n_served)
    server.close()


def questions(n: int):
    """Questions about clips made on the spot."""
    noise = np.random.default_rng(0).uniform(-0.3, 0.3, round(RATE * LENGTH_S))
    for i in range(n):
        clip = AudioInput(f"clip-{i}", np.roll(noise, i).astype(np.float32), RATE, f"{i}")
        text = Text("Does the volume increase or decrease over time?")
        question = Question(
            question_id=f"{clip.id}|main", id=clip.id, prompt_name="main", category="volume",
            attribute="volume", parts=(text, Clip(clip.id)), labels=("increase", "decrease"),
            label="increase", parser="paper",
        )  # fmt: skip
        yield Request(question, (text, clip))


def ask_all(model, n: int) -> None:
    """All questions through the adapter, each answer on disk before the next is taken."""
    with tempfile.TemporaryFile("w") as file:
        for index, answer in model.stream(questions(n)):
            assert answer.status == "ok", answer
            file.write(json.dumps([index, answer.text, answer.status]) + "\n")
            file.flush()
            os.fsync(file.fileno())


def post_all(base_url: str, body: bytes, concurrency: int, n: int) -> None:
    """The same request from bare threads, each on a connection of its own."""
    todo = iter(range(n))
    host = base_url.split("/")[2]

    def post() -> None:
        connection = http.client.HTTPConnection(host)
        for _ in todo:
            connection.request("POST", "/v1/chat/completions", body)
            connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=post) for _ in range(concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def seconds(call, *args) -> float:
    began = time.perf_counter()
    call(*args)
    return time.perf_counter() - began


def main() -> None:
    """Prints the adapter's figure with its target, and the reference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.5, help="seconds a request takes")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--questions", type=int, default=160)
    args = parser.parse_args()
    n = args.questions

    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(args.latency, args.concurrency, there))
    process.start()
    try:
        url = here.recv()
        model = open_openai("tiny", base_url=url, concurrency=args.concurrency)
        (first,) = questions(1)
        model.answer([first])  # imports, once a process
        body = {
            "model": "tiny",
            "messages": model.chat_request(first).messages,
        }
        encoded = json.dumps(body).encode()
        served_s = n * args.latency / args.concurrency
        bare = served_s / seconds(post_all, url, encoded, args.concurrency, n)
        busy = served_s / seconds(ask_all, model, n)
        here.send("stop")
        n_served = here.recv()
        assert n_served == 2 * n + 1, n_served
    finally:
        process.join(timeout=10)
        process.kill()
    print(
        f"openai adapter: server {busy:.1%} busy, bare threads {bare:.1%}; {n} requests of "
        f"{args.latency:g} s, {args.concurrency} at once; target {TARGET:.0%} "
        f"{'reached' if busy >= TARGET else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
