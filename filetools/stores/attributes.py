"""Mode, owner, extended attributes and ACL of a file, carried over to its replacement by descriptor."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Final

_NOT_CARRIED: Final = frozenset({"security.capability", "security.ima", "security.evm"})
"""Rights granted to, or checksums of, the old bytes; the kernel drops them also when a file is written in place."""
_ACCESS_LIST: Final = "system.posix_acl_access"
_REFUSED: Final = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP})


def copy_attributes(live: int, wanted: os.stat_result, temporary: int, mode: int | None = None) -> os.stat_result:
    """Copy the live file's attributes to the temporary one, as far as permitted; returns its facts afterwards.

    If the group cannot be kept, its bits are set to those of others, so that no other group gains access.

    Args:
        live: Descriptor of the file to be replaced, open for reading.
        wanted: Its facts.
        temporary: Descriptor of its complete replacement, open for writing.
        mode: Permission bits to set instead of the live file's.

    Raises:
        OSError: No space for the attributes, or the mode could not be set.
    """
    present = os.fstat(temporary)
    bits = stat.S_IMODE(wanted.st_mode) if mode is None else mode
    is_changed = (wanted.st_uid, wanted.st_gid) != (present.st_uid, present.st_gid)
    if is_changed:
        bits &= _copy_owner(wanted, temporary, bits)
    is_changed = copy_extended(live, temporary) or is_changed
    if not is_changed and stat.S_IMODE(present.st_mode) == bits:
        return present
    # Last: writing and changing the owner clear the set-id bits, and an ACL rewrites the group's.
    os.fchmod(temporary, bits)
    return os.fstat(temporary)


def _copy_owner(wanted: os.stat_result, temporary: int, bits: int) -> int:
    """Set owner and group where permitted; return a mask of the bits that may stay."""
    with suppress(PermissionError):
        os.fchown(temporary, wanted.st_uid, wanted.st_gid)
        return 0o7777
    with suppress(PermissionError):
        os.fchown(temporary, -1, wanted.st_gid)
        return 0o777 if os.fstat(temporary).st_uid != wanted.st_uid else 0o7777
    return 0o707 | (bits & 0o007) << 3


def copy_extended(live: int, temporary: int) -> bool:
    """Make the extended attributes of the temporary file equal to the live one's; True if there were any.

    Raises:
        OSError: No space for them.
    """
    if not hasattr(os, "listxattr"):
        return False
    wanted = _names(live)
    # A default ACL of the folder where the temporary was made must not widen or narrow what the live file allows.
    is_inherited = _ACCESS_LIST not in wanted and _ACCESS_LIST in _names(temporary)
    if is_inherited:
        os.removexattr(temporary, _ACCESS_LIST)
    for name in wanted:
        if name not in _NOT_CARRIED:
            _copy_one(live, temporary, name)
    return is_inherited or bool(wanted)


def _names(descriptor: int) -> list[str]:
    try:
        return os.listxattr(descriptor)
    except OSError as exc:
        if exc.errno in _REFUSED:
            return []
        raise


def _copy_one(live: int, temporary: int, name: str) -> None:
    try:
        os.setxattr(temporary, name, os.getxattr(live, name))
    except OSError as exc:
        # ENODATA: removed since it was listed.
        if exc.errno not in (*_REFUSED, errno.ENODATA):
            raise
