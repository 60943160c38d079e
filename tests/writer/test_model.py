"""Random turns, strangers and deaths against a plain model of what must be on the disk; all chance comes from one seed.

A failure prints its seed and its steps; `FILETOOLS_SEED=SEED` with the same dose tries the same again, step by step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from filetools.content.version import version_of
from filetools.errors import FileToolsError, PathExistsError
from filetools.models.records import Actor
from filetools.tree.agenda import Due
from filetools.writer.cleanup import Cleanup
from filetools.writer.operations import (
    Call,
    Decided,
    Link,
    MakeFolder,
    Move,
    Put,
    Remove,
    RemoveFolder,
    Seen,
    TreeOperation,
    Want,
)
from filetools.writer.settle import settle_at_opening
from filetools.writer.turn import Turn
from tests.support.core import at, close_state
from tests.support.core_crashes import (
    Case,
    Tree,
    disk_tree,
    faults_after,
    in_child,
    locked,
    look,
    opened,
)
from tests.support.dose import SEED, dose
from tests.support.faulty import Fault, Plan

SIZES = (0, 10, 10, 10, 5_000, 150_000)
PLACES = ("a", "b", "c", "d", "d/a", "d/b", "e", "e/a")


@dataclass(frozen=True)
class Act:
    """One call, or what a stranger does."""

    what: str
    path: str
    to: str = ""
    content: bytes = b""
    actor: str = "alice"

    def __repr__(self) -> str:
        return f"{self.what} {self.path} {self.to} {len(self.content)} by {self.actor}"

    def on(self, tree: Tree) -> Tree | None:
        """Return the tree after it; None if it is refused."""
        parent = self.path.rpartition("/")[0]
        target = self.to.rpartition("/")[0]
        there = tree.get(self.path, "nothing")
        has_parent = not parent or tree.get(parent, "") is None
        below = {path for path in tree if path.startswith(f"{self.path}/")}
        match self.what:
            case "put" if has_parent and (there == "nothing" or isinstance(there, bytes)):
                return {**tree, self.path: self.content}
            case "link" if has_parent and there is not None:
                return {**tree, self.path: "target"}
            case "make" if has_parent and there == "nothing":
                return {**tree, self.path: None, f"{self.path}/a": self.content}
            case "remove" if there is not None and there != "nothing":
                return {path: each for path, each in tree.items() if path != self.path}
            case "remove folder" if there is None:
                return {path: each for path, each in tree.items() if path not in {self.path, *below}}
            case "move" if there != "nothing" and self.to not in tree and not self.to.startswith(f"{self.path}/"):
                if not target or tree.get(target, "") is None:
                    moved = {self.path, *below}
                    return {
                        self.to + path[len(self.path) :] if path in moved else path: each for path, each in tree.items()
                    }
        return None

    def operations(self) -> Sequence[TreeOperation]:
        path = at(self.path)
        match self.what:
            case "put":
                return [Put(path=path, content=self.content)]
            case "link":
                return [Link(path=path, target=b"target")]
            case "make":
                return [MakeFolder(path=path), Put(path=path.child("a"), content=self.content)]
            case "remove":
                return [Remove(path=path)]
            case "remove folder":
                return [RemoveFolder(path=path)]
            case _:
                return [Move(path=path, to=at(self.to))]

    def call(self, tree: Tree) -> Call:
        """Return the call, which is refused as the model says of the tree that is there."""

        def decide(_seen: Seen) -> Decided:
            if self.on(tree) is None:
                raise PathExistsError(self.path)
            return Decided(operations=self.operations())

        wants = [Want(path=at(path), whole=True) for path in (self.path, self.to) if path]
        return Call(actor=Actor(kind="agent", id=self.actor), wants=wants, decide=decide)

    def by_stranger(self, root: Path) -> None:
        place = root / self.path
        if self.what == "save":
            place.with_name(".new").write_bytes(self.content)
            place.with_name(".new").rename(place)
        else:
            place.unlink()


def step_on(tree: Tree, chance: random.Random) -> tuple[list[Act], Tree]:
    """Return calls that share a turn, on paths that have nothing to do with each other, and what is there after them."""
    acts: list[Act] = []
    free = ["a", "b", "c", "d", "e"]
    for _ in range(chance.choice((1, 1, 2, 3))):
        path, to = chance.choice(PLACES), chance.choice(PLACES)
        what = chance.choice(("put", "put", "put", "link", "make", "remove", "remove folder", "move"))
        tops = {path.split("/")[0], to.split("/")[0] if what == "move" else path.split("/")[0]}
        content = chance.randbytes(chance.choice(SIZES))
        act = Act(what, path, to if what == "move" else "", content, chance.choice(("alice", "bob")))
        if tops <= set(free):
            free = [each for each in free if each not in tops]
            acts.append(act)
            tree = act.on(tree) or tree
    return acts, tree


def stranger_on(tree: Tree, chance: random.Random) -> tuple[Act, Tree] | None:
    files = [path for path, each in tree.items() if isinstance(each, bytes)]
    if not files:
        return None
    path = chance.choice(files)
    if chance.random() < 0.3:
        return Act("delete", path), {each: tree[each] for each in tree if each != path}
    content = chance.randbytes(chance.choice(SIZES))
    return Act("save", path, content=content, actor="stranger"), {**tree, path: content}


def turn(root: Path, acts: Sequence[Act], tree: Tree, plan: Plan, whole: bool, say: Callable[[], object]) -> None:
    """One turn of a process, from its opening to the tidying."""
    plan.is_armed = False
    state = opened(root, plan)
    state.database.gate.enter()
    plan.is_armed = True
    settle_at_opening(state)
    result = Turn(state, [act.call(tree) for act in acts], Due(whole_tree=whole)).run()
    Cleanup(state).add(result.displaced)
    plan.is_armed = False
    state.database.gate.leave()
    close_state(state)
    say()


def play(root: Path, seed: int, steps: int, told: list[str]) -> list[str]:
    """Play a game to its end, or to the first fault, which is returned."""
    chance = random.Random(seed)
    root.mkdir()
    with locked(root) as state:
        settle_at_opening(state)
        look(state)
    tree: Tree = {}
    for number in range(steps):
        if chance.random() < 0.3 and (found := stranger_on(tree, chance)) is not None:
            act, tree = found
            act.by_stranger(root)
            told.append(f"{number}: {act}")
        acts, after = step_on(tree, chance)
        at_call = chance.choice((0, 0, chance.randrange(1, 60)))
        faults = (Fault(at=at_call, moment=chance.choice(("before", "half", "after")), exits=True),) if at_call else ()
        told.append(f"{number}: {acts} dies at {at_call}")

        was_done = in_child(partial(turn, root, acts, tree, Plan(faults), number % 3 == 0))
        found_faults = check(root, tree, after, was_done=was_done)
        if found_faults:
            return found_faults
        tree = disk_tree(root)
    return []


def check(root: Path, before: Tree, after: Tree, *, was_done: bool) -> list[str]:
    changed = {path for path in before if after.get(path, 0) != before[path]}
    case = Case(before={}, calls=[], acts={"": lambda root: None})
    found = faults_after(root, case, acknowledged=False)
    now = disk_tree(root)
    if now != after and (was_done or now != before):
        found.append(f"{sorted(now)} is neither {sorted(before)} nor {sorted(after)}")
    with locked(root) as state:
        for path, content in before.items() if now == after else ():
            if isinstance(content, bytes) and path in changed and content not in now.values():
                try:
                    state.contents.get(version_of(content))
                except FileToolsError:
                    found.append(f"lost: {path}")
    return found


@pytest.mark.parametrize("game", range(dose(3)))
def test_whatever_happens_the_disk_has_what_the_model_says(game: int, tmp_path: Path) -> None:
    seed, told = SEED + game, list[str]()
    faults = play(tmp_path / "root", seed, 20, told)
    assert not faults, "\n".join([f"seed {seed}", *told, *faults])
