"""Checks by a marker file that a mirror's place still holds the folder that was filled.

The journal stores the identity of each mirror, and the folder carries it in its marker. Where the two differ, as with a new
folder, another disk mounted at the place, or an old copy of the mirror, the folder is compared with the root as a whole,
because no record shows what it lacks. A mirror that was added to the root is only the folder that was marked then:
another folder at its place, as while its disk is not mounted, is left alone.
"""

from __future__ import annotations

from typing import Final

from filetools.errors import DirectoryNotFoundError, PathNotDirectoryError, PathNotFoundError, SyncFailedError
from filetools.journal.changes import MirrorRow
from filetools.paths.workspace_path import ROOT
from filetools.stores.store import Store
from filetools.sync.context import SyncContext
from filetools.sync.mirror_files import MARKER, files_below, mark

_MOST_BYTES: Final = 1024


class MirrorIdentity:
    """The identity of one mirror's folder. Its methods block, and run in the mirror's thread; lives as the mirror."""

    def __init__(self, row: MirrorRow, store: Store, context: SyncContext) -> None:
        """Treat the folder as not filled until `establish` is called.

        Args:
            row: The mirror's row in the journal.
            store: The mirror.
            context: The journal, and the primary.
        """
        self.is_filled = False
        """True if the folder has everything except its backlog."""
        self.is_older = False
        """True if the folder was this mirror before: a path that the primary does not have was deleted since."""
        self._row = row
        self._store = store
        self._context = context

    def establish(self) -> MirrorRow:
        """Check which folder is at the place, and set `is_filled`. Returns the mirror's row.

        Raises:
            SyncFailedError: The mirror was removed from the root; another folder is at the place of an added one; or the
                folder has lost its marker since it was filled.
        """
        row = self._row = self._registered()
        marker = self._marker()
        self.is_older = row.is_or_was(marker)
        if row.root is not None and not self.is_older:
            raise SyncFailedError(None, "another folder is at its place")
        was_filled, self.is_filled = self.is_filled, False
        if was_filled and marker is None:
            raise SyncFailedError(None, "its folder was emptied")
        self.is_filled = row.is_filled and marker == row.identity and not self._is_emptied()
        if row.is_filled and not self.is_filled:
            # Before the first write to this folder: if the former folder returns, it lacks what was written here.
            self.renew()
        return self._row

    def renew(self) -> None:
        """Compare the folder as a whole in the next round: it is another one, or records of changes it lacks were removed."""
        self._context.journal.mirrors.renew(self._row)
        self._row, self.is_filled = self._registered(), False

    def confirm(self) -> None:
        """Mark the folder as filled: all that was in the primary before is in the folder or in its backlog."""
        mark(self._store, self._row.identity)
        self._context.journal.mirrors.filled(self._row)
        self.is_filled = True

    def _marker(self) -> str | None:
        try:
            content, _ = self._store.read(MARKER, limit=_MOST_BYTES)
        except (PathNotFoundError, DirectoryNotFoundError, PathNotDirectoryError):
            return None
        return content.decode("ascii", "replace")

    def _registered(self) -> MirrorRow:
        row = self._context.journal.mirrors.get(self._row.place)
        if row is None:
            raise SyncFailedError(None, "it was removed from the root")
        return row

    def _is_emptied(self) -> bool:
        """True if only the hidden folder is left, as after `rm -r mirror/*`, and the primary has a file.

        Also true if that file is the first one and not recorded yet: to fill such a folder does no harm.
        """
        # Only files: new folders are in the primary before they are recorded.
        wanted = files_below(self._context.primary, ROOT, self._context.left_out)
        if any(True for _ in self._store.scan(ROOT)) or next(wanted, None) is None:
            return False
        # In this order: a file of the primary is in the backlog until the mirror has it, so that a file that is created
        # at this moment is found in one or the other.
        is_owed = self._context.journal.backlog.count(self._row.place) > 0
        return not is_owed and not any(True for _ in self._store.scan(ROOT))
