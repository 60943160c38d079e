"""Histories of one tree in memory: changes by several actors as records, and what stands there after them."""

from __future__ import annotations

from collections.abc import Iterable

from filetools.content.version import version_of
from filetools.errors import VersionGoneError
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.settings import Settings
from filetools.versions.draft_tree import DraftNode, DraftTree, Origin
from filetools.versions.past import FileState
from filetools.versions.undo import UndoFinding, Undoing

MODE = 0o644


class Workshop:
    """A tree that remembers; implements `Present` and `Past`."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = {path: text.encode() for path, text in files.items()}
        self.records: list[ChangeRecord] = []
        self._kept: dict[str, bytes] = {version_of(content): content for content in self.files.values()}

    def write(self, actor: Actor, path: str, text: str | None) -> None:
        """Give a file a text, or take it away."""
        before, after = self.files.get(path), None if text is None else text.encode()
        if after is None:
            del self.files[path]
        else:
            self.files[path] = after
            self._kept[version_of(after)] = after
        operation = Operation.DELETE if after is None else Operation.CREATE if before is None else Operation.MODIFY
        self._record(actor, operation, path, before=before, after=after)

    def move(self, actor: Actor, source: str, destination: str) -> None:
        """Rename a file."""
        content = self.files[destination] = self.files.pop(source)
        self._record(actor, Operation.MOVE, destination, old_path=source, before=content, after=content)

    def without(self, actor: Actor) -> tuple[dict[str, str], list[UndoFinding]]:
        """Return the texts of the files without the changes of one actor, as far as they can be taken back."""
        tree = DraftTree(self)
        undoing = Undoing(tree, self, is_prose=Settings().is_prose)
        for record in reversed(self.records):
            if record.actor == actor:
                undoing.take_back(record)
            elif record.old_path is not None:
                undoing.pass_by(record)
        undoing.finish()
        after = dict(self.files)
        for path, _, node in tree.changes():
            after.pop(path, None)
            if node is not None:
                after[path] = tree.content(node)
        return {path: content.decode() for path, content in after.items()}, undoing.findings

    def _record(
        self,
        actor: Actor,
        operation: Operation,
        path: str,
        *,
        before: bytes | None,
        after: bytes | None,
        old_path: str | None = None,
    ) -> None:
        self.records.append(
            ChangeRecord(
                number=len(self.records) + 1,
                operation=operation,
                path=path,
                old_path=old_path,
                before=None if before is None else version_of(before),
                after=None if after is None else version_of(after),
                mode=None if after is None else MODE,
                actor=actor,
                time=0.0,
                state=RecordState.APPLIED,
            )
        )

    # What stands there now

    def key(self, path: str) -> str:
        return path

    def at(self, path: str) -> DraftNode | None:
        if path in self.files:
            return DraftNode(kind="file", origin=Origin(path=path), mode=MODE)
        return DraftNode(kind="folder", origin=Origin(path=path)) if list(self.below(path)) else None

    def below(self, path: str) -> Iterable[str]:
        return [each for each in self.files if each.startswith(f"{path}/")]

    def trashed(self, path: str, trash: str) -> list[tuple[str, DraftNode]]:
        return []

    def version(self, origin: Origin) -> str:
        return version_of(self.files[origin.path])

    def content(self, origin: Origin) -> bytes:
        return self.files[origin.path]

    def has(self, version: str) -> bool:
        return version in self._kept

    def kept(self, version: str) -> bytes:
        if version not in self._kept:
            raise VersionGoneError(None, version)
        return self._kept[version]

    # What was before

    def mode_before(self, record: ChangeRecord) -> int | None:
        return MODE

    def trash_names(self, record: ChangeRecord) -> list[str]:
        return []

    def has_restored(self, record: ChangeRecord) -> bool:
        return False

    def brought_back(self, record: ChangeRecord) -> ChangeRecord | None:
        return None

    def tree_before(self, record: ChangeRecord) -> dict[str, FileState | None]:
        return {}
