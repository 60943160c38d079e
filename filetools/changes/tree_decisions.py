"""Decisions that give and take names: move, copy, delete, make folders. Each is a pure function of what the call sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from filetools.changes.knowledge import (
    Knowledge,
    bytes_now,
    file_or_nothing,
    name_or_nothing,
    refuse_changed,
    refuse_size,
    require_version,
)
from filetools.changes.writing import WriteAnswer, missing_folders, put_decision
from filetools.content.facts import inspect
from filetools.errors import (
    DirectoryNotEmptyError,
    DirectoryNotFoundError,
    InvalidArgumentError,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
    VersionMismatchError,
)
from filetools.models.words import EntryType
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import (
    Decided,
    MakeFolder,
    Move,
    Remove,
    RemoveFolder,
    Seen,
    SeenPath,
    TreeOperation,
)


class MoveAnswer(Struct, frozen=True, kw_only=True):
    """What a move did."""

    source: WorkspacePath
    destination: WorkspacePath
    kind: EntryType
    version: str | None = None
    """Of the moved file."""
    replaced_version: str | None = None
    unchanged: bool = False


class DeleteAnswer(Struct, frozen=True, kw_only=True):
    """What a deletion removed."""

    path: WorkspacePath
    kind: EntryType
    version: str | None = None
    """Of the deleted file."""
    below: Sequence[SeenPath] = ()
    """What was in the deleted folder, with the versions that go."""

    @property
    def entries(self) -> int:
        """How many files and folders went, the named one included."""
        return 1 + len(self.below)


class FolderAnswer(Struct, frozen=True, kw_only=True):
    """What became of a folder that was to be made."""

    path: WorkspacePath
    created: bool
    """False if the folder existed."""


def decide_move(
    seen: Seen,
    *,
    source: WorkspacePath,
    destination: WorkspacePath,
    overwrite: bool,
    knowledge: tuple[Knowledge, Knowledge],
    settings: Settings,
    versions: Mapping[str, str | None] | None = None,
) -> Decided:
    """Move a file, a link or a folder; missing folders above the destination are made.

    Args:
        seen: Both paths; with `versions`, also all that is below the source.
        source: What is moved.
        destination: Its new name.
        overwrite: Whether an existing file is replaced.
        knowledge: What the actor knows of source and destination.
        settings: Whether links are followed.
        versions: As in `decide_delete_folder`, of a folder that is moved.

    Returns:
        The operations, and a `MoveAnswer`.

    Raises:
        PathNotFoundError: The source does not exist.
        PathExistsError: There is something at the destination that must not be replaced.
        VersionMismatchError: Others have changed what is moved or replaced since the actor saw it.
        InvalidArgumentError: One path lies inside the other.
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError, PathNotDirectoryError
    """
    origin, target = seen.at(source), seen.at(destination)
    is_folder = origin.kind == "directory"
    if is_folder and destination.is_below(source):
        raise InvalidArgumentError(f"Cannot move {source!r} into itself", path=source)
    if not is_folder and (destination.is_below(source) or source.is_below(destination)):
        reason = f"Cannot move {source!r} to {destination!r}: one lies inside the other"
        raise InvalidArgumentError(reason, path=source)
    # Where case is ignored, another spelling of a name is the same file.
    is_same = target.kind is not None and target.path == origin.path
    replaced: Sequence[TreeOperation] = ()
    if is_folder:
        if target.kind is not None and not is_same:
            raise PathExistsError(destination)
        _refuse_unseen(seen, source, versions)
    else:
        name_or_nothing(seen, source, settings)
        name_or_nothing(seen, destination, settings)
        if origin.kind is None:
            raise PathNotFoundError(source)
        if not is_same:
            replaced = _replaced(seen, origin, target, knowledge, overwrite=overwrite)
    answer = MoveAnswer(
        source=source,
        destination=destination,
        kind=origin.kind or "file",
        version=origin.version if origin.kind == "file" else None,
        replaced_version=target.version if replaced else None,
        unchanged=origin.path == destination,
    )
    if answer.unchanged:
        return Decided(answer=answer)
    move = Move(path=origin.path, to=destination)
    return Decided(operations=(*missing_folders(seen, destination), *replaced, move), answer=answer)


def decide_copy(
    seen: Seen,
    *,
    source: WorkspacePath,
    path: WorkspacePath,
    overwrite: bool,
    knowledge: Knowledge,
    settings: Settings,
) -> Decided:
    """Copy a file's bytes and mode.

    Args:
        seen: With the bytes of the source.
        source: The file.
        path: Where the copy is made.
        overwrite: Whether an existing file is replaced.
        knowledge: What the actor knows of `path`.
        settings: Limits, and what happens to files with several names.

    Raises:
        PathNotFoundError: The source does not exist.
        PathExistsError: There is a file, and it must not be replaced.
        VersionMismatchError: Others have changed the file that would be replaced.
        PathIsDirectoryError, SymlinkNotAllowedError, NotRegularFileError, FileTooLargeError, InvalidArgumentError,
        PathNotDirectoryError, HardLinkedError
    """
    now = file_or_nothing(seen, path, settings)
    if now.kind is not None and not overwrite:
        raise PathExistsError(path)
    origin = seen.at(source)
    if source == path or (now.kind is not None and origin.path == now.path):
        raise InvalidArgumentError(f"Source and destination are the same file: {source}", path=source)
    refuse_changed(seen, now, knowledge)
    if file_or_nothing(seen, source, settings).kind is None:
        missing_folders(seen, source)
        raise PathNotFoundError(source)
    refuse_size(source, origin.size or 0, settings)
    content = bytes_now(seen, origin)
    facts = inspect(content, name=path)[0]
    answer = WriteAnswer(path=path, content=content, facts=facts, before=now, unchanged=False)
    return put_decision(seen, answer, settings, mode=origin.mode)


def decide_delete(
    seen: Seen,
    *,
    path: WorkspacePath,
    knowledge: Knowledge,
    settings: Settings,
    expected_version: str | None = None,
) -> Decided:
    """Delete a file, or a link where links are followed.

    Args:
        seen: The path.
        path: The file.
        knowledge: What the actor knows of it.
        settings: Whether links are followed.
        expected_version: Refuse unless the file is at this version; None refuses if others have changed it since the
            actor saw it.

    Returns:
        The operations, and a `DeleteAnswer`.

    Raises:
        PathNotFoundError, PathIsDirectoryError, VersionMismatchError, SymlinkNotAllowedError, NotRegularFileError,
        InvalidArgumentError
    """
    now = name_or_nothing(seen, path, settings)
    if now.kind is None:
        raise PathNotFoundError(path)
    if expected_version is not None:
        require_version(seen, now, knowledge, expected_version)
    else:
        refuse_changed(seen, now, knowledge)
    answer = DeleteAnswer(path=path, kind=now.kind, version=now.version if now.kind == "file" else None)
    return Decided(operations=(Remove(path=now.path),), answer=answer)


def decide_make_folder(seen: Seen, *, path: WorkspacePath) -> Decided:
    """Make a folder and the missing ones above it; one that exists is left alone.

    Returns:
        The operations, and a `FolderAnswer`.

    Raises:
        PathExistsError: A file is there.
        SymlinkNotAllowedError, PathNotDirectoryError
    """
    kind = seen.at(path).kind
    if kind == "symlink":
        raise SymlinkNotAllowedError(path, path)
    if kind not in (None, "directory"):
        raise PathExistsError(path)
    made = () if kind else (*missing_folders(seen, path), MakeFolder(path=path))
    return Decided(operations=made, answer=FolderAnswer(path=path, created=bool(made)))


def decide_delete_folder(
    seen: Seen, *, path: WorkspacePath, recursive: bool, versions: Mapping[str, str | None] | None = None
) -> Decided:
    """Delete a folder; all that is in it, too, if asked.

    Args:
        seen: With all that is below the folder.
        path: The folder.
        recursive: Whether it may hold anything.
        versions: What it may hold, by path, with the version of each file; None if that does not matter.

    Returns:
        The operations, and a `DeleteAnswer`.

    Raises:
        DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError
        DirectoryNotEmptyError: It holds something, and `recursive` is False.
        VersionMismatchError: It holds something that is not in `versions`.
    """
    now = seen.at(path)
    for folder in path.folders[-1:]:
        _require_folder(folder, seen.at(folder).kind)
    if now.kind == "symlink":
        raise SymlinkNotAllowedError(path, path)
    _require_folder(path, now.kind)
    below = _below(seen, path)
    if below and not recursive:
        raise DirectoryNotEmptyError(path)
    _refuse_unseen(seen, path, versions)
    answer = DeleteAnswer(path=path, kind="directory", below=below)
    return Decided(operations=(RemoveFolder(path=now.path),), answer=answer)


def _replaced(
    seen: Seen, origin: SeenPath, target: SeenPath, knowledge: tuple[Knowledge, Knowledge], *, overwrite: bool
) -> Sequence[TreeOperation]:
    """Return what makes room for a file that is moved."""
    if target.kind == "symlink":
        raise SymlinkNotAllowedError(target.path, target.path)
    if target.kind is not None and not overwrite:
        raise PathExistsError(target.path)
    for end, known in zip((origin, target), knowledge, strict=True):
        refuse_changed(seen, end, known)
    return () if target.kind is None else (Remove(path=target.path),)


def _require_folder(path: WorkspacePath, kind: EntryType | None) -> None:
    if kind is None:
        raise DirectoryNotFoundError(path)
    if kind != "directory":
        raise PathNotDirectoryError(path)


def _refuse_unseen(seen: Seen, path: WorkspacePath, versions: Mapping[str, str | None] | None) -> None:
    """Refuse what a folder holds that its actor has not seen so."""
    if versions is None:
        return
    for each in _below(seen, path):
        if each.path not in versions or (each.kind == "file" and versions[each.path] != each.version):
            reason = "others changed it since you saw the folder that holds it"
            raise VersionMismatchError(each.path, versions.get(each.path), each.version, reason=reason)


def _below(seen: Seen, path: WorkspacePath) -> Sequence[SeenPath]:
    assert path in seen.below, f"the call did not ask for what is below {path}"
    return seen.below[path]
