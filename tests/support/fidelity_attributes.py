"""The table of what a file has beside its bytes, and which operations keep it."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import filetools
from filetools import Actor
from tests.support.crashing import QUIET
from tests.support.fidelity import COLUMNS, ENDS, OPERATIONS, Case, text_of

PATH, SECOND = "file", "second"
KEPT: Final = "kept"
OWN: Final = "its own"
"""A copy is a new file: it takes over bytes and mode."""
REFUSED: Final = "SYMLINK_NOT_ALLOWED"
"""A patch that renames a link would change what the link leads to."""
_ACCESS: Final = "system.posix_acl_access"
RENAMING: Final = "`apply_patch` that renames, too"
_AFTER: Final = {"`copy_file`": f"{PATH}.copy", "`move_file`": f"{PATH}.moved", RENAMING: f"{PATH}.renamed"}


def access_list(user: int) -> bytes:
    """Return an access list in the kernel's form: owner rw, one more user r, the group r, a mask of rw, others nothing."""
    rows = [(0x01, 6, 0xFFFFFFFF), (0x02, 4, user), (0x04, 4, 0xFFFFFFFF), (0x10, 6, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One thing that a file has."""

    give: Callable[[Path], object]
    look: Callable[[Path], object]
    """What there is of it; the same before and after where it was kept."""


def _owner(place: Path) -> tuple[int, int]:
    found = place.stat()
    return found.st_uid, found.st_gid


def _extended(place: Path, name: str) -> bytes | None:
    return os.getxattr(place, name) if name in os.listxattr(place) else None


def _become_link(place: Path) -> None:
    place.rename(place.parent / SECOND)
    place.symlink_to(SECOND)


ATTRIBUTES: Final[dict[str, Attribute]] = {
    "mode": Attribute(give=lambda place: place.chmod(0o751), look=lambda place: stat.S_IMODE(place.stat().st_mode)),
    "owner and group": Attribute(give=lambda place: os.chown(place, 12345, 54321), look=_owner),
    "extended attributes": Attribute(
        give=lambda place: os.setxattr(place, "user.note", b"a\0b"), look=lambda place: _extended(place, "user.note")
    ),
    "access list": Attribute(
        give=lambda place: os.setxattr(place, _ACCESS, access_list(12345)),
        look=lambda place: (_extended(place, _ACCESS), place.stat().st_mode),
    ),
    "symbolic link": Attribute(
        give=_become_link,
        look=lambda place: place.is_symlink() and str(place.readlink()),
    ),
}


def is_supported(root: Path) -> bool:
    """Whether this process and this disk can have everything that the table is about."""
    probe = root / "probe"
    probe.touch()
    try:
        for name in ("owner and group", "extended attributes", "access list"):
            ATTRIBUTES[name].give(probe)
    except OSError:
        return False
    finally:
        probe.unlink()
    return True


async def verdicts(root: Path, name: str, operations: Iterable[str]) -> dict[str, str]:
    """Do each operation with a file of its own that has an attribute; returns what became of it."""
    column, attribute, found = COLUMNS["UTF-8"], ATTRIBUTES[name], {}
    text = text_of(column, "LF", has_final_end=True)
    async with filetools.open(root, settings={**QUIET, "follow_symlinks": name == "symbolic link"}) as opened:
        for number, operation in enumerate(operations):
            place = root / f"{number}" / PATH
            place.parent.mkdir()
            place.write_bytes(column.bytes_of(text))
            attribute.give(place)
            before = attribute.look(place)
            actors = [opened.for_actor(Actor(kind="agent", id=f"{one}{number}")) for one in ("ann", "bob")]
            path, ends = place.relative_to(root).as_posix(), ENDS["LF"]
            case = Case(files=actors[0], other=actors[1], root=root, path=path, column=column, ends=ends, text=text)
            try:
                is_done = await OPERATIONS[operation](case, f"{column.sample} there")
            except filetools.FileToolsError as exc:
                found[operation] = exc.code
            else:
                found[operation] = _verdict(operation, name, place, before, is_done=is_done)
    return found


def _verdict(operation: str, name: str, place: Path, before: object, *, is_done: bool) -> str:
    look = ATTRIBUTES[name].look
    if is_done and look(place.with_name(_AFTER.get(operation, PATH))) == before:
        return KEPT
    return OWN if operation == "`copy_file`" and is_done and look(place) == before else "lost"


def wanted(operation: str, name: str) -> str:
    """Return the verdict that is good."""
    if operation == "`copy_file`" and name != "mode":
        return OWN
    if operation == RENAMING and name == "symbolic link":
        return REFUSED
    return KEPT
