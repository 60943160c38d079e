"""Finding the matches of a pattern in texts: here where that is quick for certain, else in a process of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from filetools.errors import InvalidArgumentError
from filetools.search.contents.child import MatchingProcess
from filetools.search.contents.expression import expression_of, flags_of, size_of, ways_of
from filetools.search.contents.prefilter import Prefilter
from filetools.search.contents.spans import find_spans
from filetools.search.contents.syntax import Pattern

MAX_STEPS: Final = 2_000_000
"""Most steps of one call of `re`, which holds the interpreter: some 20 ms in the worst case."""
MAX_WINDOW: Final = 262_144
MIN_WINDOW: Final = 4_096
MAX_MEASURED: Final = 1_048_576
"""Longer texts are not measured line by line: that alone would hold the interpreter."""
MAX_SIZE: Final = 20_000
MAX_COUNTED: Final = 1_000_000
"""Most lines of a file that are counted."""
FILE_SECONDS: Final = 5.0
"""Longest time for one file in a process of its own."""


class Matcher:
    """Finds the matches of one pattern. Lives for one page of a search, inside a `with` block; used by one thread."""

    def __init__(
        self, pattern: Pattern, *, abort: Callable[[], bool] | None = None, limit_seconds: float = FILE_SECONDS
    ) -> None:
        """Compile a pattern.

        Raises:
            InvalidArgumentError: It is too large.
        """
        self.pattern = pattern
        self._prefilter = Prefilter(pattern)
        self.needles = self._prefilter.needles
        self.may_match = self._prefilter.may_match
        needle = self.needles[0].decode() if len(self.needles) == 1 else ""
        self._needle = "" if pattern.ignore_case or pattern.multiline else needle
        self._longest = 0
        """Length of the longest line so far that is searched quickly for certain."""
        self._size = size_of(pattern.root)
        if self._size > MAX_SIZE:
            raise InvalidArgumentError(f"The pattern is too large: with counts multiplied out {self._size} places")
        self._expression = expression_of(pattern.root)
        self._flags = flags_of(pattern)
        self._search = re.compile(self._expression, self._flags).search
        self._is_fixed = ways_of(pattern.root, 1) == ways_of(pattern.root, 2)
        self._least_steps = self._size * ways_of(pattern.root, 1)
        self._abort = abort
        self._limit_seconds = limit_seconds
        self._process: MatchingProcess | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()

    def find(self, text: str, what: str, *, most: int, every: bool = False) -> list[int]:
        """Return where the first match of each line begins and ends, one after the other; see `find_spans`.

        Args:
            text: With LF as its only line end.
            what: Its path, for errors.
            most: Matches after which to stop.
            every: Whether all matches of a line count that are not empty.

        Raises:
            CallTimeoutError: It took too long.
            AbortedError: The caller wants to stop.
        """
        if not text:
            return []
        spans = self._found_by_needle(text, most, every) if self._needle else None
        if spans is None:
            window = self._window(text)
            spans = None if window is None else self._found_here(text, window, most, every)
        if spans is None:
            return self._started().find(text, what, multiline=self.pattern.multiline, most=most, every=every)
        return spans

    def count(self, text: str, what: str) -> int:
        """Return in how many lines of a text the pattern matches; not for patterns over several lines.

        Raises:
            CallTimeoutError, AbortedError: As for `find`.
        """
        window = self._window(text) if text else None
        if window is None:
            return len(self.find(text, what, most=MAX_COUNTED)) // 2
        # Whatever follows a match in its line goes along, and the line end must, so that each line counts once.
        lines = re.compile(f"(?:{self._expression}).*\\n()", self._flags).findall
        text = text if text.endswith("\n") else f"{text}\n"
        found, position = 0, 0
        while position < len(text):
            stop = text.find("\n", min(position + window, len(text) - 1)) + 1
            if stop - position > 2 * MAX_WINDOW:
                return len(self._started().find(text, what, multiline=False, most=MAX_COUNTED)) // 2
            found += len(lines(text, position, stop))
            position = stop
        return found

    def _found_by_needle(self, text: str, most: int, every: bool) -> list[int] | None:
        """Return the spans of those lines that hold the text which each match holds; None if one is too long a line."""
        spans: list[int] = []
        found = text.find(self._needle)
        while found >= 0 and len(spans) < 2 * most:
            start, stop = text.rfind("\n", 0, found) + 1, text.find("\n", found)
            stop = len(text) if stop < 0 else stop
            if stop - start > self._longest:
                if self._size * ways_of(self.pattern.root, stop - start) * (stop - start) > MAX_STEPS:
                    return None
                self._longest = stop - start
            left = most - len(spans) // 2
            spans += find_spans(self._search, text, start, stop, multiline=False, most=left, every=every)
            found = text.find(self._needle, stop)
        return spans

    def _found_here(self, text: str, window: int, most: int, every: bool) -> list[int] | None:
        """Return the spans of a text, searched in windows of whole lines; None if one has too long a line."""
        multiline, end = self.pattern.multiline, len(text)
        spans: list[int] = []
        position = 0
        while position <= end and len(spans) < 2 * most:
            stop = end if multiline else text.find("\n", min(position + window, end), end)
            stop = end if stop < 0 else stop
            if stop - position > 2 * MAX_WINDOW:
                return None
            left = most - len(spans) // 2
            spans += find_spans(self._search, text, position, stop, multiline=multiline, most=left, every=every)
            position = stop + 1
        return spans

    def _window(self, text: str) -> int | None:
        """Return how many characters may be searched in one call, or None if it might take too long."""
        if self.pattern.multiline and len(text) > MAX_WINDOW:
            return None
        if self._is_fixed:
            longest = 1
        elif len(text) > MAX_MEASURED:
            return None
        else:
            longest = len(text) if self.pattern.multiline else max(map(len, text.split("\n")))
        steps = self._least_steps if self._is_fixed else self._size * ways_of(self.pattern.root, longest)
        least = len(text) if self.pattern.multiline else MIN_WINDOW if self._is_fixed else longest
        if steps * least > MAX_STEPS:
            return None
        return min(MAX_WINDOW, int(MAX_STEPS / steps))

    def _started(self) -> MatchingProcess:
        if self._process is None:
            self._process = MatchingProcess(
                self._expression, self._flags, limit_seconds=self._limit_seconds, abort=self._abort
            )
        return self._process


def plain_lines(text: str) -> str:
    """Return a text with LF as its only line end; lines stay the same lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
