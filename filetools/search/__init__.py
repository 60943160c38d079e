"""Names and contents: listings in pages, walks over the tree, searches."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.search.contents import (
        GrepOptions,
        OutputMode,
        Ripgrep,
        Unsaved,
        find_ripgrep,
        grep_page,
        search_text,
    )
    from filetools.search.folder import FolderCache
    from filetools.search.ignores import IgnoreCache, stack_above
    from filetools.search.listing import list_page, rows_below
    from filetools.search.names import search_files
    from filetools.search.options import ListOptions
    from filetools.search.source import Listable, OpensDirectories
    from filetools.search.survey import Survey
    from filetools.search.walk import walk_tree
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.search.contents": "GrepOptions, OutputMode, Ripgrep, Unsaved, find_ripgrep, grep_page, search_text",
            "filetools.search.folder": "FolderCache",
            "filetools.search.ignores": "IgnoreCache, stack_above",
            "filetools.search.listing": "list_page, rows_below",
            "filetools.search.names": "search_files",
            "filetools.search.options": "ListOptions",
            "filetools.search.source": "Listable, OpensDirectories",
            "filetools.search.survey": "Survey",
            "filetools.search.walk": "walk_tree",
        },
    )

__all__ = [
    "FolderCache",
    "GrepOptions",
    "IgnoreCache",
    "ListOptions",
    "Listable",
    "OpensDirectories",
    "OutputMode",
    "Ripgrep",
    "Survey",
    "Unsaved",
    "find_ripgrep",
    "grep_page",
    "list_page",
    "rows_below",
    "search_files",
    "search_text",
    "stack_above",
    "walk_tree",
]
