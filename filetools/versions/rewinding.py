"""Going back in time: record by record from what stands now, until the tree is the one of an earlier moment.

Nothing is merged. It serves where every change since that moment is taken back, so that nobody's work has to be left
standing; files and folders that no record knows go along with the folder that they are in.
"""

from __future__ import annotations

from collections.abc import Sequence

from filetools.errors import VersionGoneError
from filetools.models.records import WITHOUT_BYTES, ChangeRecord, Operation
from filetools.versions.draft_tree import WITHOUT_RECORDS, DraftNode, DraftTree, changed, is_as_left, put_text_back
from filetools.versions.past import Past, unknown_creations
from filetools.versions.undo import Clash, Outcome, UndoFinding


class Rewinding:
    """Takes a tree back through time. Lives for one plan; gets the records newest first."""

    def __init__(self, tree: DraftTree, past: Past, records: Sequence[ChangeRecord]) -> None:
        """Begin with what stands now.

        Args:
            tree: The draft.
            past: What the journal knows.
            records: All that will be taken back, newest first.
        """
        self._tree = tree
        self._past = past
        self._numbers = {record.number for record in records}
        self._unknown = unknown_creations(past, records)
        self._aside: dict[int, list[tuple[str, DraftNode]]] = {}
        self._origins: dict[str, ChangeRecord] = {}
        self.findings: list[UndoFinding] = []
        self.is_exact = True
        """Whether each record has met what it had made: nothing has changed that the journal does not know."""

    def take_back(self, record: ChangeRecord) -> None:
        """Go back over one record."""
        outcome: Outcome = "undone"
        if (deletion := self._returned(record)) is not None:
            self._set_aside(record, deletion)
        elif record.operation is Operation.DELETE_DIRECTORY or self._is_in_trash(record):
            self._bring_back(record)
            if record.operation is Operation.DELETE_DIRECTORY and record.before_unknown:
                outcome = "unknown"
        elif record.number in self._unknown or (record.before_unknown and record.operation is not Operation.MOVE):
            outcome = "unknown"
        elif record.operation is Operation.CREATE_DIRECTORY:
            outcome = self._remove_folder(record)
        elif record.operation in WITHOUT_BYTES:
            self._put_text_back(record)
        elif record.operation in (Operation.MOVE, Operation.MOVE_DIRECTORY):
            self._move_back(record)
        else:
            self._put_back(record)
        self.is_exact = self.is_exact and outcome != "unknown"
        self.findings.append(UndoFinding(records=(record,), path=self._home(record), outcome=outcome))

    def finish(self) -> None:
        """Find out what cannot be made because its text is gone; call it after the last record."""
        self._put_folders_above()
        for path, now, then in self._tree.changes():
            if then is None or then.kind != "file" or then.version is None:
                continue
            if then.origin is not None and self._is_there(then):
                self._tree.put(path, changed(then, version=None, mode=then.mode))
                continue
            try:
                self._tree.text(then.version)
            except VersionGoneError as exc:
                record = self._origins[then.version]
                self._tree.put(path, now)
                clash = Clash(code=exc.code, reason=exc.message)
                self.findings = [each for each in self.findings if record not in each.records]
                self.findings.append(UndoFinding(records=(record,), path=path, outcome="conflict", clash=clash))

    def _put_folders_above(self) -> None:
        """Have folders stand around all that comes back: no record tells of an empty one that a move has replaced."""
        for path, _, then in self._tree.changes():
            folder = "" if then is None else path.rpartition("/")[0]
            while folder and self._tree.at(folder) is None:
                self._tree.put(folder, DraftNode(kind="folder"))
                self.is_exact = False
                folder = folder.rpartition("/")[0]

    def _is_there(self, node: DraftNode) -> bool:
        """Whether a file has its bytes where it stands now, and its mode."""
        assert node.origin is not None
        present = self._tree.present
        here = None if node.origin.trash is not None else present.at(node.origin.path)
        return here is not None and here.mode == node.mode and present.version(node.origin) == node.version

    def _home(self, record: ChangeRecord) -> str:
        return record.path if record.old_path is None else record.old_path

    def _put_back(self, record: ChangeRecord) -> None:
        here = self._tree.at(record.path)
        if here is not None and here.kind == "folder":
            self.is_exact = False
            return
        self._compare(record, here)
        if record.before is None:
            self._tree.put(record.path, None)
            return
        self._origins[record.before] = record
        mode = self._past.mode_before(record)
        if here is None:
            self._tree.put(record.path, DraftNode(kind="file", version=record.before, mode=mode))
        else:
            self._tree.put(record.path, changed(here, version=record.before, mode=here.mode if mode is None else mode))

    def _put_text_back(self, record: ChangeRecord) -> None:
        is_met = is_as_left(self._tree, record, self._tree.at(record.path))
        self.is_exact = put_text_back(self._tree, record, record.path) and is_met and self.is_exact

    def _compare(self, record: ChangeRecord, here: DraftNode | None) -> None:
        is_met = (here is None) == (record.after is None)
        if is_met and here is not None:
            is_met = self._tree.version(here) == record.after and here.mode in (record.mode, None)
        self.is_exact = self.is_exact and is_met

    def _move_back(self, record: ChangeRecord) -> None:
        assert record.old_path is not None
        is_folder = record.operation is Operation.MOVE_DIRECTORY
        here = self._tree.at(record.path)
        if here is not None and (here.kind == "folder") == is_folder:
            self.is_exact = self.is_exact and (self._tree.at(record.old_path) is None)
            self._tree.move(record.path, record.old_path)
            return
        self.is_exact = False
        if not is_folder and record.after is not None:
            self._origins[record.after] = record
            self._tree.put(record.old_path, DraftNode(kind="file", version=record.after, mode=record.mode))

    def _remove_folder(self, record: ChangeRecord) -> Outcome:
        here = self._tree.at(record.path)
        if here is None or here.kind != "folder":
            self.is_exact = False
            return "unchanged"
        inside = list(self._tree.below(record.path))
        nodes = [self._tree.at(path) for path in inside]
        has_came_back = self._past.has_restored(record)
        if inside and not (has_came_back and all(node is not None and node.kind in WITHOUT_RECORDS for node in nodes)):
            self.is_exact = False
            return "kept"
        for path in [*inside, record.path]:
            self._tree.put(path, None)
        if has_came_back:
            self._tree.wholes.add(self._tree.present.key(record.path))
        return "undone"

    def _returned(self, record: ChangeRecord) -> ChangeRecord | None:
        """Return the deletion that is taken back as well, if a record is part of the folder's return."""
        if record.operation not in (Operation.CREATE, Operation.CREATE_DIRECTORY):
            return None
        deletion = self._past.brought_back(record)
        return deletion if deletion is not None and deletion.number in self._numbers else None

    def _is_in_trash(self, record: ChangeRecord) -> bool:
        """Whether a file went there whole, since nobody knew its bytes."""
        if record.operation is not Operation.DELETE or not record.before_unknown:
            return False
        return record.number in self._aside or bool(self._tree.present.trashed(record.path, str(record.number)))

    def _set_aside(self, record: ChangeRecord, deletion: ChangeRecord) -> None:
        """Keep a folder that came back whole, for the deletion before, with all in it."""
        if record.path != deletion.path:
            return
        paths = [record.path, *self._tree.below(record.path)]
        found = [(path[len(record.path) :], self._tree.at(path)) for path in paths]
        self._aside[deletion.number] = [(relative, node) for relative, node in found if node is not None]
        for path in paths:
            self._tree.put(path, None)

    def _bring_back(self, record: ChangeRecord) -> None:
        self.is_exact = self.is_exact and self._tree.at(record.path) is None
        aside = self._aside.pop(record.number, None)
        if aside is not None:
            for relative, node in aside:
                self._tree.put(f"{record.path}{relative}", node)
            return
        if trashed := self._tree.trashed(record.path, str(record.number), record.mode):
            for relative, node in trashed:
                self._tree.put(f"{record.path}/{relative}" if relative else record.path, node)
            return
        self._tree.put(record.path, DraftNode(kind="folder", mode=record.mode))
        for path, state in self._past.tree_before(record).items():
            if state is None:
                self._tree.put(path, DraftNode(kind="folder"))
            else:
                self._origins[state.version] = record
                self._tree.put(path, DraftNode(kind="file", version=state.version, mode=state.mode))
