"""Taking hold of a root directory, and noticing when it is gone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

from filetools.errors import InvalidArgumentError, WorkspaceGoneError
from filetools.paths.checked import CheckedResolver
from filetools.paths.explain import translate
from filetools.paths.lexical import LexicalRules
from filetools.paths.names import fold_name
from filetools.paths.openat2 import Openat2Resolver
from filetools.paths.resolver import O_DIRECTORY, O_PATH, Resolver
from filetools.paths.walk import WalkResolver
from filetools.settings import STATE_DIRECTORY

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
        WorkspaceGoneError: It does not exist or is no directory.
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
    """Return why the held root serves nothing any more, or None if it does."""
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
        return WalkResolver()
    found = Openat2Resolver.probe(descriptor)
    if found is None and choice == "openat2":
        raise InvalidArgumentError("This system does not offer openat2; use resolver='auto'")
    return found or WalkResolver()


def lexical_rules(root: Path, state_directory: Path | None) -> LexicalRules:
    """Return the rules of raw paths for a root, as given and with its own links resolved."""
    spellings = tuple(dict.fromkeys((_segments(root), _segments(Path(os.path.realpath(root))))))
    state: tuple[str, ...] = ()
    segments = _segments(Path(os.path.realpath(state_directory))) if state_directory is not None else ()
    for spelling in spellings:
        if len(segments) > len(spelling) and segments[: len(spelling)] == spelling:
            state = tuple(map(fold_name, segments[len(spelling) :]))
    # A state directory of the usual name is refused by that name already, at any depth.
    return LexicalRules(roots=spellings, state=() if state == (STATE_DIRECTORY,) else state)


def _segments(place: Path) -> tuple[str, ...]:
    return tuple(segment for segment in place.as_posix().split("/") if segment)
