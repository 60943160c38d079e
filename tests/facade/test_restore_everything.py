"""Whatever agents did, undid and redid: a restore gives exactly the tree of the checkpoint, and its redo the tree before it.

A failure prints its seed and all actions. `FILETOOLS_DOSE=100` runs 500 histories.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools import Actor, FileToolsError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET
from tests.support.dose import dose
from tests.support.exact_trees import Tree, on_disk

DEEDS = 24
BOSS = Actor(kind="editor", id="boss", session="w")


class Story:
    """One random history on real files."""

    def __init__(self, seed: int, root: Path, files: FileToolsFacade) -> None:
        self.random = random.Random(seed)
        self.root = root
        self.files = files
        self.deeds: list[str] = [f"seed {seed}"]
        self.moments: dict[str, Tree] = {}
        self._calls = 0

    def agent(self) -> FileToolsFacade:
        self._calls += 1
        name = self.random.choice(["ann", "bob"])
        return self.files.for_actor(Actor(kind="agent", id=name, session="s", call=f"c{self._calls}"))

    async def step(self) -> None:
        """Do one thing, if it is possible."""
        shape = on_disk(self.root)
        files = [name for name, (kind, _, _) in shape.items() if kind == "file"]
        folders = [name for name, (kind, _, _) in shape.items() if kind == "folder"]
        new = "/".join(self.random.choice("abc") for _ in range(self.random.randint(1, 3)))
        one, folder = self.random.choice(files or [new]), self.random.choice(folders or [new])
        text = "".join(f"{self.random.randint(0, 99)}\n" for _ in range(6))
        agent, boss = self.agent(), self.files.for_actor(BOSS)
        since = self.random.randint(1, max(1, (await self.files.checkpoint("now", replace=True)).number))
        deeds: list[tuple[int, str, Callable[[], Awaitable[object]]]] = [
            (4, f"write {new}.txt", lambda: agent.write_file(f"{new}.txt", text)),
            (2, f"write {one}", lambda: agent.write_file(one, text)),
            (3, f"append {one}", lambda: agent.append_file(one, text[:3])),
            (2, f"move {one} {new}.txt", lambda: agent.move_file(one, f"{new}.txt", overwrite=True)),
            (3, f"move {folder} {new}", lambda: agent.move_file(folder, new)),
            (1, f"delete {one}", lambda: agent.delete_file(one)),
            (2, f"rmtree {folder}", lambda: agent.delete_directory(folder, recursive=True)),
            (1, f"mkdir {new}", lambda: agent.create_directory(new)),
            (3, "undo", agent.undo),
            (2, "redo", agent.redo),
            (1, "undo of all", lambda: boss.undo(actor="*")),
            (2, f"undo since {since}", lambda: agent.undo(since=since, partial=True)),
            (1, "redo of boss", boss.redo),
        ]
        if self.moments:
            name = self.random.choice(sorted(self.moments))
            deeds.append((1, f"restore {name}", lambda: boss.restore(name)))
        _, said, deed = self.random.choices(deeds, [weight for weight, _, _ in deeds])[0]
        try:
            await deed()
        except FileToolsError as exc:
            said = f"{said}: {exc.code} {exc.message}"
        self.deeds.append(said)

    async def remember(self, name: str) -> None:
        """Make a checkpoint."""
        await self.files.checkpoint(name)
        self.moments[name] = on_disk(self.root)
        self.deeds.append(f"checkpoint {name}")

    async def go_back(self, name: str) -> None:
        """Restore a checkpoint and redo."""
        before = on_disk(self.root)
        boss = self.files.for_actor(BOSS)
        self.deeds.append(f"restore {name}")
        await boss.restore(name)
        assert on_disk(self.root) == self.moments[name], self.deeds
        if before != self.moments[name]:
            self.deeds.append("redo")
            await boss.redo()
        assert on_disk(self.root) == before, self.deeds


@pytest.mark.parametrize("seed", range(dose(5)))
async def test_a_restore_is_exact_and_so_is_its_redo(tmp_path: Path, seed: int) -> None:
    for name in ("a/old.txt", "a/b/older.txt", "c/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name}\nstood\nhere\n")
    (tmp_path / "c" / "empty").mkdir()
    (tmp_path / "c" / "x.txt").chmod(0o750)
    async with filetools.open(tmp_path, settings=QUIET) as files:
        story = Story(seed, tmp_path, files)
        for number in range(DEEDS):
            if number % 8 == 0:
                await story.remember(f"p{number}")
            await story.step()
        for name in story.random.sample(sorted(story.moments), 3):
            try:
                await story.go_back(name)
            except FileToolsError as exc:
                raise AssertionError([*story.deeds, exc.message]) from exc
