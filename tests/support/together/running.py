"""Runs a scene: all parties at once, then all at rest, then everything is looked at."""

from __future__ import annotations

import asyncio
import time
from asyncio import TaskGroup
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final, Protocol

from filetools.content.version import version_of
from tests.support.schedules.ledger import NONE, Tokens
from tests.support.schedules.tokens import tokens_in
from tests.support.together.agents import DialectAgent, HttpAgent, NativeAgent
from tests.support.together.doors import PATIENCE_SECONDS, Doors
from tests.support.together.editors import LiveEditor, ToolEditor
from tests.support.together.followers import PageFollower, StreamFollower
from tests.support.together.scene import START, Scene, pause
from tests.support.together.stranger import Stranger

ACTS: Final = 10
"""What each party does in a scene."""
LOOK_SECONDS: Final = 0.002
"""Between two looks of who reads the files all the time."""
NO_VERSION: Final = '"sha256:' + "0" * 64 + '"'


class Party(Protocol):
    """Somebody who works on the files."""

    async def act(self) -> None:
        """Do something."""


async def run(doors: Doors, seed: int) -> list[str]:
    """Run one scene; returns the first faults, with the story."""
    scene = Scene(doors, seed, has_stranger=seed % 3 == 2)
    for path in scene.paths:
        await doors.asked("PUT", f"/v1/files/{path}", content=START.encode())
    _, start = await recorded(doors)
    try:
        return await played(scene, start)
    except Exception as exc:
        exc.add_note(f"seed {seed}:\n{scene.ledger.story()}")
        raise


async def played(scene: Scene, start: str) -> list[str]:
    """Let everybody act, come to rest, and look at everything; `start` is where the feed ended before."""
    live, tools = LiveEditor(scene, start), ToolEditor(scene)
    followers = (StreamFollower(scene, start), PageFollower(scene, start))
    async with asyncio.timeout(3 * PATIENCE_SECONDS), aclosing(live), following(followers), TaskGroup() as group:
        looking = group.create_task(looked(scene))
        await live.begin()
        await tools.begin()
        await everybody(scene, live, tools)
        await notice(scene)
        await live.finish()
        await tools.finish()
        await live.close()
        await tools.close()
        numbers, _ = await recorded(scene.doors, start)
        with suppress(TimeoutError):  # who has not heard all by then is told of as a fault
            async with asyncio.timeout(PATIENCE_SECONDS / 2):
                await asyncio.gather(*(one.hear(numbers[-1]) for one in (*followers, live)))
        scene.is_over = True
        seen = await looking
    heard = {type(one).__name__: one.numbers for one in (*followers, live)}
    faults = [
        *scene.faults,
        *await faults_of_tokens(scene),
        *await faults_of_texts(scene, seen),
        *faults_of_followers(numbers, heard),
    ]
    return [f"seed {scene.seed}:\n{scene.ledger.story()}", *faults] if faults else []


@asynccontextmanager
async def following(followers: tuple[StreamFollower | PageFollower, ...]) -> AsyncIterator[None]:
    """Let followers follow until the block ends."""
    tasks = [asyncio.create_task(one.follow()) for one in followers]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in ended), ended


async def everybody(scene: Scene, *editors: Party) -> None:
    """Let all parties act at once."""
    parties: list[Party] = [NativeAgent(scene, "A"), DialectAgent(scene, "B"), HttpAgent(scene, "C"), *editors]
    if scene.has_stranger:
        parties.append(Stranger(scene))

    async def live(number: int, party: Party) -> None:
        chance = scene.chance(f"pauses {number}")
        for _ in range(ACTS):
            await party.act()
            await pause(chance)

    async with TaskGroup() as group:
        for number, party in enumerate(parties):
            group.create_task(live(number, party))


async def notice(scene: Scene) -> None:
    """Have foreign changes recorded, as the next call on a path does, by calls that are refused."""
    for path in scene.paths:
        answer, _ = await scene.doors.asked("DELETE", f"/v1/files/{path}", headers={"If-Match": NO_VERSION})
        assert answer.refusal == "VERSION_MISMATCH", answer


async def looked(scene: Scene) -> dict[str, dict[str, str]]:
    """Read the files all the time; returns what was seen of each, by its version."""
    seen: dict[str, dict[str, str]] = {path: {} for path in scene.paths}
    while not scene.is_over:
        for path, texts in seen.items():
            content = scene.place(path).read_bytes()
            texts[version_of(content)] = content.decode()
        await asyncio.sleep(LOOK_SECONDS)
    return seen


async def recorded(doors: Doors, since: str | None = None) -> tuple[list[int], str]:
    """Return the numbers of all changes after a position, and the position after them."""
    numbers: list[int] = []
    while True:
        page, _ = await doors.asked("GET", "/v1/changes", params={} if since is None else {"since": since})
        assert page.refusal is None, page
        since = str(page.data["position"])
        numbers += [change["number"] for change in page.data["changes"]]
        if not page.data["changes"]:
            return numbers, since


async def versions(scene: Scene, path: str) -> list[str]:
    """Return all versions of a path that can be read."""
    answer, _ = await scene.doors.asked("GET", f"/v1/versions/{path}", params={"limit": 1000})
    return [each["version"] for each in answer.data["versions"] if each["kept"]]


async def kept(scene: Scene) -> Tokens:
    """Return the tokens of all versions that can be read."""
    found: set[str] = set()
    for path in scene.paths:
        for version in await versions(scene, path):
            answer = await scene.doors.posted("read_file", path=path, version=version)
            found |= tokens_in(answer.data["content"])
    return frozenset(found)


async def faults_of_texts(scene: Scene, seen: dict[str, dict[str, str]]) -> list[str]:
    """Return which texts nobody should have seen: what is no whole text, and what no version was."""
    faults: list[str] = []
    for path, texts in seen.items():
        faults += [f"torn: {text!r}" for text in texts.values() if not text.endswith("\n")]
        # What a program writes is seen before it is known, and need not become a version if it writes on.
        strange = set() if scene.has_stranger else texts.keys() - set(await versions(scene, path))
        faults += [f"seen in {path}, and no version of it: {texts[one]!r}" for one in strange]
    return faults


async def faults_of_tokens(scene: Scene) -> list[str]:
    """Return which tokens are missing, or there again."""
    standing = scene.standing()
    if not scene.has_stranger:
        faults = [f"taken away, and there again: {token}" for token in scene.ledger.removed & standing.live]
        faults += [f"there twice: {token}" for path in scene.paths for token in twice(scene.place(path).read_text())]
        return faults + scene.ledger.faults_at_end(standing, NONE, may_displace=False)
    # Where a program took away what stood in a file and in an open document, a merge may bring a line back at two places.
    # What a program wrote into a file that was just displaced becomes a version once the program has closed it.
    until = time.monotonic() + PATIENCE_SECONDS
    while lost := scene.ledger.faults_at_end(standing, await kept(scene)):
        if time.monotonic() > until:
            return lost
        await asyncio.sleep(LOOK_SECONDS)
    return []


def twice(text: str) -> list[str]:
    """Return the tokens that stand in a text more than once."""
    return sorted(token for token in tokens_in(text) if text.count(token) > 1)


def faults_of_followers(numbers: list[int], heard: dict[str, list[int]]) -> list[str]:
    """Return who was told something else than what was recorded, once each and in order."""
    return [f"{who} heard {told}, not {numbers}" for who, told in heard.items() if told != numbers]
