"""Frames: what a model sees of a descriptor, as XML text and as equivalent JSON; and what a system prompt says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from msgspec import Struct, field

from filetools.errors import InvalidArgumentError
from filetools.settings import DescriptorSettings

_INNER: Final = ("message", "preview", "content")
_IN_ATTRIBUTES: Final = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
SWITCHES: Final = ("read_fd", "fd_to_file", "search_fd")
"""Descriptors need one of these tools."""
_READING: Final = """<file_descriptor_instructions>
Output over {direct} characters is kept under a file descriptor such as fd:1, and you get its first page in an <fd_result>.
No text is lost: every character can be read.
- Next page: read_fd(fd="fd:1", start=2). Several: read_fd(fd="fd:1", start=2, count=3)
- All of it: read_fd(fd="fd:1", read_all=true)
- Lines: read_fd(fd="fd:1", mode="line", start=100, count=20). Characters: read_fd(fd="fd:1", mode="char", start=0, count=500)
- Find first, then read: search_fd(fd="fd:1", pattern="error", ignore_case=true)
- Keep a part as a descriptor of its own: read_fd(fd="fd:1", mode="line", start=10, count=5, extract_to_new_fd=true)
- Write it to a file: fd_to_file(fd="fd:1", file_path="out.txt")
- Add it to a file: fd_to_file(fd="fd:1", file_path="log.txt", mode="append")
- What there is: list_fds()
A page of {page} characters ends at a line end where it can; truncated="true" says that it ends inside a line, continued="true"
that it begins inside one.
</file_descriptor_instructions>"""
_USER_INPUT: Final = """<fd_user_input_instructions>
Input of the user over {input} characters comes as <fd:1 preview="..." type="user_input" size="...">.
The preview is only its beginning: read it with read_fd(fd="fd:1"), or find the place with search_fd(fd="fd:1", pattern="TODO").
</fd_user_input_instructions>"""
_REFERENCES: Final = """<reference_instructions>
Mark a part of your reply with <ref id="example">...</ref> to use it again without repeating it.
It is kept as ref:example: read_fd(fd="ref:example"), fd_to_file(fd="ref:example", file_path="example.txt").
A later mark of the same id replaces the earlier one.
</reference_instructions>"""


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


def is_enabled(settings: DescriptorSettings, tools: Sequence[str]) -> bool:
    """Return True if long texts become descriptors for a set of tools.

    Args:
        settings: The settings of descriptors.
        tools: Names of the tools.

    Raises:
        InvalidArgumentError: Descriptors are enabled without a tool that reads them.
    """
    has_tools = any(name in tools for name in SWITCHES)
    if settings.enabled and not has_tools:
        raise InvalidArgumentError(
            f"file_descriptor.enabled needs one of the tools {', '.join(SWITCHES)}",
            suggested_action="Offer them, at the command line with --tools core,descriptors, or set enabled to false.",
        )
    return has_tools


def instructions(settings: DescriptorSettings) -> str:
    """Return up to three blocks for a system prompt, separated by blank lines.

    Args:
        settings: Select the blocks and supply the sizes named in them.
    """
    blocks = {
        _READING.format(direct=settings.max_direct_output_chars, page=settings.default_page_size): True,
        _USER_INPUT.format(input=settings.max_input_chars): settings.page_user_input,
        _REFERENCES: settings.enable_references,
    }
    return "\n\n".join(block for block, is_on in blocks.items() if is_on)
