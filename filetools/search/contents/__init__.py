"""Searching the contents of files."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.search.contents.candidates import Ripgrep, find_ripgrep
    from filetools.search.contents.grep import grep_page, search_text
    from filetools.search.contents.options import GrepOptions, OutputMode
    from filetools.search.contents.unsaved import Unsaved
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.search.contents.candidates": "Ripgrep, find_ripgrep",
            "filetools.search.contents.grep": "grep_page, search_text",
            "filetools.search.contents.options": "GrepOptions, OutputMode",
            "filetools.search.contents.unsaved": "Unsaved",
        },
    )

__all__ = ["GrepOptions", "OutputMode", "Ripgrep", "Unsaved", "find_ripgrep", "grep_page", "search_text"]
