"""What stood in the output folders before a run, and what is new there after it, outside of a workspace."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from stat import S_ISDIR, S_ISREG
from typing import Final

from filetools.content.identity_cache import is_settled
from filetools.errors import ChecksumCalculationError, DirectoryNotFoundError, DirectoryScanError, FileToolsError
from filetools.paths.names import is_state_name
from filetools.paths.patterns import compile_patterns
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.description import FileAction, read_file
from filetools.settings import DEFAULT_EXCLUDES
from filetools.stores.folder import FolderStore
from filetools.stores.store import Facts, FileStat

PATTERNS: Final = ("*.md", "*.json", "*.txt")
TOLERANCE_NS: Final = 2_000_000_000
"""What the clocks of file systems may be behind, and the coarsest step of their times."""
_LOOKS, _PAUSE_SECONDS = 20, 0.05
_TEMPORARY: Final = (".ft-*", "*.tmp", "*.tmp.*", "*.part", "*~", ".#*", ".goutputstream-*", ".*.sw?", "4913")
"""Names under which filetools, editors and other programs write a file before they rename it."""
_EXCLUDED: Final = compile_patterns(_TEMPORARY, defaults=DEFAULT_EXCLUDES)

Seen = tuple[int, ...]
"""Inode, size, mtime and ctime of a file; a record would take twice the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The files below the output folders at the start of a run."""

    files: Mapping[str, Seen]
    versions: Mapping[str, str]
    """Versions of those that were so young that they could have changed since without a sign."""


def take_baseline(reads: FolderStore, folders: Sequence[str]) -> Baseline:
    """Return what stands below some folders; those that are missing, or cannot be read, are empty."""
    taken_ns, files, versions = time.time_ns(), dict[str, Seen](), dict[str, str]()
    for folder in folders:
        with suppress(FileToolsError):
            for path, facts in _walk(reads, WorkspacePath(folder), []):
                files[path] = facts[1:5]
                if not is_settled(facts[:5], taken_ns):
                    versions[path] = _version(reads, path)
    return Baseline(files=files, versions=versions)


def scan(
    reads: FolderStore, directories: Sequence[str], started_at: float, patterns: Sequence[str] = PATTERNS,
    *, recursive: bool = True, baseline: Baseline | None = None,
) -> tuple[dict[WorkspacePath, FileAction], list[FileToolsError]]:  # fmt: skip
    """Return what changed in some folders since a run began, sorted by path, and why folders could not be scanned.

    With a baseline a file counts if it is new, gone, or not what it was; without one its times tell. Links are not
    followed; excluded files and temporary ones do not count.

    Args:
        reads: Reads the root.
        directories: Relative to it.
        started_at: In seconds since the epoch.
        patterns: Names or paths that count, in the form of exclude patterns.
        recursive: Whether folders below count.
        baseline: What was there.

    Raises:
        ValueError: There are no directories or no patterns, or a pattern is malformed.
        DirectoryScanError: None of the folders can be scanned.
    """
    if not directories:
        raise ValueError("directories list cannot be empty")
    if not patterns:
        raise ValueError("file_patterns list cannot be empty")
    wanted, here, failures, below = compile_patterns(patterns), dict[WorkspacePath, Facts](), [], list[FileToolsError]()
    for directory in directories:
        try:
            here.update(_walk(reads, WorkspacePath(directory), below, recursive=recursive))
        except FileToolsError as error:
            # A folder that is not there after the run holds nothing new, and what was in it is gone.
            if baseline is None or not isinstance(error, DirectoryNotFoundError):
                failures.append(error)
    if len(failures) == len(directories):
        raise DirectoryScanError(
            f"All {len(failures)} directories failed to scan. No files discovered. This is a critical failure.",
            {"directories": list(directories)}, ExceptionGroup("folders that cannot be scanned", failures),
        )  # fmt: skip
    found: dict[WorkspacePath, FileAction] = {}
    for path, facts in here.items():
        is_new = baseline is not None and path not in baseline.files
        if (is_new or is_changed(reads, path, facts[1:5], started_at, baseline)) and wanted.matches(path, False):
            is_old = baseline is not None or (reads.birth_ns(path) or facts[4]) < started_at * 1e9 - TOLERANCE_NS
            found[path] = "modified" if is_old and not is_new else "created"
    for path in map(WorkspacePath, baseline.files.keys() - here.keys() if baseline is not None else ()):
        if wanted.matches(path, False) and _look(reads, path) is None:
            found[path] = "deleted"
    return dict(sorted(found.items())), [*failures, *below]


def is_changed(
    reads: FolderStore, path: WorkspacePath, now: Seen, started_at: float, baseline: Baseline | None
) -> bool:
    """Whether a file is not what it was in the baseline, or, where that does not know it, was changed since the start."""
    before = baseline.files.get(path) if baseline is not None else None
    if baseline is None or before is None:
        return now[2] >= started_at * 1e9 - TOLERANCE_NS or now[3] >= started_at * 1e9
    if before[:3] != now[:3] or path not in baseline.versions:
        return before != now
    return _version(reads, path) != baseline.versions[path]


def settle(
    reads: FolderStore, paths: Collection[WorkspacePath], *, pause: Callable[[float], None] = time.sleep
) -> set[WorkspacePath]:
    """Wait until files hold still, for two looks 50 ms apart and at most 1 s, and return those that do not."""
    restless = {path: _look(reads, path) for path in paths}
    for _ in range(_LOOKS):
        if restless:
            pause(_PAUSE_SECONDS)
            now = {path: _look(reads, path) for path in restless}
            restless = {path: found for path, found in now.items() if found != restless[path]}
    return set(restless)


def _walk(
    reads: FolderStore, folder: WorkspacePath, errors: list[FileToolsError], *, recursive: bool = True
) -> Iterator[tuple[WorkspacePath, Facts]]:
    """Yield the regular files below a folder; why folders below it cannot be read is told in `errors`."""
    pending = [folder]
    while pending:
        directory = pending.pop()
        try:
            entries = reads.scan_facts(directory)
        except FileToolsError as error:
            if directory == folder:
                raise
            errors.append(error)
            continue
        names: list[list[str]] = []
        for is_kind in (S_ISDIR, S_ISREG):
            found = [name for name, facts in entries.items() if is_kind(facts[5]) and not is_state_name(name)]
            sieve = _EXCLUDED.in_directory(directory)
            names.append(found if sieve is None else [*sieve(found, is_kind is S_ISDIR)])
        pending += map(directory.child, names[0] if recursive else ())
        yield from ((directory.child(name), entries[name]) for name in names[1])


def _look(reads: FolderStore, path: WorkspacePath) -> FileStat | str | None:
    try:
        return reads.stat(path)
    except FileToolsError as error:
        return error.code


def _version(reads: FolderStore, path: WorkspacePath) -> str:
    try:
        return read_file(reads, path).version
    except ChecksumCalculationError:  # whoever describes it says what is wrong
        return ""
