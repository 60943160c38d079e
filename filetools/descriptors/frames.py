"""Frames: what a model sees of a descriptor, as XML text and as equivalent JSON."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from msgspec import Struct, field

_INNER: Final = ("message", "preview", "content")
_IN_ATTRIBUTES: Final = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


class Frame(Struct, frozen=True, kw_only=True):
    """One answer about a descriptor."""

    name: str
    """Name of its XML element: fd_result, fd_content, fd_extraction, fd_file_result or fd_error."""
    attributes: Mapping[str, str | int | bool] = field(default_factory=dict)
    """In order; with `body` "xml" the quoted text is escaped."""
    message: str | None = None
    preview: str | None = None
    """The first page, in an fd_result."""
    content: str | None = None
    """The text, in an fd_content."""

    def text(self) -> str:
        """Return the frame as XML."""
        body = self.preview if self.content is None else self.content
        quoted, is_cdata = _quoted(body or "", self.name, self.attributes.get("body") == "xml")
        attributes = {**self.attributes, **({"body": "cdata"} if is_cdata else {})}
        start = "".join([f"<{self.name}", *(f' {name}="{attribute(each)}"' for name, each in attributes.items()), ">"])
        message = [] if self.message is None else [f"  <message>{escape(self.message, quote=False)}</message>"]
        inner = [quoted] if self.content is not None else ["  <preview>", f"  {quoted}", "  </preview>"]
        return "\n".join([start, *message, *(inner if body is not None else ()), f"</{self.name}>"])

    def to_dict(self) -> dict[str, Any]:
        """Return the frame as JSON: `frame`, its attributes, and `message`, `preview` or `content`."""
        inner = {"message": self.message, "preview": self.preview, "content": self.content}
        told = {name: each for name, each in inner.items() if each is not None}
        return {"frame": self.name, **self.attributes, **told}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Frame:
        """Return the frame from a result of `to_dict`."""
        attributes = {name: each for name, each in data.items() if name not in ("frame", *_INNER)}
        return cls(
            name=data["frame"],
            attributes=attributes,
            message=data.get("message"),
            preview=data.get("preview"),
            content=data.get("content"),
        )


def error_frame(kind: str, fd: str, message: str) -> Frame:
    """Return the frame of an error.

    Args:
        kind: Its type, such as "not_found".
        fd: The requested ID.
        message: The message.
    """
    return Frame(name="fd_error", attributes={"type": kind, "fd": fd}, message=message)


def attribute(value: str | int | bool) -> str:
    """Return a value escaped for use in a quoted attribute."""
    if isinstance(value, bool):
        return str(value).lower()
    return escape(str(value), quote=False).translate(_IN_ATTRIBUTES)


def _quoted(body: str, name: str, is_escaped: bool) -> tuple[str, bool]:
    """Return a body quoted for a frame, and True if it is in CDATA because it contains the closing tag."""
    if is_escaped:
        return escape(body, quote=False), False
    if f"</{name}" not in body and not (name == "fd_result" and "</preview" in body):
        return body, False
    return f"<![CDATA[{body.replace(']]>', ']]]]><![CDATA[>')}]]>", True
