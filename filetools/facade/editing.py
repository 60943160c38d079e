"""Edits and patches: applied under the lock to the bytes that stand there, and only the touched spans change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from filetools.content import (
    BytesOutcome,
    Edit,
    EditOutcome,
    FilePatch,
    TextFormat,
    apply_edits_to_bytes,
    apply_file_patch,
    decode,
    describe,
    insert_lines_in_bytes,
    inspect,
    parse_patch,
    structured_patch,
    unified_diff,
    version_of,
)
from filetools.errors import InvalidArgumentError, PathExistsError, PathNotFoundError
from filetools.facade.look import Look, content_of, facts_of
from filetools.facade.parts import Parts
from filetools.facade.runner import Runner
from filetools.facade.steps import Decision, MoveFile, PutFile, RemoveFile
from filetools.facade.way import Outcome
from filetools.facade.writing import UTF_8, require_file, require_version
from filetools.models import DiffResult, EditResult, PatchedFile, PatchResult
from filetools.paths import WorkspacePath

ApplyToBytes = Callable[[bytes, TextFormat], BytesOutcome]


class TextChange:
    """One change of a file's text on its way: decided under the lock, remembered for the result. Used once."""

    def __init__(self, path: WorkspacePath, apply: ApplyToBytes, *, expected_version: str | None = None) -> None:
        self.path = path
        self._apply = apply
        self._expected_version = expected_version
        self.before = ""
        self.outcome = EditOutcome(text="", spans=(), counts=())
        self.version = ""

    def step(self) -> PutFile:
        """Return the step that makes the change."""
        return PutFile(self.path, self.decide, create_parents=False)

    def decide(self, parts: Parts, seen: Look) -> Decision:
        """Apply the change to what stands there."""
        require_file(seen)
        require_version(seen, self._expected_version)
        facts = facts_of(parts, seen)
        return self.made(content_of(parts, seen), facts.text_format if facts is not None else None)

    def preview(self, parts: Parts) -> str:
        """Apply the change to what stands there without writing it; returns the version it was applied to."""
        content, _ = parts.store.read(self.path, limit=parts.settings.max_write_bytes)
        self.made(content, inspect(content, name=self.path)[0].text_format)
        return version_of(content)

    def made(self, content: bytes, text_format: TextFormat | None) -> Decision:
        """Return the decision for a file's bytes.

        Raises:
            InvalidArgumentError: They are not text.
            EditNotFoundError, EditAmbiguousError, EncodingError: The change does not fit them.
        """
        if text_format is None:
            raise InvalidArgumentError(f"{self.path} is binary; replace it whole with write_file", path=self.path)
        made = self._apply(content, text_format)
        self.before, self.outcome = decode(content, text_format, path=self.path), made.outcome
        self.version = version_of(made.content)
        facts = describe(made.content, made.outcome.text, text_format, name=self.path, version=self.version)
        return Decision(content=made.content, facts=facts)

    def hunks(self) -> list[dict[str, Any]]:
        """Return what changed, in the form of a structured patch."""
        return [hunk.to_dict() for hunk in structured_patch(self.before, self.outcome.text)]


def edits_change(path: WorkspacePath, edits: Sequence[Edit], expected_version: str | None) -> TextChange:
    """Return the change that some replacements make."""
    apply = partial(_apply_edits, edits=edits, path=path)
    return TextChange(path, apply, expected_version=expected_version)


def insertion(path: WorkspacePath, line: int, text: str, expected_version: str | None) -> TextChange:
    """Return the change that new lines after a line make; 0 is before the first."""

    def apply(content: bytes, text_format: TextFormat) -> BytesOutcome:
        return insert_lines_in_bytes(content, text_format, line, text, path=path)

    return TextChange(path, apply, expected_version=expected_version)


def edit_result(change: TextChange, outcome: Outcome | None, before: str) -> EditResult:
    """Return the result of one change; `outcome` is None for a dry run."""
    record = outcome.changes[0] if outcome is not None else None
    return EditResult(
        path=change.path,
        version=change.version,
        replaced_version=before,
        counts=list(change.outcome.counts),
        structured_patch=change.hunks(),
        dry_run=outcome is None,
        unchanged=change.version == before,
        number=None if record is None else record.number,
        mirror=outcome.mirror if outcome is not None else "off",
        warnings=list(outcome.warnings) if outcome is not None else [],
    )


