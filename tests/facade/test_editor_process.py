"""An editor in another process: agents here see what is typed there, and a kill loses none of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import filetools
from filetools import Actor
from filetools.events.types import BufferAbandoned
from tests.support.dose import dose
from tests.support.opened import lapse_leases, outcome_of, steps_until, told
from tests.support.peers import Peer, peer
from tests.support.schedules.tokens import Mint, tokens_in

SCHEDULES = dose(5)
LINES = "one\ntwo\nthree\nfour\nfive\nsix\n"
SETTINGS = {"watch": False, "durability": "relaxed", "sync_after_seconds": 0.05}


async def ask(other: Peer, do: str, path: str, **what: object) -> None:
    """Send the editor a command, and wait for its acknowledgement."""
    await other.ask(json.dumps({"do": do, "path": path, **what}))
    await other.hear()


async def run(root: Path, agent: filetools.FileToolsFacade, other: Peer, seed: int) -> set[str]:
    """Let the person and an agent work on one file; returns the tokens of both, the last one unsaved."""
    path, chance, mint = f"{seed}.txt", Random(seed), Mint()
    tokens: set[str] = set()
    for number in range(8):
        what = "type" if number == 7 else chance.choice(("type", "save", "append", "insert"))
        line = mint.line("P" if what == "type" else "A") + "\n"
        if what == "type":
            await ask(other, "type", path, line=chance.randint(0, 6), text=line)
            async with asyncio.timeout(60):
                while not tokens_in(line) <= tokens_in((await agent.read_file(path)).content):
                    await asyncio.sleep(0.001)
            assert line not in (root / path).read_text(), "saved behind the person's back"
            tokens |= tokens_in(line)
        elif what == "save":
            await ask(other, "save", path)
        else:
            call: Any = agent.append_file(path, line) if what == "append" else agent.insert_lines(path, 3, line)
            tokens |= tokens_in(line) if await outcome_of(call) == "done" else set()
        text = (await agent.read_file(path)).content
        assert tokens <= tokens_in(text), f"seed {seed}: {tokens - tokens_in(text)} lost of {text!r}"
    return tokens


async def test_text_typed_in_another_process_is_visible_and_survives_a_kill(tmp_path: Path) -> None:
    typed: dict[str, set[str]] = {}
    async with filetools.open(tmp_path, settings=SETTINGS) as files:
        abandoned = told(files, "buffer:abandoned")
        agent = files.for_actor(Actor(kind="agent", id="alice", session="s"))
        async with peer(tmp_path, "ann", task="types") as other:
            for seed in range(SCHEDULES):
                await files.write_file(f"{seed}.txt", LINES)
                typed[f"{seed}.txt"] = await run(tmp_path, agent, other, seed)
            other.process.kill()
            await other.end()
            for path, tokens in typed.items():
                assert tokens <= tokens_in((await agent.read_file(path)).content), "lost with the process"
        lapse_leases(files)
        await steps_until(lambda: len(abandoned) >= SCHEDULES)
        kept = {event.path: event.kept_version for event in abandoned if isinstance(event, BufferAbandoned)}
        assert kept.keys() == typed.keys()
        for path, version in kept.items():
            assert typed[path] <= tokens_in((await files.read_file(path, version=version)).content)
