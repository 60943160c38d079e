"""Any calls in any order: inside a transaction, and on the disk after it, stands what a plain model of a tree says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.facade.transactions.transaction import Transaction
from filetools.paths.workspace_path import WorkspacePath
from tests.support.crashing import QUIET, Tree, grow, snapshot
from tests.support.dose import dose
from tests.support.opened import assert_at_rest

TREE: Tree = {
    "a": b"1\n", "b": b"2\n", "d": None, "d/e": b"3\n", "d/s": None, "d/s/f": b"4\n", "d/s/g": b"5\n", "k": None,
}  # fmt: skip
PATHS = (
    "a", "b", "c", "d", "d/e", "d/s", "d/s/f", "d/s/g", "d/x", "k", "n", "n/x", "n/y/z", "t", "t/e", "t/s", "t/s/f",
)  # fmt: skip
Act = tuple[str, str, str]
ACTS = st.tuples(
    st.sampled_from(("write", "create", "append", "delete", "move", "move over", "copy", "make", "remove", "empty")),
    st.sampled_from(PATHS),
    st.sampled_from(PATHS),
)


class RefusedError(Exception):
    """The model says no."""


@dataclass
class Model:
    """A tree as a dict of files with their bytes, and a set of folders."""

    files: dict[str, bytes] = field(
        default_factory=lambda: {path: text for path, text in TREE.items() if text is not None}
    )
    folders: set[str] = field(default_factory=lambda: {path for path, text in TREE.items() if text is None})

    def is_folder(self, path: str) -> bool:
        return path in self.folders

    def below(self, path: str) -> list[str]:
        return [each for each in (*self.files, *self.folders) if each.startswith(f"{path}/")]

    def act(self, name: str, path: str, other: str, text: bytes) -> None:
        match name:
            case "write" | "create" | "append":
                self._need(not self.is_folder(path) and (name != "create" or path not in self.files))
                self._put(path, self.files.get(path, b"") + text if name == "append" else text)
            case "delete":
                self._need(path in self.files)
                del self.files[path]
            case "copy":
                self._need(
                    path in self.files and path != other and other not in self.files and not self.is_folder(other)
                )
                self._put(other, self.files[path])
            case "make":
                self._need(path not in self.files)
                self._make(path)
            case "remove" | "empty":
                self._need(self.is_folder(path) and (name == "remove" or not self.below(path)))
                self._drop(path)
            case _:
                self._move(path, other, replace=name == "move over")

    def _move(self, path: str, other: str, *, replace: bool) -> None:
        if path == other:
            self._need(path in self.files or self.is_folder(path))
            return
        self._need(not other.startswith(f"{path}/") and not path.startswith(f"{other}/"))
        self._need(not self.is_folder(other))
        if path in self.files:
            self._need(replace or other not in self.files)
            self._put(other, self.files[path])
            del self.files[path]
            return
        self._need(self.is_folder(path) and other not in self.files)
        self._room(other)
        texts = {each: self.files[each] for each in self.below(path) if each in self.files}
        folders = [each for each in self.below(path) if self.is_folder(each)]
        self._drop(path)
        self._make(other)
        self.folders |= {other + each[len(path) :] for each in folders}
        self.files |= {other + each[len(path) :]: text for each, text in texts.items()}

    def _put(self, path: str, text: bytes) -> None:
        self._room(path)
        self.files[path] = text
        self.folders |= {*WorkspacePath(path).folders}

    def _make(self, path: str) -> None:
        self._room(path)
        self.folders |= {path, *WorkspacePath(path).folders}

    def _drop(self, path: str) -> None:
        for each in [path, *self.below(path)]:
            self.files.pop(each, None)
            self.folders.discard(each)

    def _room(self, path: str) -> None:
        self._need(self.files.keys().isdisjoint(WorkspacePath(path).folders))

    @staticmethod
    def _need(condition: bool) -> None:
        if not condition:
            raise RefusedError

    def tree(self) -> Tree:
        return {**dict.fromkeys(sorted(self.folders)), **self.files}


async def call(tx: Transaction, name: str, path: str, other: str, text: bytes) -> None:
    match name:
        case "write" | "create" | "append":
            await getattr(tx, f"{name}_file")(path, text)
        case "delete":
            await tx.delete_file(path)
        case "copy":
            await tx.copy_file(path, other)
        case "make":
            await tx.create_directory(path)
        case "remove" | "empty":
            await tx.delete_directory(path, recursive=name == "remove")
        case _:
            await tx.move_file(path, other, overwrite=name == "move over")


async def inside(tx: Transaction) -> Tree:
    """Return the tree as a transaction shows it, by listing and reading."""
    entries = (await tx.list_files(recursive=True)).entries
    return {
        each.path: None if each.type == "directory" else (await tx.read_file(each.path)).content.encode()
        for each in entries
    }


async def play(files: FileToolsFacade, acts: list[Act]) -> Tree:
    model = Model()
    async with files.transaction() as tx:
        for number, (name, path, other) in enumerate(acts):
            text = f"text {number}\n".encode()
            try:
                await call(tx, name, path, other, text)
            except filetools.FileToolsError as exc:
                if "of another kind" in exc.message:
                    continue
                before = model.tree()
                try:
                    model.act(name, path, other, text)
                except RefusedError:
                    assert model.tree() == before
                    continue
                raise AssertionError((name, path, other, exc)) from exc
            model.act(name, path, other, text)
            assert await inside(tx) == model.tree(), (name, path, other)
            for each in PATHS:
                assert await tx.exists(each) == (each in model.tree()), each
    return model.tree()


@settings(max_examples=dose(15), deadline=None)
@given(st.lists(ACTS, max_size=8))
@example([("move", "d", "t"), ("write", "t/e", ""), ("move", "t/s", "n"), ("make", "d", "")])
@example([("remove", "d", ""), ("write", "d/x", ""), ("move", "a", "d/e")])
@example([("move", "a", "c"), ("move", "b", "a"), ("move", "c", "b")])
@example([("write", "t/s/f", ""), ("move", "t", "n"), ("move", "n", "t"), ("delete", "t/s/f", "")])
def test_a_transaction_is_what_a_model_says_inside_and_after(acts: list[Act]) -> None:
    async def main(root: Path) -> None:
        grow(root, TREE)
        async with filetools.open(root, settings=QUIET) as files:
            wanted = await play(files, acts)
            assert snapshot(root) == wanted
            await assert_at_rest(files, root)

    with TemporaryDirectory() as place:
        asyncio.run(main(Path(place)))
