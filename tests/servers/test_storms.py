"""Agents, editors and a foreign program work on one root through all doors at once, and nothing is lost.

Each door is a process of its own. A failure prints its seed and what each party was told.
"""

from __future__ import annotations

import asyncio
from asyncio import TaskGroup
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

import pytest

import filetools
from filetools.content.version import version_of
from tests.support.dose import dose
from tests.support.opened import assert_at_rest, steps_until
from tests.support.schedules.ledger import NONE, Tokens
from tests.support.schedules.tokens import all_tokens, tokens_in

if find_spec("fastapi") is None or find_spec("mcp") is None:
    pytest.skip("the doors need their extras", allow_module_level=True)

from tests.support.storms.doors import (
    PATIENCE_SECONDS,
    Agent,
    Doors,
    HttpDoor,
    RefusedError,
    follow_pages,
    follow_stream,
    opened_doors,
)  # fmt: skip
from tests.support.storms.live import LiveEditor
from tests.support.storms.scene import START, Scene, Stranger

ACTS: Final = 10
"""What each party does in a storm."""
NO_VERSION: Final = '"sha256:' + "0" * 64 + '"'


class Party(Protocol):
    """Somebody who works on the files."""

    async def act(self) -> None:
        """Do something."""


@pytest.mark.timeout(7200)
async def test_nothing_is_lost_through_all_doors_at_once_and_what_is_taken_away_is_found(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    async with opened_doors(root) as doors:
        for seed in range(1, 1 + dose(2)):
            faults = await run(doors, Scene(root, seed, has_stranger=seed % 2 == 0))
            assert not faults, "\n".join(faults)
        scene = Scene(root, 0, has_stranger=False)
        faults = await run(doors, scene, at_rest=lambda: (root / scene.paths[0]).write_text(START))
        assert any(fault.startswith("lost") for fault in faults)
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False}) as files:
        await assert_at_rest(files, root)


async def run(doors: Doors, scene: Scene, at_rest: Callable[[], object] = lambda: None) -> list[str]:
    """Let everybody act at once, come to rest, and look at everything; returns the faults, with the story."""
    for path in scene.paths:
        await doors.http.write(path, START, "")
    _, start = await recorded(doors.http)
    editors = [LiveEditor(scene, doors.server.address, start, letter) for letter in "PQ"]
    heard: tuple[list[int], list[int]] = ([], [])
    followers = [
        asyncio.create_task(follow(scene, doors, start, numbers))
        for follow, numbers in zip((follow_stream, follow_pages), heard, strict=True)
    ]
    try:
        async with asyncio.timeout(3 * PATIENCE_SECONDS), TaskGroup() as group:
            looking = group.create_task(looked(scene))
            for editor in editors:
                await editor.begin()
            agents = [Agent(scene, "A", doors.native), Agent(scene, "B", doors.dialect), Agent(scene, "C", doors.http)]
            strangers = [Stranger(scene, scene.chance("X"))] if scene.has_stranger else []
            await everybody(scene, [*agents, *editors, *strangers])
            await notice(scene, doors.http)
            for step in (LiveEditor.settle, LiveEditor.finish, LiveEditor.close):
                for editor in editors:
                    await step(editor)
            numbers, _ = await recorded(doors.http, start)
            with suppress(TimeoutError):  # who has not heard all by then is told of as a fault
                await steps_until(lambda: all(numbers[-1] in one for one in heard), PATIENCE_SECONDS / 2)
                for editor in editors:
                    await editor.hear(numbers[-1])
            scene.is_over = True
            seen = await looking
    except Exception as exc:
        exc.add_note(f"seed {scene.seed}:\n{scene.ledger.story()}")
        raise
    finally:
        for task in followers:
            task.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        for editor in editors:
            await editor.aclose()
    at_rest()
    faults = [
        *scene.faults,
        *await faults_of_tokens(scene, doors.http),
        *await faults_of_texts(scene, doors.http, seen),
    ]
    faults += [
        f"heard {told}, not {numbers}" for told in (*heard, *(each.numbers for each in editors)) if told != numbers
    ]
    return [f"seed {scene.seed}:\n{scene.ledger.story()}", *faults] if faults else []


