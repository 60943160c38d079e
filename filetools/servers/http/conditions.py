"""Conditional requests and byte ranges (RFC 9110, sections 13 and 14). Entity tags are versions."""

from __future__ import annotations

import re
from typing import Final

from fastapi import Request
from msgspec import Struct

from filetools.servers.http.problems import Refusal

_TAG: Final = re.compile(r'\s*+(W/)?"([\x21\x23-\x7e\x80-\xff]*+)"\s*+')
_TAGS: Final = re.compile(f"{_TAG.pattern}(?:,{_TAG.pattern})*+")
MOST_TAGS: Final = 100


def etag(version: str) -> str:
    """Return the entity tag of a version."""
    return f'"{version}"'


Tags = frozenset[str]
"""The entity tags of one condition, in quotes, weak ones with `W/` before them; `*` matches any version."""


def _match(tags: Tags | None, version: str | None, *, weakly: bool = False) -> bool:
    """Return True if a tag matches the version; None means that there is no file."""
    if tags is None or version is None:
        return False
    tag = etag(version)
    return not tags.isdisjoint({"*", tag, f"W/{tag}"} if weakly else {"*", tag})


class Conditions(Struct, frozen=True):
    """The conditions of one request."""

    if_match: Tags | None
    if_none_match: Tags | None

    @property
    def are_given(self) -> bool:
        """True if the request has at least one condition."""
        return self.if_match is not None or self.if_none_match is not None

    def require(self, version: str | None) -> None:
        """Check the conditions of a change against the current version; None means that there is no file.

        Raises:
            Refusal: 412, a condition is not met.
        """
        if self.if_match is not None and not _match(self.if_match, version):
            raise _failed("If-Match", version)
        if _match(self.if_none_match, version, weakly=True):
            raise _failed("If-None-Match", version)

    def is_unmodified(self, version: str) -> bool:
        """Return True if the client already has this version, so that the response is 304."""
        return _match(self.if_none_match, version, weakly=True)


def conditions_of(request: Request) -> Conditions:
    """Return the conditions of a request.

    Raises:
        Refusal: A condition is malformed; ignoring it would overwrite what it protects.
    """
    return Conditions(_tags(request, "If-Match"), _tags(request, "If-None-Match"))


def _tags(request: Request, name: str) -> Tags | None:
    lines = request.headers.getlist(name)
    if not lines:
        return None
    text = ",".join(lines)
    if text.strip() == "*":
        return Tags("*")
    if text.count('"') > 2 * MOST_TAGS or not _TAGS.fullmatch(text):
        raise Refusal(400, "MALFORMED_REQUEST", f"{name} must be '*' or a list of versions in quotes")
    # Only after the full match, or runs of blanks would be scanned repeatedly.
    return Tags(f'{weak}"{tag}"' for weak, tag in _TAG.findall(text))


def _failed(header: str, version: str | None) -> Refusal:
    now = "the file does not exist" if version is None else f"the file is at {version}"
    return Refusal(
        412, "VERSION_MISMATCH", f"{header} is not met: {now}", more={"details": {"current_version": version}}
    )


# Not \d, which also matches digits of other scripts. At most 18 digits keep the numbers below 2**63.
_ONE_RANGE: Final = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.IGNORECASE)


def asked_range(request: Request, version: str, size: int) -> range | None:
    """Return the offsets of the requested bytes; None means the whole file, also if the range header is not supported.

    Raises:
        Refusal: 416, the range lies outside the file.
    """
    match = _ONE_RANGE.fullmatch(request.headers.get("range", ""))
    if match is None or request.headers.get("if-range", etag(version)).strip() != etag(version):
        return None
    first, last = match.groups()
    if (not first and not last) or (first and last and int(last) < int(first)):
        return None
    part = range(int(first), min(int(last or size) + 1, size)) if first else range(max(0, size - int(last)), size)
    if not part:
        raise Refusal(416, "RANGE_NOT_SATISFIABLE", f"The file has {size} bytes", {"Content-Range": f"bytes */{size}"})
    return part
