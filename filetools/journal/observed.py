"""What one observation of the tree finds, as drafts of records with the numbers that they will have."""

from __future__ import annotations

from typing import NamedTuple

from filetools.journal.changes import Change
from filetools.journal.contents import version_from
from filetools.models.records import Operation

_WITH_FORMER = (Operation.MODIFY, Operation.DELETE)


class NumberedChange(NamedTuple):
    """The draft of a record."""

    number: int
    change: Change


class ObservedChanges:
    """What other programs did, in the order in which it is recorded. Lives for one transaction."""

    def __init__(self, newest: int) -> None:
        """Begin after the number of the newest record."""
        self.changes: list[NumberedChange] = []
        self._newest = newest

    def add(
        self,
        operation: Operation,
        path: str,
        key: str,
        *,
        old: tuple[str, str] | None = None,
        before: bytes | None = None,
        after: bytes | None = None,
        size: int | None = None,
        mode: int | None = None,
        is_link: bool = False,
    ) -> int:
        """Add a change.

        Args:
            operation: What happened.
            path: After the change.
            key: Of the path.
            old: Path and key before a move.
            before: Hash of the bytes before; None if there were none, or nobody had read them.
            after: Hash of the bytes after.
            size: In bytes, after the change.
            mode: Permission bits after the change; before a removal.
            is_link: Whether it is about a link, whatever happened to it: these have no records.

        Returns:
            The number of its record; 0 if it has none.
        """
        if is_link or operation is Operation.LINK:
            return 0
        self._newest += 1
        old_path, old_key = old or (None, None)
        change = Change(
            operation=operation, path=path, key=key, old_path=old_path, old_key=old_key, before=version_from(before),
            before_unknown=before is None and operation in _WITH_FORMER, after=version_from(after), size=size, mode=mode,
            applied=True, external=True,
        )  # fmt: skip
        self.changes.append(NumberedChange(self._newest, change))
        return self._newest
