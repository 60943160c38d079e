"""Hints from inotify: one thread, one instance, one watch for each folder of the tree. Linux only.

Source: inotify(7).
"""

from __future__ import annotations

import errno
import logging
import os
import select
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from filetools.errors import FileToolsError, RateLimitedError
from filetools.paths.library import call_library
from filetools.paths.resolver import O_DIRECTORY, O_PATH
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.processes import abandon_in_child
from filetools.tree.hints import Agenda, FolderId

logger = logging.getLogger(__name__)

LIMIT_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors of the kernel when the user or the process has reached a limit."""
REST_SECONDS: Final = 0.005
"""Pause after each read. Every wake-up takes the interpreter from the writer, whose own writes are noticed too."""

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ROOT: Final = _DELETE_SELF | _MOVE_SELF | _UNMOUNT
_ONLY_FOLDERS, _NOT_UNLINKED = 0x1000000, 0x4000000
"""IN_ONLYDIR, and IN_EXCL_UNLINK: writes to an unlinked file do not matter."""
_FOLDER_MASK: Final = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS | _NOT_UNLINKED
)
_ROOT_MASK: Final = _FOLDER_MASK | _DELETE_SELF | _MOVE_SELF
_PARENT_MASK: Final = _DELETE | _MOVED_FROM | _ONLY_FOLDERS

_EVENT: Final = struct.Struct("iIII")
_READ_BYTES: Final = 65536


class InotifyThread(threading.Thread):
    """Turns the notices of the kernel into hints, from `start` to `close`. `add` may be called before.

    When notices were lost, it hints at everything, with the reason "overflow"; when the root may have been deleted or moved,
    or a file system was unmounted, with the reason "root": `Workspace.check_alive` checks whether the root is still there.

    Args:
        workspace: Opens the folders.
        agenda: Receives a hint for each notice.
        on_unable: Called when folders cannot be watched any more, with "limit" or "failed"; the caller should poll and
            close. Called in the thread of `add` or in this one, perhaps several times.

    Raises:
        OSError: EMFILE if the user has too many instances or the process too many files, ENOSPC if too many watches.
    """

    def __init__(self, workspace: Workspace, agenda: Agenda, *, on_unable: Callable[[str], None]) -> None:
        super().__init__(name="filetools inotify", daemon=True)
        self._workspace = workspace
        self._agenda = agenda
        self._on_unable = on_unable
        self._lock = threading.Lock()
        self._folders: dict[int, FolderId] = {}
        """By watch descriptor."""
        self._is_closing = False
        self._root_name = os.fsencode(os.path.basename(os.path.realpath(workspace.root)))
        self._ending = self._parent = -1
        self._descriptor = call_library("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._ending = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            # The root is held open, so the kernel sends no IN_DELETE_SELF for it; its parent folder reports the deletion.
            above = b"/proc/self/fd/%d/.." % workspace.root_descriptor
            with suppress(PermissionError):
                self._parent = call_library("inotify_add_watch", self._descriptor, above, _PARENT_MASK)
        except BaseException:
            self.abandon()
            raise
        abandon_in_child(self)

    def add(self, folder: WorkspacePath, *, hint: bool = True) -> bool:
        """Watch a folder, and hint at all of it unless it was watched already, under any path.

        Args:
            folder: The folder.
            hint: False if the caller hints at everything afterwards.

        Returns:
            False if it is not watched: it is gone, may not be read, the limit is reached, or this is closed.
        """
        try:
            # Without following links, and with O_PATH, which needs no permission to read the folder.
            held = self._workspace.open_descriptor(folder, O_PATH | O_DIRECTORY)
        except FileToolsError as exc:
            if isinstance(exc, RateLimitedError):
                self._on_unable("limit")
            return False  # gone, moved, or replaced: the look that finds it there adds it
        try:
            return self._add_held(held, _ROOT_MASK if folder.is_root else _FOLDER_MASK, hint=hint)
        except PermissionError:
            return False  # it cannot be compared either
        except OSError as exc:
            self._on_unable("limit" if exc.errno in LIMIT_ERRNOS else "failed")
            return False
        finally:
            os.close(held)

    def run(self) -> None:
        """Read notices until closed."""
        try:
            self._read_until_closed()
        except Exception:
            # The end of a thread: without this, watching would stop unnoticed.
            logger.exception("Watching failed")
            self._on_unable("failed")
        finally:
            self._release()

    def close(self) -> None:
        """End the thread and release the instance at once; may be called twice and from any thread."""
        with self._lock:
            self._is_closing = True
            if self._ending >= 0:
                os.eventfd_write(self._ending, 1)
        if not self.is_alive():
            self._release()
        elif threading.current_thread() is not self:
            self.join()

    def abandon(self) -> None:
        """Close the descriptors without a lock; for a forked child, where the instance would outlive its parent."""
        descriptors, self._descriptor, self._ending = (self._descriptor, self._ending), -1, -1
        for descriptor in descriptors:
            if descriptor >= 0:
                os.close(descriptor)

    def _add_held(self, held: int, mask: int, *, hint: bool) -> bool:
        found = os.fstat(held)
        folder = (found.st_dev, found.st_ino)
        with self._lock:
            if self._descriptor < 0:
                return False  # closed
            # Through the descriptor, so that watch and inode are of one folder even if it is renamed meanwhile. Without
            # IN_DONT_FOLLOW, because the name in /proc is a link.
            watch = call_library("inotify_add_watch", self._descriptor, b"/proc/self/fd/%d" % held, mask)
            is_new = self._folders.get(watch) != folder
            self._folders[watch] = folder
        if is_new and hint:
            # After the watch is set, and after its notices find the folder: names may have come before.
            self._agenda.hint(folder, None)
        return True

    def _read_until_closed(self) -> None:
        if self._is_closing:
            return  # closed before it was started
        notices = select.poll()
        notices.register(self._descriptor, select.POLLIN)
        notices.register(self._ending, select.POLLIN)
        while not self._is_closing:
            notices.poll()
            try:
                data = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                continue
            place = 0
            while place < len(data):
                watch, mask, _, size = _EVENT.unpack_from(data, place)
                place += _EVENT.size + size
                self._hear(watch, mask, data[place - size : place].rstrip(b"\0"))
            time.sleep(REST_SECONDS)

    def _hear(self, watch: int, mask: int, name: bytes) -> None:
        if mask & _OVERFLOW:
            self._agenda.hint_everything("overflow")
        elif mask & _IGNORED:
            with self._lock:
                self._folders.pop(watch, None)
        elif mask & _ROOT or (watch == self._parent and name == self._root_name):
            self._agenda.hint_everything("root")
        elif (folder := self._folders.get(watch)) and name != b"/":  # a nameless file, on some file systems
            # Without a folder, `_add_held` has not stored it yet, and hints at all of it next.
            self._agenda.hint(folder, os.fsdecode(name) or None)

    def _release(self) -> None:
        with self._lock:
            self.abandon()
