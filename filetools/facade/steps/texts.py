"""Steps whose content is a short text: the target of a symbolic link, the mode of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from filetools.content.version import version_of
from filetools.errors import ChangedMeanwhileError, NotRegularFileError
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import require_free
from filetools.facade.steps.look import missing_parents
from filetools.facade.steps.step import Step, sync_names
from filetools.journal.changes import Change
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath


class _PutText(Step):
    """Replaces one text by another."""

    operation: ClassVar[Operation]

    def __init__(self, path: WorkspacePath, now: bytes | None, then: bytes | None) -> None:
        """Replace a text.

        Args:
            path: The link or folder.
            now: The text that the plan expects; None for no link.
            then: The new text; None to remove the link.
        """
        super().__init__(path)
        self.now = now
        self.then = then

    def look(self, parts: Parts) -> None:
        """Check that no folder above has an unfinished move or deletion."""
        self._key = require_free(parts, self.paths[0])

    def decide(self, parts: Parts) -> bool:
        """False if the two texts are equal."""
        return self.now != self.then

    def prepare(self, parts: Parts) -> None:
        """Keep the old text, too."""
        super().prepare(parts)
        if self.now is not None:
            parts.journal.contents.keep(self.now, version_of(self.now))

    def drafts(self) -> Sequence[Change]:
        """Return one record, with both texts."""
        return (self._change(self.now, self.then),)

    def exchange(self, parts: Parts) -> None:
        """Put the new text."""
        self._put(parts, self.now, self.then)

    def sync(self, parts: Parts) -> None:
        """Sync the parent."""
        sync_names(parts, self.paths[0])

    def set_back(self, parts: Parts) -> None:
        """Put the old text."""
        self._put(parts, self.then, self.now)

    def compensations(self, parts: Parts) -> Sequence[Change]:
        """One record, with the texts swapped."""
        return (self._change(self.then, self.now, compensates=self.number),)

    def _put(self, parts: Parts, now: bytes | None, then: bytes | None) -> None:
        raise NotImplementedError

    def _change(self, now: bytes | None, then: bytes | None, *, compensates: int | None = None) -> Change:
        return Change(
            operation=self.operation, path=self.paths[0], key=self._key,
            before=None if now is None else version_of(now), after=None if then is None else version_of(then),
            content=then, mode=self._mode(then),
            applied=compensates is not None, compensates=compensates,
        )  # fmt: skip

    def _mode(self, _text: bytes | None) -> int | None:
        return None


class PutLink(_PutText):
    """Makes, retargets or removes a symbolic link; never looks at its target."""

    operation = Operation.LINK

    def decide(self, parts: Parts) -> bool:
        """Refuse if the link has changed since the undo was planned."""
        self._require(parts, self.now)
        self.missing = () if self.then is None else missing_parents(parts, self.paths[0])
        return super().decide(parts)

    def _put(self, parts: Parts, now: bytes | None, then: bytes | None) -> None:
        self._require(parts, now)
        displaced = None if now is None else parts.store.remove(self.paths[0])
        try:
            if then is not None:
                parts.store.make_link(self.paths[0], then)
        except BaseException:
            if displaced is not None:
                displaced.put_back()
            raise
        if displaced is not None:
            displaced.discard()

    def _require(self, parts: Parts, expected: bytes | None) -> None:
        try:
            found = parts.store.read_link(self.paths[0])
        except FileNotFoundError:
            found = None
        except NotRegularFileError as exc:
            raise ChangedMeanwhileError(self.paths[0], 1) from exc
        if found != expected:
            raise ChangedMeanwhileError(self.paths[0], 1)


class PutMode(_PutText):
    """Sets the mode of a folder, after all changes inside it: the new mode may forbid them."""

    operation = Operation.MODIFY_DIRECTORY

    def __init__(self, path: WorkspacePath, now: int, then: int) -> None:
        super().__init__(path, *(b"%o" % mode for mode in (now, then)))

    def sync(self, parts: Parts) -> None:
        """Sync the folder itself."""
        parts.store.sync(self.paths[0])

    def _put(self, parts: Parts, now: bytes | None, then: bytes | None) -> None:
        mode = self._mode(then)
        assert mode is not None
        parts.store.set_directory_mode(self.paths[0], mode)

    def _mode(self, text: bytes | None) -> int | None:
        return None if text is None else int(text, 8)
