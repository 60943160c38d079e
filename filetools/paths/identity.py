"""Which spellings a root's file system takes for the same name, and the key that is equal for all of them."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filetools.paths.resolver import O_DIRECTORY, O_NONBLOCK, SAFE_FLAGS

_PROBE_NAME: Final = "probe-A-\u00e9"
_OTHER_CASE: Final = "probe-a-\u00e9"
_OTHER_FORM: Final = "probe-A-e\u0301"


@dataclass(frozen=True, slots=True)
class NameRules:
    """How a file system compares names. Lives as long as its workspace."""

    ignores_case: bool = False
    ignores_form: bool = False
    """Whether NFC and NFD spellings name the same file."""

    def key(self, path: str) -> str:
        """Return a text that is equal for all spellings of one path."""
        if self.ignores_form:
            path = unicodedata.normalize("NFC", path)
        if self.ignores_case:
            path = path.casefold()
            # Casefolding can leave a form that is not composed any more.
            path = unicodedata.normalize("NFC", path) if self.ignores_form else path
        return path


def probe_rules(directory: Path, device: int) -> NameRules:
    """Find out how a file system compares names, by one empty file kept in `directory`.

    The file stays: processes that probe at the same time must not take it from each other.

    Args:
        directory: The state directory; nothing is created unless it exists and is no link.
        device: Device of the root; a directory on another one tells nothing about it.

    Returns:
        What was found; exact comparison where nothing could be probed.
    """
    if os.name == "nt":
        return NameRules(ignores_case=True)
    try:
        # By descriptor and without following: a cloned repository may hold a link of this name.
        held = os.open(directory, os.O_RDONLY | O_DIRECTORY | SAFE_FLAGS)
    except OSError:
        return NameRules()
    try:
        return _probe(held) if os.fstat(held).st_dev == device else NameRules()
    except OSError:
        return NameRules()
    finally:
        os.close(held)


def _probe(directory: int) -> NameRules:
    flags = os.O_CREAT | os.O_RDWR | O_NONBLOCK | SAFE_FLAGS
    os.close(os.open(_PROBE_NAME, flags, 0o600, dir_fd=directory))
    mine = os.stat(_PROBE_NAME, dir_fd=directory, follow_symlinks=False)
    return NameRules(_is_same(directory, _OTHER_CASE, mine), _is_same(directory, _OTHER_FORM, mine))


def _is_same(directory: int, other: str, mine: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(other, dir_fd=directory, follow_symlinks=False), mine)
    except OSError:
        return False
