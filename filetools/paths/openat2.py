"""Opening beneath a root in one system call, which no exchange of names can lead outside.

Source: openat2(2), Linux 5.6; RESOLVE_CACHED since 5.12.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import Final

from filetools.paths.resolver import O_DIRECTORY, O_PATH, SAFE_FLAGS, Obstacle
from filetools.paths.walk import WalkResolver, find_obstacle

_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_NO_SYMLINKS: Final = 0x04
_RESOLVE_BENEATH: Final = 0x08
_RESOLVE_CACHED: Final = 0x20
_RESOLVE: Final = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS

_SYSCALL_NUMBER: Final = 437
_MACHINES: Final = frozenset(
    ("x86_64", "aarch64", "i686", "armv7l", "armv8l", "riscv64", "ppc64le", "ppc64", "s390x", "loongarch64")
)
"""Machines on which the number is known; alpha and MIPS count differently."""
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


class Openat2Resolver:
    """Resolver that leaves the whole way to the kernel. Lives as long as its workspace."""

    __slots__ = ("_hows", "_longer", "_syscall", "has_cached")

    def __init__(self) -> None:
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        syscall.restype = ctypes.c_long
        syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
        self._syscall = syscall
        self._hows: dict[tuple[int, int, int], object] = {}
        self._longer = WalkResolver()
        self.has_cached = False

    @classmethod
    def probe(cls, root: int) -> Openat2Resolver | None:
        """Return a resolver, or None where the kernel or a seccomp filter does not offer the call.

        Args:
            root: Descriptor of a directory to try it on.
        """
        if sys.platform != "linux" or platform.machine() not in _MACHINES:
            return None
        resolver = cls()
        try:
            os.close(resolver.open(root, "", O_PATH | O_DIRECTORY | SAFE_FLAGS, 0))
        except OSError:
            # ENOSYS from an old kernel, EPERM (some sandboxes: EACCES) from a filter: the walk needs neither.
            return None
        resolver.has_cached = resolver._probe_cached(root)
        return resolver

    def _probe_cached(self, root: int) -> bool:
        try:
            descriptor = self._call(root, b".", O_DIRECTORY | SAFE_FLAGS, 0, _RESOLVE | _RESOLVE_CACHED, tries=1)
        except BlockingIOError:
            return True
        except OSError:
            return False
        os.close(descriptor)
        return True

    def open(self, root: int, path: str, flags: int, mode: int) -> int:
        """Open `path` beneath `root` in one call; see `Resolver.open`."""
        encoded = path.encode(_ENCODING, "surrogateescape") or b"."
        if len(encoded) >= _KERNEL_PATH_BYTES:
            return self._longer.open(root, path, flags, mode)
        return self._call(root, encoded, flags, mode, _RESOLVE)

    def open_cached(self, root: int, path: str, flags: int) -> int | None:
        """Open `path` if that needs no waiting; see `Resolver.open_cached`."""
        encoded = path.encode(_ENCODING, "surrogateescape") or b"."
        if not self.has_cached or len(encoded) >= _KERNEL_PATH_BYTES:
            return None
        # Not through `_call`, which would add a tenth to what reading a small file costs.
        how = self._how(flags, 0, _RESOLVE | _RESOLVE_CACHED)
        descriptor: int = self._syscall(_SYSCALL_NUMBER, root, encoded, how, _HOW_BYTES)
        if descriptor >= 0:
            return descriptor
        error = ctypes.get_errno()
        if error in _AGAIN:
            return None
        raise OSError(error, os.strerror(error))

    def stat(self, root: int, path: str) -> os.stat_result:
        """Look through a descriptor that gives no access; see `Resolver.stat`."""
        if path and "/" not in path:
            return os.stat(path, dir_fd=root, follow_symlinks=False)  # there is no way on which a link could stand
        descriptor = self.open(root, path, O_PATH | SAFE_FLAGS, 0)
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def obstacle(self, root: int, path: str) -> Obstacle | None:
        """Look at each component in turn; see `Resolver.obstacle`."""
        return find_obstacle(root, path)

    def _call(self, root: int, path: bytes, flags: int, mode: int, resolve: int, *, tries: int = _TRIES) -> int:
        how = self._how(flags, mode, resolve)
        error = errno.EAGAIN
        for _ in range(tries):
            descriptor: int = self._syscall(_SYSCALL_NUMBER, root, path, how, _HOW_BYTES)
            if descriptor >= 0:
                return descriptor
            error = ctypes.get_errno()
            if error not in _AGAIN:
                break
        # EXDEV is kept from the caller, for whom it would mean another file system.
        error = errno.EAGAIN if error == errno.EXDEV else error
        raise OSError(error, os.strerror(error))

    def _how(self, flags: int, mode: int, resolve: int) -> object:
        """Return a pointer to the record of a kind of opening."""
        key = (flags, mode, resolve)
        how = self._hows.get(key)
        if how is None:
            # The kernel only reads it, so that threads may share one record for each kind of opening.
            how = self._hows[key] = ctypes.byref(_OpenHow(flags, mode, resolve))
        return how