async def everybody(scene: Scene, parties: list[Party]) -> None:
    """Let all parties act at once, and meet in other ways with every seed."""

    async def live(number: int, party: Party) -> None:
        chance = scene.chance(f"pauses {number}")
        for _ in range(ACTS):
            await party.act()
            await asyncio.sleep(chance.random() * 0.004)

    async with TaskGroup() as group:
        for number, party in enumerate(parties):
            group.create_task(live(number, party))


async def notice(scene: Scene, door: HttpDoor) -> None:
    """Have foreign changes recorded, as the next call on a path does, by calls that are refused."""
    for path in scene.paths:
        with pytest.raises(RefusedError, match="VERSION_MISMATCH"):
            await door.ask("DELETE", f"files/{path}", headers={"If-Match": NO_VERSION})


async def looked(scene: Scene) -> dict[str, dict[str, str]]:
    """Read the files all the time; returns what was seen of each, by its version."""
    seen: dict[str, dict[str, str]] = {path: {} for path in scene.paths}
    while not scene.is_over:
        for path, texts in seen.items():
            text = scene.text(path)
            texts[version_of(text.encode())] = text
        await asyncio.sleep(0.002)
    return seen


async def recorded(door: HttpDoor, since: str | None = None) -> tuple[list[int], str]:
    """Return the numbers of all changes after a position, and the position after them."""
    numbers: list[int] = []
    while True:
        page = (await door.ask("GET", "changes", params={} if since is None else {"since": since})).json()
        since = str(page["position"])
        numbers += [change["number"] for change in page["changes"]]
        if not page["changes"]:
            return numbers, since


async def versions(door: HttpDoor, path: str) -> list[str]:
    """Return all versions of a path that can be read."""
    page = (await door.ask("GET", f"versions/{path}", params={"limit": 1000})).json()
    return [each["version"] for each in page["versions"] if each["kept"]]


async def kept(scene: Scene, door: HttpDoor) -> Tokens:
    """Return the tokens of all versions that can be read."""
    found: Tokens = NONE
    for path in scene.paths:
        for version in await versions(door, path):
            found |= tokens_in((await door.call("read_file", path=path, version=version))["content"])
    return found


async def faults_of_texts(scene: Scene, door: HttpDoor, seen: dict[str, dict[str, str]]) -> list[str]:
    """Return which texts nobody should have seen: what is no whole text, and what no version was."""
    faults: list[str] = []
    for path, texts in seen.items():
        faults += [f"torn: {text!r}" for text in texts.values() if not text.endswith("\n")]
        # What a program writes is seen before it is known, and need not become a version if it writes on.
        strange = set() if scene.has_stranger else texts.keys() - set(await versions(door, path))
        faults += [f"seen in {path}, and no version of it: {texts[one]!r}" for one in strange]
    return faults


async def faults_of_tokens(scene: Scene, door: HttpDoor) -> list[str]:
    """Return which tokens are missing, or there again."""
    standing = scene.standing()
    if not scene.has_stranger:
        there = [all_tokens(scene.text(path)) for path in scene.paths]
        faults = [f"taken away, and there again: {token}" for token in scene.ledger.removed & standing.live]
        faults += [f"there twice: {token}" for found in there for token in set(found) if found.count(token) > 1]
        return faults + scene.ledger.faults_at_end(standing, NONE, may_displace=False)
    # Where a program took away what stood in a file and in an open document, a merge may bring a line back at two places.
    # What a program wrote into a file that was just displaced becomes a version once the program has closed it.
    lost: list[str] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while lost := scene.ledger.faults_at_end(standing, await kept(scene, door)):
                await asyncio.sleep(0.01)
    return lost