class PatchCall:
    """One patch over any number of files on its way: a step for each file, all or nothing. Used once."""

    def __init__(self, runner: Runner, text: str) -> None:
        """Parse a patch.

        Raises:
            InvalidArgumentError: It is malformed, or names a file twice.
        """
        self.patches = parse_patch(text)
        self.steps: list[PutFile | RemoveFile | MoveFile] = []
        self._changes: list[TextChange | None] = []
        self.deleted = [runner.resolve(patch.path) for patch in self.patches if patch.kind == "delete"]
        self._runner = runner
        for patch in self.patches:
            self._add(patch)
        self.paths = [path for step in self.steps for path in step.paths]
        if len({runner.parts.workspace.key(path) for path in self.paths}) < len(self.paths):
            raise InvalidArgumentError("The patch names one file twice; put all its hunks under one header")

    def preview(self, parts: Parts) -> None:
        """Apply it to what stands there without writing anything.

        Raises:
            EditNotFoundError, EditAmbiguousError, PathNotFoundError, PathExistsError, EncodingError
        """
        for patch, change in zip(self.patches, self._changes, strict=True):
            where = self._runner.resolve(patch.path)
            stands = parts.store.stat(where) is not None
            if patch.kind == "add" and stands:
                raise PathExistsError(where)
            if patch.kind != "add" and not stands:
                raise PathNotFoundError(where)
            if change is not None and patch.kind == "update":
                content, _ = parts.store.read(where, limit=parts.settings.max_write_bytes)
                change.made(content, inspect(content, name=where)[0].text_format)
            elif change is not None:
                change.made(b"", UTF_8)

    def result(self, outcome: Outcome | None) -> PatchResult:
        """Return what it did; `outcome` is None for a dry run."""
        files = [
            PatchedFile(
                path=patch.move_to or patch.path,
                kind="move" if patch.move_to and not patch.hunks else patch.kind,
                old_path=patch.path if patch.move_to else None,
                version=change.version if change is not None else None,
                structured_patch=change.hunks() if change is not None else [],
            )
            for patch, change in zip(self.patches, self._changes, strict=True)
        ]
        return PatchResult(
            files=files,
            dry_run=outcome is None,
            number=outcome.records[-1].number if outcome is not None and outcome.records else None,
            mirror=outcome.mirror if outcome is not None else "off",
            warnings=list(outcome.warnings) if outcome is not None else [],
        )

    def _add(self, patch: FilePatch) -> None:
        where = self._runner.resolve(patch.path)
        if patch.kind == "delete":
            self._take(RemoveFile(where), None)
        elif patch.kind == "add":
            change = TextChange(where, partial(_apply_patch, patch=patch, path=where))
            self._take(PutFile(where, partial(_decide_added, change, patch)), change)
        elif patch.move_to is None:
            change = TextChange(where, partial(_apply_patch, patch=patch, path=where))
            self._take(PutFile(where, partial(_decide_mode, change, patch), create_parents=False), change)
        elif not patch.hunks:
            self._take(MoveFile(where, self._runner.resolve(patch.move_to), overwrite=False), None)
        else:
            self._add_moved(patch, where, self._runner.resolve(patch.move_to))

    def _add_moved(self, patch: FilePatch, source: WorkspacePath, destination: WorkspacePath) -> None:
        # The bytes change on the way, so it is a new file and a deleted one, in one transaction.
        change = TextChange(destination, partial(_apply_patch, patch=patch, path=source))
        self.steps.append(PutFile(destination, partial(_decide_moved, change, source)))
        self._take(RemoveFile(source), change)

    def _take(self, step: PutFile | RemoveFile | MoveFile, change: TextChange | None) -> None:
        self.steps.append(step)
        self._changes.append(change)


def diff_result(parts: Parts, path: WorkspacePath, old: str | None, new: str | None) -> DiffResult:
    """Return what changed between two versions of a path.

    Args:
        parts: The workspace.
        path: Whose versions they are.
        old: None is the version before the newest recorded change.
        new: None is what stands there now.

    Raises:
        PathNotFoundError, VersionGoneError
        InvalidArgumentError: One of them is binary, or there is no earlier version.
    """
    first = parts.journal.contents.get(old or _version_before(parts, path))
    second = parts.store.read(path)[0] if new is None else parts.journal.contents.get(new)
    diff = unified_diff(_text(first, path), _text(second, path), f"a/{path}", f"b/{path}")
    return DiffResult(path=path, old_version=version_of(first), new_version=version_of(second), diff=diff)


def _version_before(parts: Parts, path: WorkspacePath) -> str:
    for record in parts.journal.records(key=parts.workspace.key(path), newest_first=True, limit=100):
        if record.before is not None and record.before != record.after:
            return record.before
    raise InvalidArgumentError(f"No earlier version of {path} is recorded", path=path)


def _text(content: bytes, path: WorkspacePath) -> str:
    text = inspect(content, name=path)[1]
    if text is None:
        raise InvalidArgumentError(f"{path} is binary; there is no text to compare", path=path)
    return text


def _apply_edits(content: bytes, text_format: TextFormat, *, edits: Sequence[Edit], path: str) -> BytesOutcome:
    return apply_edits_to_bytes(content, text_format, edits, path=path)


def _apply_patch(content: bytes, text_format: TextFormat, *, patch: FilePatch, path: str) -> BytesOutcome:
    return apply_file_patch(content, text_format, patch, path=path)


def _decide_added(change: TextChange, patch: FilePatch, _parts: Parts, seen: Look) -> Decision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    made = change.made(b"", UTF_8)
    return Decision(content=made.content, facts=made.facts, mode=patch.mode)


def _decide_mode(change: TextChange, patch: FilePatch, parts: Parts, seen: Look) -> Decision:
    made = change.decide(parts, seen)
    return Decision(content=made.content, facts=made.facts, mode=patch.mode)


def _decide_moved(change: TextChange, source: WorkspacePath, parts: Parts, seen: Look) -> Decision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    made = change.made(content, inspect(content, name=source)[0].text_format)
    return Decision(content=made.content, facts=made.facts, mode=stat.mode)
