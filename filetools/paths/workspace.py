"""The only access to the disk: resolves paths, and opens them so that no race of names leads outside the root."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotFoundError,
    FileToolsError,
    InvalidPathError,
    MountPointError,
    PathNotDirectoryError,
    PathNotFoundError,
    WorkspaceGoneError,
)
from filetools.models.words import STATE_PATH
from filetools.paths.explain import MAYBE_GONE, MAYBE_ON_THE_WAY, explain_way, translate, wrong_kind
from filetools.paths.lexical import is_addressable
from filetools.paths.library import birth_ns
from filetools.paths.links import follow_links
from filetools.paths.resolver import (
    FOLDER_FLAGS,
    O_DIRECTORY,
    O_NOCTTY,
    O_NONBLOCK,
    O_PATH,
    READ_FLAGS,
    SAFE_FLAGS,
    Obstacle,
    Resolver,
    is_link,
)
from filetools.paths.root import (
    ResolverChoice,
    absolute_root,
    choose_resolver,
    close_root,
    lexical_rules,
    open_root,
    why_gone,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.printable import encodable

_PROBE_NAME: Final = "probe-A-\u00e9"
_READ_ACCESS: Final = "Ask the user for read access to it, or choose another path."
_OTHER_CASE: Final = "probe-a-\u00e9"
_OTHER_FORM: Final = "probe-A-e\u0301"


class NameRules(Struct, frozen=True):
    """How a file system compares names."""

    ignores_case: bool = False
    ignores_form: bool = False
    """True if NFC and NFD spellings name the same file."""

    def key(self, path: str) -> str:
        """Return a text that is equal for all spellings of one path."""
        path = str(path)  # plain: one is kept for each path of a tree, and the garbage collector does not visit those
        if self.ignores_form:
            path = unicodedata.normalize("NFC", path)
        if self.ignores_case:
            path = path.casefold()
            # Casefolding can leave a form that is no longer composed.
            path = unicodedata.normalize("NFC", path) if self.ignores_form else path
        return path


def probe_rules(directory: Path, device: int) -> NameRules:
    """Find out how a file system compares names, by one empty file kept in `directory`.

    The file stays: processes that probe at the same time must not take it from each other.

    Args:
        directory: The state directory; nothing is created unless it exists and is not a link.
        device: Device of the root; a directory on another one says nothing about it.

    Returns:
        The rules found; exact comparison if nothing could be probed.
    """
    if os.name == "nt":
        return NameRules(ignores_case=True)
    try:
        # By descriptor and without following: a cloned repository may hold a link of this name.
        held = os.open(directory, FOLDER_FLAGS)
    except OSError:
        return NameRules()
    try:
        if os.fstat(held).st_dev != device:
            return NameRules()
        os.close(os.open(_PROBE_NAME, os.O_CREAT | os.O_RDWR | O_NONBLOCK | SAFE_FLAGS, 0o600, dir_fd=held))
        return NameRules(_is_found_as(held, _OTHER_CASE), _is_found_as(held, _OTHER_FORM))
    except OSError:
        return NameRules()
    finally:
        os.close(held)


def _is_found_as(directory: int, other: str) -> bool:
    """True if a name resolves although no entry has it. Inode numbers prove nothing: some drivers make them up by path."""
    try:
        os.stat(other, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    names = os.listdir(directory)  # some drivers list every name in lower case
    return not (other in names and _PROBE_NAME in names)


class Workspace:
    """A root directory held open; serves that directory even if its name goes away.

    All methods are thread-safe. Only `open_file_now`, `resolve` and `key` are made for the event loop; the others may
    wait for the disk. Descriptors are returned to the caller, who closes them.

    Attributes:
        root: Absolute path of the root, as given.
        root_descriptor: Descriptor of the root (O_PATH where there is one); -1 once closed, and on Windows.
        follow_symlinks: True if `locate` follows links inside the root.
        key: Returns the key that is equal for all spellings of a path which the root's file system treats as one file.
    """

    __slots__ = (
        "_identity", "_resolver", "_rules", "follow_symlinks", "key", "root", "root_descriptor", "state_directory",
    )  # fmt: skip

    def __init__(
        self,
        root: Path,
        root_descriptor: int,
        resolver: Resolver,
        *,
        follow_symlinks: bool,
        state_directory: Path | None,
    ) -> None:
        self.root = root
        self.root_descriptor = root_descriptor
        self.follow_symlinks = follow_symlinks
        found = os.fstat(root_descriptor) if root_descriptor >= 0 else os.stat(root)
        self._identity = (found.st_dev, found.st_ino)
        self._resolver = resolver
        self.state_directory: Final = state_directory or root / STATE_PATH
        self._rules = lexical_rules(root, state_directory)
        # On the disk of the files: a state elsewhere may be on one that compares names in another way.
        places = (root / STATE_PATH, self.state_directory)
        names = probe_rules(next(filter(os.path.isdir, places), self.state_directory), found.st_dev)
        self.key: Final[Callable[[str], str]] = str if names == NameRules() else names.key

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        *,
        follow_symlinks: bool = False,
        state_directory: Path | None = None,
        resolver: ResolverChoice = "auto",
    ) -> Workspace:
        """Open a root directory; nothing in it is read or scanned.

        Args:
            root: The directory; a link that names it is followed once, here.
            follow_symlinks: True to follow links that stay inside the root.
            state_directory: The state directory; by default `.filetools` in the root.
            resolver: How paths become descriptors; "auto" takes the safest and fastest that the system offers.

        Raises:
            WorkspaceGoneError: The root does not exist or is not a directory.
            AccessDeniedError: The operating system denied access to it.
            InvalidArgumentError: The root is empty, or the system does not offer the resolver asked for.
        """
        place = absolute_root(root)
        descriptor = open_root(place)
        try:
            chosen = choose_resolver(resolver, descriptor, place)
            return cls(place, descriptor, chosen, follow_symlinks=follow_symlinks, state_directory=state_directory)
        except BaseException:
            close_root(descriptor)
            raise

    @property
    def spellings(self) -> tuple[str, ...]:
        """The absolute paths of the root, with "/": as given, and with its links resolved, if that differs."""
        start = "" if os.name == "nt" else "/"
        return tuple(start + "/".join(segments) for segments in self._rules.roots)

    def resolve(self, raw_path: str, *, allow_root: bool = False) -> WorkspacePath:
        r"""Return the normal form of a raw path, without looking at the disk.

        `\` counts as `/`; empty and "." segments and a trailing slash vanish; leading slashes mean the root, after an
        absolute path inside the root was made relative. `~` and `%2e` are plain names.

        Args:
            raw_path: As a caller wrote it.
            allow_root: True to accept "" and ".", as for listing.

        Raises:
            InvalidPathError: NUL, a surrogate, blanks only, the root where a file is needed, a name Windows refuses.
            AbsolutePathError: A drive letter or a UNC prefix.
            PathTraversalError: A segment "..", even where the result would stay inside.
            PathTooLongError: Over 4096 bytes, or a segment over 255.
            AccessDeniedError: It leads into the state directory.
        """
        return self._rules.parse(raw_path, allow_root=allow_root)

    is_addressable = staticmethod(is_addressable)

    def locate(self, path: WorkspacePath) -> WorkspacePath:
        """Return where a path really is: the path itself, or, with `follow_symlinks`, the target of its links.

        The result may be outdated at once; opening it is still safe, since that follows no link.

        Raises:
            SymlinkEscapeError: A link leads outside the root.
            SymlinkNotAllowedError: The links form a loop.
            AccessDeniedError: A link leads into the state directory.
        """
        if not self.follow_symlinks or path.is_root or self._is_plain(path):
            return path
        try:
            segments = follow_links(path, self._look, self._rules.roots)
        except FileToolsError:
            raise
        except OSError as exc:
            raise self.explain(path, exc) from exc
        self._rules.refuse_state(segments)
        return WorkspacePath("/".join(segments))

    def open_descriptor(self, path: WorkspacePath, flags: int) -> int:
        """Open the entry at a path, beneath the root and never through a link.

        Args:
            path: The path; the root is allowed.
            flags: As for `os.open`; flags that refuse links, inheritance and terminals are added. With O_PATH and
                nothing else a link itself can be opened.

        Raises:
            FileToolsError: The error that `explain` returns for the system's.
        """
        flags |= SAFE_FLAGS if O_PATH and flags & O_PATH else SAFE_FLAGS | O_NOCTTY
        try:
            return self._resolver.open(self.root_descriptor, path, flags)
        except OSError as exc:
            raise self.explain(path, exc, directory=bool(flags & O_DIRECTORY)) from exc

    def open_file(self, path: WorkspacePath) -> int:
        """Open a regular file for reading; never waits for a pipe or a device. The descriptor is non-blocking.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError, SymlinkNotAllowedError, AccessDeniedError
        """
        return self.open_regular(path)[0]

    def open_regular(self, path: WorkspacePath) -> tuple[int, os.stat_result]:
        """As `open_file`, with its facts.

        Raises:
            FileToolsError: As `open_file`.
        """
        try:
            descriptor = self._resolver.open(self.root_descriptor, path, READ_FLAGS)
        except OSError as exc:
            raise self._explain_look(path, exc) from exc
        return descriptor, _facts_of_regular(descriptor, path)

    def open_file_now(self, path: WorkspacePath) -> tuple[int, os.stat_result] | None:
        """As `open_file`, for the event loop: never waits for a disk.

        Returns:
            A descriptor with its facts, or None if a name on the way is not in memory, the system cannot tell, or the
            reason of a failure would have to be looked up: then call `open_file` in a worker thread.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError
        """
        try:
            descriptor = self._resolver.open_cached(self.root_descriptor, path, READ_FLAGS)
        except FileNotFoundError as exc:
            raise self.explain(path, exc) from exc
        except OSError:
            return None
        return None if descriptor is None else (descriptor, _facts_of_regular(descriptor, path))

    def open_directory(self, path: WorkspacePath) -> int:
        """Open a directory for scanning, syncing, and as `dir_fd`; the root is allowed.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError
            WorkspaceGoneError: The path is the root, which was deleted; it is held, and would look empty.
        """
        if path.is_root and (reason := why_gone(self.root_descriptor)):
            raise WorkspaceGoneError(reason)
        try:
            return self._resolver.open(self.root_descriptor, path, FOLDER_FLAGS)
        except OSError as exc:
            raise self.explain(path, exc, directory=True) from exc

    def open_parent(self, path: WorkspacePath) -> int:
        """Open the directory that contains a path, for calls with `dir_fd` on `path.name`.

        Raises:
            InvalidPathError: The path is the root.
            DirectoryNotFoundError, PathNotDirectoryError, SymlinkNotAllowedError, AccessDeniedError
        """
        if path.is_root:
            raise InvalidPathError(path, "the root has no parent inside the workspace")
        return self.open_directory(path.parent)

    def stat(self, path: WorkspacePath) -> os.stat_result | None:
        """Return the facts of the entry at a path, of a link its own; None if nothing is there.

        A missing parent, or one that is a file, means that nothing is there.

        Raises:
            SymlinkNotAllowedError: A link is on the way.
            AccessDeniedError: The operating system denied it.
        """
        try:
            return self._resolver.stat(self.root_descriptor, path)
        except OSError as exc:
            error = self._explain_look(path, exc)
            if isinstance(error, (PathNotFoundError, PathNotDirectoryError)):
                return None
            raise error from exc

    def birth_ns(self, path: WorkspacePath) -> int | None:
        """Return the creation time of the entry at a path, in nanoseconds since the epoch; None if unknown."""
        if not O_PATH:
            return None
        try:
            descriptor = self.open_descriptor(path, O_PATH)
        except FileToolsError:  # whether it exists, and can be reached, is checked elsewhere
            return None
        try:
            return birth_ns(descriptor)
        finally:
            os.close(descriptor)

    def explain(self, path: WorkspacePath, error: OSError, *, directory: bool = False) -> FileToolsError:
        """Return the typed error for a system error on a path; looks at the disk for the reason.

        Args:
            path: The path concerned; no other is named, except a link or a file on its way.
            error: What was raised; a typed error is returned unchanged.
            directory: True if a directory was wanted, so that a missing one is reported as such.
        """
        if isinstance(error, FileToolsError):
            return error
        if error.errno in MAYBE_GONE and (reason := why_gone(self.root_descriptor)):
            return WorkspaceGoneError(reason)
        if error.errno == errno.EBUSY and self._is_mount_point(path):
            return MountPointError(path)
        if error.errno in MAYBE_ON_THE_WAY:
            return explain_way(path, error, self._look, self._rules.roots)
        if error.errno == errno.ENOENT and directory:
            return DirectoryNotFoundError(encodable(path))
        return translate(path, error)

    def check_alive(self) -> None:
        """Raise unless the root's path still names the directory that is held.

        Raises:
            WorkspaceGoneError: It was deleted, replaced, re-pointed or unmounted, or this workspace was closed.
        """
        try:
            found = os.stat(self.root)
        except OSError as exc:
            raise WorkspaceGoneError(why_gone(self.root_descriptor) or "the root does not exist any more") from exc
        # No other directory gets its numbers while it is held, so comparing them is enough.
        if (found.st_dev, found.st_ino) != self._identity:
            reason = why_gone(self.root_descriptor) or "another directory has replaced the root"
            raise WorkspaceGoneError(reason)

    def close(self) -> None:
        """Release the root; may be called twice. No other call may be in progress."""
        descriptor, self.root_descriptor, self._identity = self.root_descriptor, -1, (-1, -1)
        close_root(descriptor)

    def _explain_look(self, path: WorkspacePath, error: OSError) -> FileToolsError:
        """Explain why opening any kind of file failed, so that only the way to it can be at fault."""
        if error.errno in (errno.EACCES, errno.EPERM):
            return AccessDeniedError(encodable(path), suggested_action=_READ_ACCESS)
        explained = self.explain(path, error)
        if isinstance(explained, PathNotDirectoryError) and explained.path == path:
            # The walk found a link as "not a directory", and the link was gone at the second look.
            return ChangedMeanwhileError(path, 1)
        return explained

    def _is_mount_point(self, path: WorkspacePath) -> bool:
        # Device numbers prove nothing: a file or folder mounted from the same file system has the same.
        if not O_PATH or path.is_root:
            return False
        try:
            mounts = [self._mount_of(place) for place in (path, path.parent)]
        except OSError:
            return False
        return None not in mounts and mounts[0] != mounts[1]

    def _mount_of(self, path: WorkspacePath) -> str | None:
        descriptor = self._resolver.open(self.root_descriptor, path, O_PATH | SAFE_FLAGS)
        try:
            lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text("ascii").splitlines()
            return next((line for line in lines if line.startswith("mnt_id:")), None)
        finally:
            os.close(descriptor)

    def _is_plain(self, path: WorkspacePath) -> bool:
        """True if the system itself reports that no link is on the way or at the end."""
        try:
            return not is_link(self._resolver.stat(self.root_descriptor, path))
        except OSError as exc:
            return exc.errno == errno.ENOENT

    def _look(self, path: str) -> Obstacle | None:
        return self._resolver.obstacle(self.root_descriptor, path)


def _facts_of_regular(descriptor: int, path: WorkspacePath) -> os.stat_result:
    """Return the facts of a descriptor if it is a regular file's; close it and raise if not."""
    try:
        found = os.fstat(descriptor)
    except OSError as exc:  # such as ESTALE on a network file system
        os.close(descriptor)
        raise translate(path, exc) from exc
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise wrong_kind(path, found.st_mode)
    return found
