"""Searching the contents of files."""

from filetools.search.contents.candidates import Ripgrep, find_ripgrep
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions, OutputMode
from filetools.search.contents.unsaved import Unsaved

__all__ = ["GrepOptions", "OutputMode", "Ripgrep", "Unsaved", "find_ripgrep", "grep_page"]
