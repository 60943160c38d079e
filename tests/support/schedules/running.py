"""Runs schedules: one deed after the other, each looked at; or all parties at once, looked at in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import filetools
from filetools.editors.editor_state import EditorState
from filetools.facade.background.leftovers import sweep
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import CrashingOpening
from tests.support.schedules.agents import Agent
from tests.support.schedules.people import Person
from tests.support.schedules.strangers import Stranger
from tests.support.schedules.town import MIRRORED, SETTINGS, Town

Party = Agent | Person | Stranger
START = "one\ntwo\nthree\nfour\nfive\nsix\n"


@asynccontextmanager
async def opened_town(folder: Path, seed: int, *, has_mirror: bool) -> AsyncIterator[Town]:
    """Open a workspace with some of its files standing there."""
    root, mirror = folder / f"root-{seed}", folder / f"mirror-{seed}" if has_mirror else None
    root.mkdir()
    chance = Random(seed)
    paths = ("a.txt", "b.txt", "sub/c.txt")[: chance.randint(2, 3)]
    settings = MIRRORED if has_mirror else SETTINGS
    meddling = None if has_mirror else CrashingOpening(root, settings=settings)
    async with meddling or filetools.open(root, mirror=mirror, settings=settings) as files:
        for path in paths:
            await place(files, root, path, is_known=has_mirror or chance.random() < 0.7)
            if chance.random() < (0.05 if path == paths[0] else 0.3):
                await files.delete_file(path)
        plan = None if meddling is None else meddling.plan
        yield Town(files=files, root=root, mirror=mirror, chance=chance, paths=paths, plan=plan)


async def place(files: FileToolsFacade, root: Path, path: str, *, is_known: bool) -> None:
    """Make a file, known to filetools or not: then it meets the file for the first time during the schedule."""
    if is_known:
        await files.write_file(path, START)
    else:
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(START)


def parties_of(town: Town, *, has_stranger: bool, is_gentle: bool = False) -> list[Party]:
    """Return two agents, one person or two, and perhaps a program that knows nothing of filetools."""
    found: list[Party] = []
    for letter in "AB":
        actor = filetools.Actor(kind="agent", id=letter, session="s")
        found.append(Agent(town, letter, town.files.for_actor(actor), is_gentle=is_gentle))
    for letter in "PQ" if town.chance.random() < 0.4 else "P":
        actor = filetools.Actor(kind="editor", id=letter, session="s")
        state = EditorState(actor, lambda _: None)
        state.attach(town.files._parts.bus)
        found.append(Person(town, letter, town.files.for_actor(actor), state, is_gentle=is_gentle))
    return [*found, Stranger(town)] if has_stranger else found


async def run_in_order(folder: Path, seed: int, *, count: int = 12) -> list[str]:
    """Run one deed after the other and look at what each did; returns the first faults, with the story."""
    async with opened_town(folder, seed, has_mirror=seed % 3 == 0) as town:
        parties = parties_of(town, has_stranger=seed % 4 != 0)
        for number in range(count):
            party = parties[number] if number < 3 else town.chance.choice([*parties, parties[2]])
            before = town.standing()
            deed = await (party.begin() if number < 3 else party.act())
            await town.settle()
            town.ledger.note(deed)
            faults = town.ledger.faults_of(deed, before, town.standing(), await town.kept())
            faults += faults_of_editors(parties)
            if faults:
                return told(seed, town, faults)
        return await end(seed, town, parties)


async def run_at_once(folder: Path, seed: int, *, count: int = 6) -> list[str]:
    """Run all parties at once, each with yields in between; returns the faults in the end, with the story."""
    async with opened_town(folder, seed, has_mirror=seed % 3 == 0) as town:
        town.plan = None  # two foreign programs that save in one instant lose each other's texts by themselves
        has_stranger = seed % 2 == 0
        parties = parties_of(town, has_stranger=has_stranger, is_gentle=not has_stranger)

        async def live(party: Party) -> None:
            for number in range(count):
                town.ledger.note(await (party.act() if number else party.begin()))
                for _ in range(town.chance.randint(0, 5)):
                    await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            for party in parties:
                group.create_task(live(party))
        town.ledger.overlook_foreign()
        return await end(seed, town, parties, may_displace=has_stranger, was_watched=False)


async def end(
    seed: int, town: Town, parties: list[Party], *, may_displace: bool = True, was_watched: bool = True
) -> list[str]:
    """Let everything come to rest and look for the last time."""
    await town.notice()
    await sweep(town.files._runner)  # what a program still wrote when it was displaced
    await town.settle()
    faults = town.ledger.faults_at_end(town.standing(), await town.kept(), may_displace=may_displace)
    faults += faults_of_editors(parties)
    # A document may move away between its being opened and its being shown; in a crowd nobody can say which it was.
    if was_watched or not any(deed.what.startswith("move") for deed in town.ledger.deeds):
        faults += faults_of_states(town, parties)
    before = town.standing()
    await town.end_leases()
    missing = before.live - town.standing().live - await town.kept()
    faults += [f"lost when the editors had gone: {token}" for token in sorted(missing)]
    faults += await town.unrest()
    return told(seed, town, faults) if faults else []


def faults_of_editors(parties: list[Party]) -> list[str]:
    """Return where an editor's own text is not the document's."""
    return [fault for party in parties if isinstance(party, Person) for fault in party.faults]


def faults_of_states(town: Town, parties: list[Party]) -> list[str]:
    """Return where an editor that only follows the bus shows something else than the document."""
    texts, faults = town.document_texts(), []
    for party in parties:
        for path, shown in party.state.documents.items() if isinstance(party, Person) else ():
            if path in texts and not shown.is_stale and (shown.version, shown.text) != texts[path]:
                faults.append(f"{party.letter} shows {shown.version, shown.text!r} of {path}, not {texts[path]!r}")
    return faults


def told(seed: int, town: Town, faults: list[str]) -> list[str]:
    """Return faults with the story that led to them."""
    return [f"seed {seed}:\n{town.ledger.story()}", *faults]
