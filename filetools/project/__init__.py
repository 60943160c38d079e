"""What a project is, what state it is in, and which instructions apply in it; nothing of it is ever run."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.project.prompt import build_prompt, estimate_tokens, format_context, gather
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.project.prompt": "build_prompt, estimate_tokens, format_context, gather",
        },
    )

__all__ = [
    "build_prompt",
    "estimate_tokens",
    "format_context",
    "gather",
]
