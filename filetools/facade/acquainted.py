"""Whether a writer knows what it is about to replace, where the call or its door demands that."""

from __future__ import annotations

from filetools.errors import VersionMismatchError
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps import unsaved_text
from filetools.models import Actor


def require_acquaintance(parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> None:
    """Refuse to replace a file by a text whose writer does not say, or did not get to know, what stands there.

    Raises:
        VersionMismatchError: The version of what a read returns now is in its details.
    """
    if seen.stat is None or request.expected_version is not None:
        return
    if request.require_version:
        _refuse(
            parts,
            seen,
            "it exists already, and replacing it needs expected_version, so that nobody's newer text is lost",
        )
    if request.require_read:
        stamp = parts.knowledge.stamp(actor, seen.key)
        if stamp is None or not stamp.is_whole:
            _refuse(parts, seen, "you have not read all of it; read the whole file first")


def _refuse(parts: Parts, seen: Look, reason: str) -> None:
    opened = unsaved_text(parts, seen)
    current = seen.version if opened is None else parts.documents.texts.bytes_of(opened)[1]
    raise VersionMismatchError(seen.path, None, current, reason=f"{reason}; it is at {current}")
