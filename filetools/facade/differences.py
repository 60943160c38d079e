"""What differs between two versions of a path."""

from __future__ import annotations

from filetools.content.diff import unified_diff
from filetools.content.facts import inspect
from filetools.content.version import version_of
from filetools.errors import InvalidArgumentError
from filetools.facade.expected import full_version
from filetools.facade.parts import Parts
from filetools.models.files import DiffResult
from filetools.models.records import WITHOUT_BYTES
from filetools.paths.workspace_path import WorkspacePath


def diff_result(parts: Parts, path: WorkspacePath, old: str | None, new: str | None) -> DiffResult:
    """Return what changed between two versions of a path.

    Args:
        parts: The workspace.
        path: Whose versions they are.
        old: None is the version before the newest recorded change.
        new: None is what stands there now.

    Raises:
        PathNotFoundError, VersionGoneError
        InvalidArgumentError: One of them is binary or no version, or there is no earlier version.
    """
    first = parts.journal.contents.get(full_version(parts, path, old) if old else _version_before(parts, path))
    second = parts.store.read(path)[0] if new is None else parts.journal.contents.get(full_version(parts, path, new))
    diff = unified_diff(_text(first, path), _text(second, path), f"a/{path}", f"b/{path}")
    return DiffResult(path=path, old_version=version_of(first), new_version=version_of(second), diff=diff)


def _version_before(parts: Parts, path: WorkspacePath) -> str:
    for record in parts.journal.records(key=parts.workspace.key(path), newest_first=True, limit=100):
        is_file = record.operation not in WITHOUT_BYTES
        if is_file and record.before is not None and record.before != record.after:
            return record.before
    raise InvalidArgumentError(f"No earlier version of {path} is recorded", path=path)


def _text(content: bytes, path: WorkspacePath) -> str:
    text = inspect(content, name=path)[1]
    if text is None:
        raise InvalidArgumentError(f"{path} is binary; there is no text to compare", path=path)
    return text
