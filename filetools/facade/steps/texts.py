"""The steps that put what has no bytes of its own, but a short text: a link with its target, a folder's mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from filetools.content.version import version_of
from filetools.errors import ChangedMeanwhileError, NotRegularFileError
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import FolderStep, require_free
from filetools.facade.steps.step import sync_names
from filetools.journal.changes import Change
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath


class _PutText(FolderStep):
    """Puts one text in the place of another."""

    operation: ClassVar[Operation]

    def __init__(self, path: WorkspacePath, now: bytes | None, then: bytes | None) -> None:
        """Stand for the change.

        Args:
            path: Where.
            now: The text that was planned for; None where nothing stands.
            then: The text wanted; None if nothing shall stand there.
        """
        super().__init__(path)
        self.now = now
        self.then = then

    def look(self, parts: Parts) -> None:
        """See that no folder above is going."""
        self._key = require_free(parts, self.paths[0])

    def decide(self, parts: Parts) -> bool:
        """False if it is so already."""
        return self.now != self.then

    def prepare(self, parts: Parts) -> None:
        """Keep the text that goes."""
        if self.now is not None:
            parts.journal.contents.keep(self.now, version_of(self.now))

    def drafts(self) -> Sequence[Change]:
        """One record, with both texts."""
        return (self._change(self.now, self.then),)

    def exchange(self, parts: Parts) -> None:
        """Put the new one."""
        self._put(parts, self.now, self.then)

    def sync(self, parts: Parts) -> None:
        """Sync its name."""
        sync_names(parts, self.paths[0])

    def set_back(self, parts: Parts) -> None:
        """Put the former one."""
        self._put(parts, self.then, self.now)

    def compensations(self, parts: Parts, number: int) -> Sequence[Change]:
        """The former one is there again."""
        return (self._change(self.then, self.now, compensates=number),)

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
    """Makes a link, points it elsewhere, or removes it; what it points to is never looked at."""

    operation = Operation.LINK

    def decide(self, parts: Parts) -> bool:
        """Refuse if it is not as it was when the undo was worked out."""
        self._require(parts, self.now)
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
    """Gives a folder another mode, after all else is done in it: that may take the right to do so."""

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
