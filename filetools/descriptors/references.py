"""References: parts of a reply that a model marks with `<ref id="…">…</ref>`, to be used later by their name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# Possessive: each part of a tag is read once, so that a text of opened tags takes time in proportion to its length.
_TAG: Final = re.compile(
    r"""<ref(?P<attributes>(?:\s++[^\s=<>"'/]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'))?+)*+)\s*+(?P<closed>/?)>|</ref\s*+>"""
)
_ATTRIBUTE: Final = re.compile(r"""\s++([^\s=<>"'/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A marked part of a text."""

    id: str
    content: str
    """Exactly what stands between the tags, inner tags included."""


def find_references(text: str) -> list[Reference]:
    """Return the references of a text in the order in which they are closed.

    Tags without a partner or without an id, and those closed in themselves, are no references and hide none.
    """
    found: list[Reference] = []
    opened: list[tuple[str, int]] = []
    for tag in _TAG.finditer(text):
        if tag["attributes"] is None:
            if opened:
                name, start = opened.pop()
                if name:
                    found.append(Reference(id=name, content=text[start : tag.start()]))
        elif not tag["closed"]:
            opened.append((_id_of(tag["attributes"]), tag.end()))
    return found


def _id_of(attributes: str) -> str:
    """Return the id among the attributes of a tag; empty if there is none that counts."""
    for name, double, single in _ATTRIBUTE.findall(attributes):
        if name == "id":
            value: str = double or single
            return "" if '"' in value or "'" in value else value
    return ""
