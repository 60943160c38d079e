"""Serving a `ForgetfulDisk` to the kernel: the FUSE protocol, as far as file tools and SQLite need it.

Source: Linux include/uapi/linux/fuse.h, protocol 7.38.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import stat
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.support.forgetful_disk import ROOT, ForgetfulDisk, Node, Slot

LARGEST_WRITE: Final = 128 * 1024
_FOREVER: Final = 3600
_SILENT: Final = frozenset({2, 36, 42})
"""FORGET, INTERRUPT, BATCH_FORGET: nobody waits for an answer."""
CHANGING: Final = frozenset({4, 6, 8, 9, 10, 11, 12, 13, 16, 20, 30, 35, 45, 51})
_NOREPLACE, _EXCHANGE = 1, 2
_INODES: Final = 2**63
"""Added to the numbers of nodes: some network file systems use all 64 bits."""
_libc = ctypes.CDLL(None, use_errno=True)


class PowerCutError(Exception):
    """The power is gone; nothing is answered any more."""


class Server:
    """One mount of a disk, in the mount namespace of this process."""

    def __init__(self, disk: ForgetfulDisk, place: Path) -> None:
        self.disk = disk
        self.place = place
        self.changes_left = -1
        """After how many changing calls the power goes; negative for never."""
        self.changes = 0
        self.descriptor = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.descriptor},rootmode=40000,user_id=0,group_id=0,allow_other"
        if _libc.mount(b"forgetful", os.fsencode(place), b"fuse.forgetful", 0, options.encode()) != 0:
            os.close(self.descriptor)
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def serve(self, also: dict[int, Callable[[], bool]]) -> None:
        """Answer until one of the other descriptors says that it is over.

        Args:
            also: What to do when another descriptor can be read; True ends it.

        Raises:
            PowerCutError: The power went.
        """
        poll = select.poll()
        for descriptor in (self.descriptor, *also):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self.descriptor:
                    self._answer()
                elif also[descriptor]():
                    return

    def close(self) -> None:
        """Take the disk away from whoever uses it."""
        os.close(self.descriptor)
        _libc.umount2(os.fsencode(self.place), 2)

    def _answer(self) -> None:
        request = os.read(self.descriptor, LARGEST_WRITE + 8192)
        _, opcode, unique, number = struct.unpack_from("<IIQQ", request)
        if opcode in CHANGING:
            self.changes += 1
            if self.changes_left == 0:
                raise PowerCutError
            self.changes_left -= 1
        try:
            handler = _HANDLERS.get(opcode, Server._unknown)
            answer, error = handler(self, number, request[40:]), 0
        except OSError as exc:
            answer, error = b"", -(exc.errno or errno.EIO)
        if opcode not in _SILENT:
            with suppress(FileNotFoundError):  # whoever asked was killed
                os.write(self.descriptor, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)

    def _init(self, _number: int, _body: bytes) -> bytes:
        flags = 8 | 32 | 1 << 22  # O_TRUNC with open, large writes, many pages in one
        return struct.pack("<IIIIHHIIHHI28x", 7, 38, 131072, flags, 16, 12, LARGEST_WRITE, 1, 32, 0, 0)

    def _node(self, number: int) -> Node:
        return self.disk.nodes[number]

    def _attributes(self, node: Node) -> bytes:
        size = len(node.data)
        times = [divmod(each, 10**9) for each in (node.modified_ns, node.modified_ns, node.changed_ns)]
        return struct.pack(
            "<6Q10I", _INODES + node.number, size, (size + 511) // 512, *(each[0] for each in times),
            *(each[1] for each in times), node.mode, node.links + (2 if node.is_folder else 0), 0, 0, 0, 4096, 0,
        )  # fmt: skip

    def _entry(self, node: Node) -> bytes:
        return struct.pack("<QQQQII", node.number, 0, _FOREVER, 0, 0, 0) + self._attributes(node)

    def _lookup(self, number: int, body: bytes) -> bytes:
        return self._entry(self._node(self._child(number, _names(body)[0])))

    def _child(self, number: int, name: str) -> int:
        found = self._node(number).names.get(name)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "")
        return found

    def _getattr(self, number: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._attributes(self._node(number))

    def _setattr(self, number: int, body: bytes) -> bytes:
        valid, _, _, size, _, _, seconds, _, _, nanoseconds, _, mode = struct.unpack_from("<II6Q4I", body)[:12]
        node = self._node(number)
        if valid & 1:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        if valid & 8:
            self.disk.cut_short(node, size)
        node.touch()
        if valid & 32 and not valid & 256:
            node.modified_ns = seconds * 10**9 + nanoseconds
        return self._getattr(number, b"")

    def _make(self, number: int, name: str, mode: int) -> Node:
        if name in self._node(number).names:
            raise FileExistsError(errno.EEXIST, "")
        self._require_room(0)
        node = self.disk.new_node(mode)
        self.disk.rename({(number, name): node.number})
        return node

    def _require_room(self, size: int) -> None:
        if self.disk.capacity < 1 << 40 and self.disk.used + size > self.disk.capacity:
            raise OSError(errno.ENOSPC, "")

    def _mkdir(self, number: int, body: bytes) -> bytes:
        mode, mask = struct.unpack_from("<II", body)
        return self._entry(self._make(number, _names(body[8:])[0], stat.S_IFDIR | mode & ~mask))

    def _mknod(self, number: int, body: bytes) -> bytes:
        mode, _, mask = struct.unpack_from("<III", body)
        return self._entry(self._make(number, _names(body[16:])[0], mode & ~mask))

    def _create(self, number: int, body: bytes) -> bytes:
        _, mode, mask = struct.unpack_from("<III", body)
        node = self._make(number, _names(body[16:])[0], stat.S_IFREG | mode & ~mask & 0o7777)
        return self._entry(node) + struct.pack("<QII", 0, 0, 0)

    def _tmpfile(self, _number: int, body: bytes) -> bytes:
        _, mode, mask = struct.unpack_from("<III", body)
        node = self.disk.new_node(stat.S_IFREG | mode & ~mask & 0o7777)
        return self._entry(node) + struct.pack("<QII", 0, 0, 0)

    def _remove(self, number: int, body: bytes) -> bytes:
        name = _names(body)[0]
        node = self._node(self._child(number, name))
        if node.names:
            raise OSError(errno.ENOTEMPTY, "")
        self.disk.rename({(number, name): None})
        return b""

    def _rename(self, number: int, body: bytes) -> bytes:
        return self._rename_as(number, struct.unpack_from("<Q", body)[0], 0, _names(body[8:]))

    def _rename2(self, number: int, body: bytes) -> bytes:
        target, flags = struct.unpack_from("<QI", body)
        return self._rename_as(number, target, flags, _names(body[16:]))

    def _rename_as(self, number: int, target: int, flags: int, names: list[str]) -> bytes:
        old, new = names
        moved, standing = self._child(number, old), self._node(target).names.get(new)
        if flags & _NOREPLACE and standing is not None:
            raise FileExistsError(errno.EEXIST, "")
        if flags & _EXCHANGE and standing is None:
            raise FileNotFoundError(errno.ENOENT, "")
        if standing is not None and not flags & _EXCHANGE and self._node(standing).names:
            raise OSError(errno.ENOTEMPTY, "")
        slots: dict[Slot, int | None] = {(number, old): standing if flags & _EXCHANGE else None, (target, new): moved}
        self.disk.rename(slots)
        return b""

    def _link(self, number: int, body: bytes) -> bytes:
        linked, name = struct.unpack_from("<Q", body)[0], _names(body[8:])[0]
        if name in self._node(number).names:
            raise FileExistsError(errno.EEXIST, "")
        self.disk.rename({(number, name): linked})
        return self._entry(self._node(linked))

    def _open(self, number: int, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("<I", body)
        if flags & os.O_TRUNC:
            self.disk.cut_short(self._node(number), 0)
        return struct.pack("<QII", 0, 2, 0)  # what the kernel has read stays valid

    def _opendir(self, _number: int, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def _read(self, number: int, body: bytes) -> bytes:
        _, place, size = struct.unpack_from("<QQI", body)
        return bytes(self._node(number).data[place : place + size])

    def _write(self, number: int, body: bytes) -> bytes:
        _, place, size = struct.unpack_from("<QQI", body)
        self._require_room(size)
        self.disk.write(self._node(number), place, body[40 : 40 + size])
        return struct.pack("<II", size, 0)

    def _fsync(self, number: int, _body: bytes) -> bytes:
        self.disk.sync(self._node(number))
        return b""

    def _readdir(self, number: int, body: bytes) -> bytes:
        _, place, size = struct.unpack_from("<QQI", body)
        names = {".": number, "..": ROOT, **self._node(number).names}
        listed = b""
        for at, (name, child) in list(enumerate(names.items(), 1))[place:]:
            encoded = os.fsencode(name)
            entry = (
                struct.pack("<QQII", _INODES + child, at, len(encoded), stat.S_IFMT(self._node(child).mode) >> 12)
                + encoded
            )
            entry += bytes(-len(entry) % 8)
            if len(listed) + len(entry) > size:
                break
            listed += entry
        return listed

    def _statfs(self, _number: int, _body: bytes) -> bytes:
        free = max(0, self.disk.capacity - self.disk.used) // 4096
        return struct.pack("<5Q4I24x", 1 << 30, free, free, 1 << 20, 1 << 20, 4096, 255, 4096, 0)

    def _unknown(self, _number: int, _body: bytes) -> bytes:
        raise OSError(errno.ENOSYS, "")

    def _nothing(self, _number: int, _body: bytes) -> bytes:
        return b""


def _names(body: bytes) -> list[str]:
    return [os.fsdecode(name) for name in body.split(b"\0")[:-1]]


_HANDLERS: Final[dict[int, Callable[[Server, int, bytes], bytes]]] = {
    1: Server._lookup, 2: Server._nothing, 3: Server._getattr, 4: Server._setattr, 8: Server._mknod, 9: Server._mkdir,
    10: Server._remove, 11: Server._remove, 12: Server._rename, 13: Server._link, 14: Server._open, 15: Server._read,
    16: Server._write, 17: Server._statfs, 18: Server._nothing, 20: Server._fsync, 25: Server._nothing, 26: Server._init,
    27: Server._opendir, 28: Server._readdir, 29: Server._nothing, 30: Server._fsync, 35: Server._create,
    36: Server._nothing, 42: Server._nothing, 45: Server._rename2, 51: Server._tmpfile,
}  # fmt: skip
