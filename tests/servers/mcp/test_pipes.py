"""Messages over real pipes: whole lines whatever the pieces, whoever is slow, cancelled or gone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from filetools.servers.mcp.transports import MessageReader, MessageWriter
from tests.servers.mcp.test_stdio import HELLO
from tests.support.declared import REPOSITORY
from tests.support.mcp_clients import command

Ends = tuple[int, int]


@pytest.fixture
def ends() -> Iterator[Ends]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    yield read, write
    for descriptor in (read, write):
        with suppress(OSError):
            os.close(descriptor)


def note(text: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="note", params={"text": text}))


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


async def feed(descriptor: int, content: bytes) -> None:
    """Write all of it, in pieces, as the other side takes it; then close."""
    while content:
        try:
            content = content[os.write(descriptor, content[:10_000]) :]
        except BlockingIOError:
            await asyncio.sleep(0)
    os.close(descriptor)


async def drained(descriptor: int) -> bytes:
    """Return all that comes until the other side closes."""
    found = bytearray()
    while True:
        try:
            piece = os.read(descriptor, 10_000)
        except BlockingIOError:
            await asyncio.sleep(0)
            continue
        if not piece:
            return bytes(found)
        found += piece


BROKEN = line(id=7, method="m", params={"a": "x"})
DEEP = b"[" * 100_000 + b"\n"


@pytest.mark.parametrize(
    ("wrong", "code", "known_as"),
    [
        (b"no json\n", -32700, None),
        (b"\xff\xfe\n", -32700, None),
        (DEEP, -32700, None),
        (BROKEN.replace(b"x", b"\xff"), -32700, 7),
        (BROKEN.replace(b"x", b"\\ud800\xff"), -32700, 7),
        (BROKEN[:-9] + b"\n", -32700, None),
        (b"[]\n", -32600, None),
        (b"null\n", -32600, None),
        (line(id=7, method="m", params=[1]), -32600, 7),
        (line(id=True, method="m", params=[1]), -32600, None),
        (line(id=7, result=1), -32600, None),
    ],
)
async def test_what_is_no_message_is_answered_and_the_next_one_is_read(
    ends: Ends, wrong: bytes, code: int, known_as: object
) -> None:
    read, write = ends
    answers, answering = os.pipe()
    os.set_blocking(answers, False)
    os.set_blocking(answering, False)
    feeding = asyncio.create_task(feed(write, b"\n \r\n" + wrong + line(id=1, method="m")))
    found = [each async for each in MessageReader(read, MessageWriter(answering))]
    await feeding
    os.close(answering)
    (told,) = (await drained(answers)).splitlines()
    os.close(answers)
    answer = json.loads(told)
    assert (answer["error"]["code"], answer["id"]) == (code, known_as), answer
    assert [isinstance(each, SessionMessage) for each in found] == [False, True]


def test_a_client_that_sends_no_message_does_not_wait_for_ever(root: Path) -> None:
    wrong = [b"\xff\n", BROKEN.replace(b"x", b"\xff"), line(id=8, method="ping")]
    sent = b"".join([json.dumps(HELLO).encode() + b"\n", *wrong])
    ended = subprocess.run(command(str(root)), input=sent, capture_output=True, timeout=60, check=False)
    answers = [json.loads(each) for each in ended.stdout.splitlines()]
    codes = {each["id"]: each.get("error", {}).get("code") for each in answers}
    assert codes == {1: None, None: -32700, 7: -32700, 8: None}


def test_half_a_pair_of_surrogates_is_an_error_of_the_request(root: Path) -> None:
    arguments = {"path": "a", "content": "\ud83d x"}
    call = line(id="q", method="tools/call", params={"name": "write_file", "arguments": arguments})
    sent = json.dumps(HELLO).encode() + b"\n" + line(method="notifications/initialized") + call
    ended = subprocess.run(command(str(root)), input=sent, capture_output=True, timeout=60, check=False)
    answers = {each["id"]: each for each in map(json.loads, ended.stdout.splitlines())}
    assert answers["q"]["error"]["code"] == -32700
    assert "hex escape" in answers["q"]["error"]["message"]
    assert not (root / "a").exists()


async def test_nothing_comes_after_the_end(ends: Ends) -> None:
    read, write = ends
    await feed(write, b"")
    reader = MessageReader(read, MessageWriter(-1))
    with pytest.raises(anyio.EndOfStream):
        await reader.receive()
    assert [each async for each in reader] == []


async def test_lines_of_any_length_arrive_whole_and_the_last_needs_no_end(ends: Ends) -> None:
    read, write = ends
    long = "ä€" * 1_000_000
    content = line(id=1, method="a") + line(id=2, method="b", params={"text": long}) + line(id=3, method="c")[:-1]
    feeding = asyncio.create_task(feed(write, content))
    found = [each async for each in MessageReader(read, MessageWriter(-1))]
    await feeding
    messages = [each.message for each in found if isinstance(each, SessionMessage)]
    assert [getattr(each, "id", None) for each in messages] == [1, 2, 3]
    assert isinstance(messages[1], JSONRPCRequest)
    assert messages[1].params == {"text": long}


async def test_lines_that_come_together_do_not_keep_the_loop(ends: Ends) -> None:
    read, write = ends
    await feed(write, line(id=1, method="a") * 20)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    assert len([each async for each in MessageReader(read, MessageWriter(-1))]) == 20
    counting.cancel()
    assert turns >= 15


async def test_a_client_that_has_gone_is_told_to_the_sender(ends: Ends) -> None:
    read, write = ends
    os.close(read)
    writer = MessageWriter(write)
    for _ in range(2):
        with pytest.raises(anyio.BrokenResourceError):
            await writer.send(note("x"))
    await writer.aclose()


async def test_messages_are_whole_and_in_order_however_slow_the_client_and_whoever_is_cancelled(ends: Ends) -> None:
    read, write = ends
    writer = MessageWriter(write)
    texts = [letter * 300_000 for letter in "abcä€"]
    sending = [asyncio.create_task(writer.send(note(text))) for text in texts]
    await asyncio.sleep(0)
    assert not any(each.done() for each in sending)
    sending[0].cancel()
    sending[3].cancel()
    await asyncio.sleep(0)
    reading = asyncio.create_task(drained(read))
    await asyncio.gather(*sending, return_exceptions=True)
    await writer.aclose()
    os.close(write)
    lines = (await asyncio.wait_for(reading, 60)).decode().splitlines()
    assert [json.loads(each)["params"]["text"] for each in lines] == texts


PRINTS = """
import asyncio, os, sys
from filetools.servers.mcp.transports import standard_streams

async def main():
    async with standard_streams() as (reader, writer):
        print("printed", flush=True)
        os.system("echo by a child; cat")
        async for message in reader:
            await writer.send(message)
        await writer.aclose()
    print("after", flush=True)

asyncio.run(main())
"""


def test_what_others_print_and_read_misses_the_protocol() -> None:
    sent = line(id=1, method="m").decode()
    ended = subprocess.run(
        [sys.executable, "-c", PRINTS],
        input=sent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=REPOSITORY,
    )
    first, after = ended.stdout.splitlines()
    assert json.loads(first) == json.loads(sent)
    assert after == "after"
    assert ended.stderr == "printed\nby a child\n"


def test_files_in_place_of_pipes_are_served_too(root: Path, tmp_path: Path) -> None:
    asked, told = tmp_path / "asked", tmp_path / "told"
    asked.write_text(json.dumps(HELLO) + "\n")
    with asked.open() as incoming, told.open("w") as outgoing:
        subprocess.run(command(str(root)), stdin=incoming, stdout=outgoing, timeout=60, check=True)
    [answer] = told.read_text().splitlines()
    assert json.loads(answer)["result"]["serverInfo"]["name"] == "filetools"
