"""Opens a path below a root without following links: with openat2, or name by name.

Source: openat2(2), Linux 5.6; RESOLVE_CACHED since 5.12.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from functools import cache
from typing import Final

from msgspec import Struct

O_PATH: Final[int] = getattr(os, "O_PATH", 0)
O_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
O_NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
O_NOCTTY: Final[int] = getattr(os, "O_NOCTTY", 0)
SAFE_FLAGS: Final[int] = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
READ_FLAGS: Final = os.O_RDONLY | O_NONBLOCK | O_NOCTTY | SAFE_FLAGS
"""Never waits for a pipe or a device."""
FOLDER_FLAGS: Final = os.O_RDONLY | O_DIRECTORY | SAFE_FLAGS
NEW_FILE_FLAGS: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | SAFE_FLAGS
OPEN_OR_NEW: Final = os.O_RDWR | os.O_CREAT | SAFE_FLAGS
"""Opens a file, and makes it if it is missing."""


class Obstacle(Struct, frozen=True):
    """The first component of a path that is not a folder, or the last one."""

    path: str
    """Its path, relative to the root."""
    mode: int
    """File type and permission bits."""
    is_link: bool
    """True if it is a symbolic link or, on Windows, another reparse point."""
    target: str | None = None
    """Target of the link."""


def is_link(found: os.stat_result) -> bool:
    """True if `lstat` found a symbolic link or, on Windows, another reparse point such as a junction."""
    attributes: int = getattr(found, "st_file_attributes", 0)
    return stat.S_ISLNK(found.st_mode) or bool(attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT)


_STEP_FLAGS: Final = (O_PATH or os.O_RDONLY) | O_DIRECTORY | SAFE_FLAGS


class Resolver:
    """Opens paths below a root, never through a link: each folder relative to the one before. Keeps nothing of the tree."""

    __slots__ = ()

    def open(self, root: int, path: str, flags: int) -> int:
        """Open `path` ("" is the root) relative to the descriptor `root`.

        Args:
            root: Descriptor of the root directory.
            path: Normalised path.
            flags: As for `os.open`, with the flags that refuse links already added.

        Raises:
            OSError: Untranslated. A link on the way gives ELOOP or ENOTDIR.
        """
        if not path:
            return os.open(".", flags, dir_fd=root)
        parent, name = _descend(root, path)
        try:
            return os.open(name, flags, dir_fd=parent)
        finally:
            if parent != root:
                os.close(parent)

    def open_cached(self, root: int, path: str, flags: int) -> int | None:
        """As `open`, but only if the kernel has every name in memory; None if not, or if that is unknown, as here."""
        return None

    def stat(self, root: int, path: str) -> os.stat_result:
        """Return the facts of the entry at a path; a link at its end is not followed.

        Raises:
            OSError: As for `open`.
        """
        return self.look(root, path)[0] if path else os.fstat(root)

    def look(self, root: int, path: str) -> tuple[os.stat_result, str | None]:
        """Return the facts of the entry at a path that is not the root, and the target of a link there.

        Raises:
            OSError: As for `open`.
        """
        parent, name = _descend(root, path)
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            return found, os.readlink(name, dir_fd=parent) if stat.S_ISLNK(found.st_mode) else None
        finally:
            if parent != root:
                os.close(parent)

    def obstacle(self, root: int, path: str) -> Obstacle | None:
        """Find, without following links, the first component that is not a folder, or else the last one.

        Returns:
            That component, or None if a name before it does not exist.

        Raises:
            OSError: Untranslated; access was denied.
        """
        names = path.split("/")
        for depth in range(1, len(names) + 1):
            part = "/".join(names[:depth])
            try:
                found, target = self.look(root, part)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if depth == len(names) or is_link(found) or not stat.S_ISDIR(found.st_mode):
                return Obstacle(part, found.st_mode, is_link(found), target)
        return None


def _descend(root: int, path: str) -> tuple[int, str]:
    """Return a descriptor of the folder that holds `path` (the root's own if that is it), and the last name."""
    *folders, name = path.split("/")
    held = root
    try:
        for folder in folders:
            step = os.open(folder, _STEP_FLAGS, dir_fd=held)
            if held != root:
                os.close(held)
            held = step
    except BaseException:
        if held != root:
            os.close(held)
        raise
    return held, name


_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_NO_SYMLINKS: Final = 0x04
_RESOLVE_BENEATH: Final = 0x08
_RESOLVE_CACHED: Final = 0x20
_RESOLVE: Final = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS

_SYSCALL_NUMBER: Final = 437
_MACHINES: Final = frozenset(
    ("x86_64", "aarch64", "i686", "armv7l", "armv8l", "riscv64", "ppc64le", "ppc64", "s390x", "loongarch64")
)
"""Machines on which the number is known; alpha and MIPS have others."""
_KERNEL_PATH_BYTES: Final = 4096
"""PATH_MAX: with its final NUL a path must fit in here."""
_TRIES: Final = 128
_AGAIN: Final = frozenset((errno.EINTR, errno.EAGAIN, errno.EXDEV))
"""Errors that pass: EAGAIN, a name on the way was renamed and the kernel could not prove that it stayed beneath;
EXDEV, the file was moved out of the root at this moment (".." and links, its other causes, do not reach that far)."""
_ENCODING: Final = sys.getfilesystemencoding()


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW_BYTES: Final = ctypes.sizeof(_OpenHow)


@cache
def _how(flags: int, resolve: int) -> object:
    """Return a pointer to the record of a kind of opening, which the kernel only reads: threads may share it."""
    return ctypes.byref(_OpenHow(flags, 0, resolve))


class Openat2Resolver(Resolver):
    """Resolver that leaves the whole resolution to the kernel."""

    __slots__ = ("_syscall",)

    def __init__(self) -> None:
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        syscall.restype = ctypes.c_long
        syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
        self._syscall = syscall

    @classmethod
    def probe(cls, root: int) -> Openat2Resolver | None:
        """Return a resolver, or None if the kernel or a seccomp filter does not offer the call.

        Args:
            root: Descriptor of a directory to try it on.
        """
        if sys.platform != "linux" or os.uname().machine not in _MACHINES:
            return None
        resolver = cls()
        try:
            os.close(resolver.open(root, "", O_PATH | O_DIRECTORY | SAFE_FLAGS))
        except OSError:
            # ENOSYS from an old kernel, EPERM (some sandboxes: EACCES) from a filter: the base class needs neither.
            return None
        return resolver

    def open(self, root: int, path: str, flags: int) -> int:
        """Open `path` beneath `root` in one call; see `Resolver.open`."""
        encoded = path.encode(_ENCODING, "surrogateescape") or b"."
        if len(encoded) >= _KERNEL_PATH_BYTES:
            return super().open(root, path, flags)
        how, error = _how(flags, _RESOLVE), errno.EAGAIN
        for _ in range(_TRIES):
            descriptor: int = self._syscall(_SYSCALL_NUMBER, root, encoded, how, _HOW_BYTES)
            if descriptor >= 0:
                return descriptor
            error = ctypes.get_errno()
            if error not in _AGAIN:
                break
        # EXDEV is hidden from the caller, for whom it would mean another file system.
        error = errno.EAGAIN if error == errno.EXDEV else error
        raise OSError(error, os.strerror(error))

    def open_cached(self, root: int, path: str, flags: int) -> int | None:
        """Open `path` if that needs no waiting; see `Resolver.open_cached`."""
        encoded = path.encode(_ENCODING, "surrogateescape") or b"."
        if len(encoded) >= _KERNEL_PATH_BYTES:
            return None
        how = _how(flags, _RESOLVE | _RESOLVE_CACHED)
        descriptor: int = self._syscall(_SYSCALL_NUMBER, root, encoded, how, _HOW_BYTES)
        if descriptor >= 0:
            return descriptor
        error = ctypes.get_errno()
        if error in _AGAIN or error == errno.EINVAL:  # Linux before 5.12 does not know the flag
            return None
        raise OSError(error, os.strerror(error))

    def stat(self, root: int, path: str) -> os.stat_result:
        """Look through a descriptor without access rights (O_PATH); see `Resolver.stat`."""
        if "/" not in path:  # no folder on the way could be a link
            return os.stat(path, dir_fd=root, follow_symlinks=False) if path else os.fstat(root)
        descriptor = self.open(root, path, O_PATH | SAFE_FLAGS)
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)
