"""The floors: what the same work costs in bare system calls, without any duty. Correct, but safe against nothing."""

from __future__ import annotations

import itertools
import os

_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY
_numbers = itertools.count()


def read(path: str) -> str:
    """Open, read to the end, close, decode."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size).decode()
    finally:
        os.close(descriptor)


def read_bytes(path: str, size: int) -> bytes:
    """Open, read, close: three calls."""
    descriptor = os.open(path, os.O_RDONLY)
    content = os.read(descriptor, size)
    os.close(descriptor)
    return content


def write(path: str, text: str) -> None:
    """Encode, write a temporary file beside, rename it over the path."""
    temporary = f"{path}.{next(_numbers)}.tmp"
    _put(temporary, text.encode(), durable=False)
    os.replace(temporary, path)


def write_durably(path: str, text: str) -> None:
    """As `write`, with the file synced before the rename, and its folder after."""
    temporary = f"{path}.{next(_numbers)}.tmp"
    _put(temporary, text.encode(), durable=True)
    os.replace(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def write_both_durably(path: str, other: str, text: str) -> None:
    """Two durable writes by hand, one after the other: four syncs."""
    write_durably(path, text)
    write_durably(other, text)


def edit(path: str, old: str, new: str) -> None:
    """Read, replace, write the whole anew."""
    write(path, read(path).replace(old, new))


def _put(path: str, content: bytes, *, durable: bool) -> None:
    descriptor = os.open(path, _FLAGS, 0o644)
    os.write(descriptor, content)
    if durable:
        os.fsync(descriptor)
    os.close(descriptor)
