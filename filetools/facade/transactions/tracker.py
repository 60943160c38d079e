"""The read tracker inside a transaction: what its actor had seen before, and what it read and wrote in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from filetools.facade.steps.put import PutFile
from filetools.facade.steps.step import Step
from filetools.journal.journal import Journal
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.versions.read_tracker import ReadTracker, Rows, added, owner_of


class TransactionTracker(ReadTracker):
    """The rows of one transaction over those of the workspace. Lives as long as the transaction.

    A text of the transaction's own is known only in it, until its exit; a text of the disk is known in any case.
    """

    def __init__(self, journal: Journal, outer: ReadTracker, is_changed: Callable[[str], bool]) -> None:
        """Begin without rows.

        Args:
            journal: Where texts may be kept.
            outer: The tracker of the workspace.
            is_changed: Whether the transaction has changed the path of a key.
        """
        super().__init__(journal)
        self._outer = outer
        self._is_changed = is_changed
        self._own: dict[str, Rows] = {}
        self._own_texts: dict[str, bytes] = {}

    def is_loaded(self, actor: Actor) -> bool:
        """Whether what the actor saw in earlier openings is in memory."""
        return self._outer.is_loaded(actor)

    def load(self, actor: Actor) -> None:
        """Load what the actor saw in earlier openings."""
        self._outer.load(actor)

    def text(self, version: str) -> bytes:
        """Return the bytes of a version that a row names.

        Raises:
            VersionGoneError: They are not kept.
        """
        content = self._own_texts.get(version)
        return self._outer.text(version) if content is None else content

    def own(self) -> dict[str, Rows]:
        """Return the rows that are known here only, for `use`."""
        return dict(self._own)

    def use(self, own: dict[str, Rows]) -> None:
        """Go back to what was known."""
        self._own = own

    def publish(self, actor: Actor, steps: Sequence[Step], key_of: Callable[[WorkspacePath], str]) -> None:
        """Have the workspace know what the actor knows of the files that its transaction has changed for good."""
        for key, rows in self._own.items():
            if not rows or self._is_changed(key):
                self._outer._replace(owner_of(actor), key, rows)
        for step in steps:
            if not isinstance(step, PutFile):
                continue
            for key in (key_of(path) for path in (step.path, *step.other_names)):
                self._publish_put(actor, key, step)

    def _publish_put(self, actor: Actor, key: str, step: PutFile) -> None:
        rows = self._own.get(key)
        if not rows:
            return
        if step.decision is not None and step.decision.sent is not None:
            sent = step.decision.sent
            self._outer._hold(owner_of(actor), sent.version, sent.content)
        if step.version not in rows:
            self._outer.record_reported(actor, key, step.version)

    def _add(
        self,
        actor: Actor,
        key: str,
        rows: tuple[SeenVersion, ...],
        version: str | None,
        content: bytes | memoryview | None,
    ) -> None:
        former = self._rows(owner_of(actor), key)
        if not self._is_changed(key):
            self._outer._add(actor, key, rows, version, content)
        elif version is not None and content is not None:
            self._own_texts[version] = bytes(content)
        self._own[key] = added(former, rows)

    def _replace(self, owner: str, key: str, rows: Rows) -> None:
        self._own[key] = rows

    def _rows(self, owner: str, key: str) -> Rows:
        return self._own[key] if key in self._own else self._outer._rows(owner, key)

    def _below(self, actor: Actor, key: str) -> list[str]:
        own = [known for known, rows in self._own.items() if rows and known.startswith(f"{key}/")]
        return [*own, *(known for known in self._outer._below(actor, key) if known not in self._own)]
