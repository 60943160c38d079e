"""Decides if descriptors are on, and describes them in a system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.settings import DescriptorSettings

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
