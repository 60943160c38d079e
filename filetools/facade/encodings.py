"""In which encoding an actor's text belongs: the one it named when it read the file, else what the bytes say."""

from __future__ import annotations

from filetools.content.facts import ContentFacts, inspect
from filetools.errors import EncodingError
from filetools.facade.look import Look, content_of, facts_of
from filetools.facade.parts import Parts
from filetools.models.records import Actor


def named_encoding(parts: Parts, key: str, actor: Actor) -> str | None:
    """Return the codec that an actor named for a path when it last read or wrote all or part of it."""
    known = parts.tracker.base(actor, key)
    return None if known is None else known.encoding


def facts_as_read(parts: Parts, seen: Look, actor: Actor) -> ContentFacts | None:
    """Return the facts of what a look saw, in the encoding that the actor reads it in; None as `facts_of`."""
    encoding = named_encoding(parts, seen.key, actor)
    if encoding is None or seen.stat is None or seen.facts is None:
        return facts_of(parts, seen)
    is_foreign = parts.tracker.changed_by_others(actor, seen.key, seen.version)
    return read_as(content_of(parts, seen), encoding, name=seen.path, is_foreign=is_foreign)


def read_as(content: bytes, encoding: str | None, *, name: str, is_foreign: bool = False) -> ContentFacts:
    """Return the facts of bytes in a named encoding; where they are not text of it, what they are without the name.

    Args:
        content: All bytes of the file.
        encoding: The codec; None finds out.
        name: Workspace-relative path.
        is_foreign: Whether somebody else has written them since the codec was named. Then a byte-order mark, or valid
            UTF-8, that says another text shows that the file was converted.
    """
    found, text = inspect(content, name=name)
    if encoding is None:
        return found
    try:
        named, named_text = inspect(content, name=name, encoding=encoding)
    except EncodingError:
        return found
    is_certain = found.bom or found.encoding == "utf-8"
    return found if is_foreign and is_certain and text != named_text else named
