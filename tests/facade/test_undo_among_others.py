"""The undo of one session among twenty others leaves exactly their work, or names the files that it conflicts with."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import pytest

import filetools
from filetools import Actor
from filetools.errors import EditConflictError, VersionMismatchError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET
from tests.support.dose import dose

SESSIONS: Final = 21
TAG: Final = "s0 "
"""How the lines of the session begin that is taken back; each session has its own beginning."""
Lines = dict[str, list[str]]


@pytest.mark.parametrize("seed", range(dose(6)))
async def test_the_undo_of_a_session_leaves_the_work_of_others_or_names_conflicts(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    for number in range(6):
        (tmp_path / f"d{number % 2}").mkdir(exist_ok=True)
        (tmp_path / f"d{number % 2}/{number}.txt").write_text("".join(f"base {line}\n" for line in range(900)))
    async with filetools.open(tmp_path, settings=QUIET) as files:
        agents = [
            files.for_actor(Actor(kind="agent", id=f"a{number}", session=f"s{number}")) for number in range(SESSIONS)
        ]
        await agents[0].append_file("d0/0.txt", f"{TAG}first\n")
        for step in range(chance.randrange(60, 140)):
            number = chance.choice((0, *range(SESSIONS)))
            with suppress(VersionMismatchError):  # it has not seen the newest text
                await _work(agents[number], tmp_path, chance, f"s{number} {step}", is_apart=seed % 2 == 1)
        before = _lines(tmp_path)
        try:
            await files.undo(session="s0", actor="*")
        except EditConflictError:
            assert _lines(tmp_path) == before
            result = await files.undo(session="s0", actor="*", partial=True)
            conflicts = {conflict.path for conflict in result.conflicts}
        else:
            conflicts = set()
        after = _lines(tmp_path)
        assert _of_others(after) == _of_others(before)
        assert {path for path, lines in after.items() if any(line.startswith(TAG) for line in lines)} <= conflicts
        if not conflicts:
            await files.redo()
            assert _lines(tmp_path) == before


async def _work(agent: FileToolsFacade, root: Path, chance: Random, tag: str, *, is_apart: bool) -> None:
    """Make one change; `is_apart` leaves the files of other sessions and the ends of files alone, where changes overlap."""
    paths = [path for path in _lines(root) if not (is_apart and "own" in path)]
    path, folder = chance.choice(paths), f"d{chance.randrange(2)}"
    match chance.randrange(9):
        case 0 if not is_apart:
            await agent.append_file(path, f"{tag} end\n")
        case 1:
            read = await agent.read_file(path)
            lines = read.content.splitlines(keepends=True)
            own = [place for place, line in enumerate(lines) if line.startswith(tag.split()[0] + " ")]
            if own:
                del lines[chance.choice(own)]
            lines.insert(chance.randrange(len(lines) + 1), f"{tag} whole\n")
            await agent.write_file(path, "".join(lines), expected_version=read.version)
        case 2:
            await agent.write_file(f"{folder}/own {tag}.txt", f"{tag} new\n")
        case 3:
            await agent.move_file(path, f"{folder}/moved {tag}.txt")
        case _:
            await agent.insert_lines(path, chance.randrange(len(_lines(root)[path]) + 1), f"{tag} line\n")


def _lines(root: Path) -> Lines:
    found = (path for path in sorted(root.glob("d*/*.txt")))
    return {path.relative_to(root).as_posix(): path.read_text().splitlines() for path in found}


def _of_others(tree: Lines) -> list[str]:
    return sorted(line for lines in tree.values() for line in lines if not line.startswith(TAG))
