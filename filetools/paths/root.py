"""Opens a root directory, and detects that it was removed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final, Literal

from filetools.errors import InvalidArgumentError, WorkspaceGoneError
from filetools.paths.explain import translate
from filetools.paths.lexical import LexicalRules
from filetools.paths.names import fold_name
from filetools.paths.resolver import O_DIRECTORY, O_PATH, Openat2Resolver, Resolver
from filetools.settings import STATE_DIRECTORY


class CheckedResolver(Resolver):
    """Resolver that checks each component by name, then opens the whole name.

    Between the check and the opening a name can be exchanged: a documented limit where this resolver is needed.
    """

    __slots__ = ("_root",)

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def open(self, root: int, path: str, flags: int) -> int:
        """Open `path` by its whole name after a check of each component; see `Resolver.open`."""
        self._refuse_link(root, path)
        return os.open(self._place(path), flags)

    def stat(self, root: int, path: str) -> os.stat_result:
        """Look by the whole name after a check of each folder; see `Resolver.stat`."""
        self._refuse_link(root, path.rpartition("/")[0])
        return os.lstat(self._place(path))

    def look(self, root: int, path: str) -> tuple[os.stat_result, str | None]:
        """Look by the whole name; see `Resolver.look`."""
        place = self._place(path)
        found = os.lstat(place)
        return found, os.readlink(place) if stat.S_ISLNK(found.st_mode) else None

    def _place(self, path: str) -> str:
        return os.path.join(self._root, *path.split("/")) if path else self._root

    def _refuse_link(self, root: int, path: str) -> None:
        found = self.obstacle(root, path) if path else None
        if found is not None and found.is_link:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


ResolverChoice = Literal["auto", "openat2", "walk", "checked"]

_HAS_DESCRIPTORS: Final = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd


def absolute_root(root: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a root without resolving its links.

    Raises:
        InvalidArgumentError: It is empty, which would silently mean the current directory.
    """
    if not os.fspath(root):
        raise InvalidArgumentError("The workspace root must not be empty")
    return Path(os.path.abspath(root))


def open_root(place: Path) -> int:
    """Return a descriptor of the root, or -1 on systems without directory descriptors.

    Raises:
        WorkspaceGoneError: It does not exist or is not a directory.
        FileToolsError: The operating system denied access.
    """
    if not _HAS_DESCRIPTORS:
        if not place.is_dir():
            raise WorkspaceGoneError("the root does not exist, or is not a directory")
        return -1
    try:
        return os.open(place, (O_PATH or os.O_RDONLY) | O_DIRECTORY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError as exc:
        raise WorkspaceGoneError("the root does not exist") from exc
    except NotADirectoryError as exc:
        raise WorkspaceGoneError("the root is not a directory") from exc
    except OSError as exc:
        raise translate(".", exc) from exc


def close_root(descriptor: int) -> None:
    """Release what `open_root` returned."""
    if descriptor >= 0:
        os.close(descriptor)


def why_gone(descriptor: int) -> str | None:
    """Return why the held root is no longer usable, or None if it is."""
    if not _HAS_DESCRIPTORS:
        return None
    if descriptor < 0:
        return "it was closed"
    try:
        return None if os.fstat(descriptor).st_nlink else "the root was deleted"
    except OSError as exc:
        return f"the root does not answer ({os.strerror(exc.errno or 0)})"


def choose_resolver(choice: ResolverChoice, descriptor: int, place: Path) -> Resolver:
    """Return the resolver asked for, or with "auto" the safest and fastest that works here.

    Raises:
        InvalidArgumentError: This system does not offer it.
    """
    if choice == "checked" or not _HAS_DESCRIPTORS:
        return CheckedResolver(place)
    if choice == "walk":
        return Resolver()
    found = Openat2Resolver.probe(descriptor)
    if found is None and choice == "openat2":
        raise InvalidArgumentError("This system does not offer openat2; use resolver='auto'")
    return found or Resolver()


def lexical_rules(root: Path, state_directory: Path | None) -> LexicalRules:
    """Return the rules of raw paths for a root, as given and with its own links resolved."""
    spellings = tuple(dict.fromkeys((_segments(root), _segments(Path(os.path.realpath(root))))))
    state: tuple[str, ...] = ()
    segments = _segments(Path(os.path.realpath(state_directory))) if state_directory is not None else ()
    for spelling in spellings:
        if len(segments) > len(spelling) and segments[: len(spelling)] == spelling:
            state = tuple(map(fold_name, segments[len(spelling) :]))
    # A state directory of the usual name is refused by that name already, at any depth.
    return LexicalRules(roots=spellings, state=() if state[:1] == (STATE_DIRECTORY,) else state)


def _segments(place: Path) -> tuple[str, ...]:
    return tuple(segment for segment in place.as_posix().split("/") if segment)
