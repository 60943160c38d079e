"""Names that file systems may treat as equal, names that some systems cannot hold, and names made safe to show."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.printable import encodable, printable
from filetools.settings import STATE_DIRECTORY

_HFS_IGNORABLE: Final = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_STATE_SHORT_NAME: Final = re.compile(r"fileto~\d+")
_WINDOWS_FORBIDDEN: Final = re.compile(r'[<>:"|?*\x00-\x1f]')
_WINDOWS_RESERVED: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[1-9\u00b9\u00b2\u00b3]) *(?:\.|$)", re.I
)


def fold_name(name: str) -> str:
    """Return the form in which names are compared if a rule must hold on every file system.

    Case and composition are folded; code points that HFS+ ignores, an NTFS stream suffix, and trailing dots and blanks
    are removed.

    Args:
        name: One segment of a path.

    Source: git, `utf8.c` (next_hfs_char) and `path.c` (is_ntfs_dotgit).
    """
    if not name.isascii():
        name = unicodedata.normalize("NFC", name.translate(_HFS_IGNORABLE))
    return name.partition(":")[0].rstrip(" .").casefold()


def is_state_name(name: str) -> bool:
    """True if some file system takes this segment for the state directory, including its 8.3 short name."""
    if name.isascii() and not name.startswith((".", "f", "F")):
        # No folding changes how an ASCII name begins; most names end here.
        return False
    folded = fold_name(name)
    return folded == STATE_DIRECTORY or _STATE_SHORT_NAME.fullmatch(folded) is not None


def windows_refusal(name: str) -> str | None:
    """Return why Windows does not allow a file of this name; None if it does.

    Source: Microsoft, "Naming Files, Paths, and Namespaces"; `ntpath.isreserved` of Python 3.13.
    """
    if _WINDOWS_RESERVED.match(name):
        return "a name that Windows reserves for a device"
    if name.endswith((" ", ".")):
        return "Windows drops a trailing dot or blank"
    if _WINDOWS_FORBIDDEN.search(name):
        return "a character that Windows does not allow in names"
    return None


def escaped(name: str) -> str:
    r"""Return a readable form of a name that cannot be written as a path: `\\` for a backslash, `\xff` for a byte."""
    return encodable(name.replace("\\", "\\\\"))


def require_printable(what: str, name: str) -> None:
    """Refuse a name that must be escaped when it is shown.

    Raises:
        InvalidArgumentError: It must be escaped.
    """
    if (shown := printable(name)) != name:
        raise InvalidArgumentError(f"{what} cannot contain control characters or direction marks: '{shown}'")
