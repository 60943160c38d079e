"""What dead processes left: temporary files are removed, and bytes that nobody has seen before become a version first."""

from __future__ import annotations

import logging

from filetools.content import version_of
from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.stores import Displaced

_log = logging.getLogger(__name__)


def sweep(parts: Parts) -> int:
    """Remove the leftovers of dead processes; returns how many. Call it in a worker thread, as the keeper."""
    removed = 0
    for leftover in parts.store.leftovers():
        try:
            removed += _remove(parts, leftover)
        except FileToolsError as exc:
            _log.warning("a temporary file stays for now: %s", exc)
    return removed


def _remove(parts: Parts, leftover: Displaced) -> int:
    if leftover.is_being_written():
        return 0
    content = leftover.read()
    version = version_of(content)
    if content and not parts.journal.contents.has(version):
        parts.journal.contents.keep(content, version)
    leftover.discard()
    return 1
