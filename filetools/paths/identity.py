"""Which spellings a root's file system takes for the same name, and the key that is equal for all of them."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROBE_NAME: Final = "probe-A-\u00e9"
_OTHER_CASE: Final = "probe-a-\u00e9"
_OTHER_FORM: Final = "probe-A-e\u0301"


@dataclass(frozen=True, slots=True)
class NameRules:
    """How a file system compares names. Lives as long as its workspace."""

    ignores_case: bool = False
    ignores_form: bool = False
    """Whether NFC and NFD spellings name the same file."""

    @property
    def is_exact(self) -> bool:
        """Whether each spelling is a file of its own."""
        return not (self.ignores_case or self.ignores_form)

    def key(self, path: str) -> str:
        """Return a text that is equal for all spellings of one path."""
        if self.ignores_form:
            path = unicodedata.normalize("NFC", path)
        if self.ignores_case:
            path = path.casefold()
            # Casefolding can leave a form that is not composed any more.
            path = unicodedata.normalize("NFC", path) if self.ignores_form else path
        return path


def probe_rules(directory: Path | None, device: int) -> NameRules:
    """Find out how the file system compares names, by one empty file kept in `directory`.

    The file stays: processes that probe at the same time must not take it from each other.

    Args:
        directory: The state directory, or None.
        device: Device of the root; a directory on another one tells nothing about it.

    Returns:
        What was found; exact comparison where nothing could be probed.
    """
    if directory is None:
        return NameRules()
    try:
        if os.lstat(directory).st_dev != device:
            return NameRules()
        probe = directory / _PROBE_NAME
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(probe, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            mine = os.fstat(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        return NameRules()
    return NameRules(_is_same(directory / _OTHER_CASE, mine), _is_same(directory / _OTHER_FORM, mine))


def _is_same(other: Path, mine: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(other), mine)
    except OSError:
        return False
