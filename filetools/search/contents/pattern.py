"""Patterns of a content search, matched by the package `regex`, which supports timeouts and releases the GIL.

The syntax is that of Python's `re` with the additions of `regex`. A brace that is not a count is literal: `regex` would read
`{e}` as a fuzzy match. Without the package, only patterns without special characters are supported.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from filetools.distribution import install_command
from filetools.errors import AbortedError, CallTimeoutError, InvalidArgumentError

MAX_CHARACTERS: Final = 4_096
MAX_REPEATS: Final = 100_000
"""Maximum product of all counts: `regex` holds the GIL while it compiles them, for about a second at a million."""
MAX_COUNTED: Final = 1_000_000
"""Maximum number of lines counted in a file."""
FILE_SECONDS: Final = 5.0
"""Time limit for one file."""

_TOKEN: Final = re.compile(r"\\r\\n|\\[pPN]\{[^}]*\}|\\.|\{(?!\d+(?:,\d*)?\}|,\d+\})", re.DOTALL)
_SPECIAL: Final = frozenset(".^$*+?()[]{}|\\")
_COUNT: Final = re.compile(r"(?<!\\)\{(\d*)(?:,(\d*))?\}")
_FLAGS: Final = re.compile(r"\(\?[ims]+\)")
_LINE_END: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[nr]|[\r\n])")
_FOLDED: Final = frozenset("ksi")
"""Letters that, ignoring case, also match non-ASCII characters such as the Kelvin sign."""
_PARTS: Final = re.compile(
    r"""(?P<plus>\+) | (?P<repeat>[*?]|\{[^}]*\}) | (?P<bracket>[()]) | (?P<either>\|)
    | (?P<other>[.^$] | \\[A-Za-z0-9](?:\{[^}]*\}|<[^>]*>|[0-9A-Fa-f]*) | \[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]\\])*\])
    | \\?(?P<literal>.)""",
    re.VERBOSE | re.DOTALL,
)


class Pattern(Struct, frozen=True, kw_only=True):
    """A compiled pattern. Immutable."""

    search: Callable[..., Any]
    """The compiled expression's `search`."""
    options: dict[str, Any]
    """Keyword arguments for each call of `search`."""
    plain: str | None
    """The pattern if lines match exactly where they contain this text; else None."""
    needle: bytes
    """ASCII text contained in every match, in lower case if case is ignored; empty if none is known."""
    ignore_case: bool
    multiline: bool
    """True if a match may span several lines; `.` then matches line ends, too."""

    def may_match(self, content: bytes) -> bool:
        """Return True if bytes in an ASCII-compatible encoding may contain a match."""
        return self.needle in (content.lower() if self.ignore_case and self.needle else content)

    def find(
        self, text: str, what: str, *, most: int, every: bool = False, abort: Callable[[], bool] | None = None,
        seconds: float = FILE_SECONDS,
    ) -> list[int]:  # fmt: skip
        """Return the start and end of the first match of each line, in one flat list.

        Args:
            text: The text, with LF as its only line end.
            what: Its path, for errors.
            most: Maximum number of matches.
            every: True to return every non-empty match, and not only the first of each line.
            abort: True stops the search; called again when the time is up.
            seconds: Time limit for the text.

        Raises:
            CallTimeoutError: It took too long.
            AbortedError: `abort` returned True.
        """
        deadline, end = time.monotonic() + seconds, len(text)
        spans: list[int] = []
        position, is_whole = 0, True
        while position <= end and len(spans) < 2 * most:
            stop = end if is_whole else line_end_from(text, position)
            found = self._next(text, position, stop, deadline, (what, seconds), abort)
            if found is None:
                if is_whole:
                    break
                position = stop + 1
                continue
            first, last = found.span()
            if first == end and (not text or text[-1] == "\n"):
                break  # no line begins after the last line end
            if is_whole and not self.multiline and text.find("\n", first, last) >= 0:
                # Sets such as [^a] match line ends. From here on, search each line separately: restarting a search of
                # the whole rest at each line would take quadratic time.
                is_whole, position = False, max(position, text.rfind("\n", 0, first) + 1)
            elif every:
                spans += (first, last) if last > first else ()
                position = max(last, first + 1)
            else:
                spans += (first, last)
                ends_line = self.multiline and last > first and text[last - 1] == "\n"
                position = line_end_from(text, last - 1 if ends_line else last) + 1
        return spans

    def count(self, text: str, what: str, *, abort: Callable[[], bool] | None = None) -> int:
        """Return the number of lines in which a match begins. Raises the same errors as `find`."""
        if self.plain is not None:  # several times as fast as the expression
            return len([line for line in text.split("\n") if self.plain in line])
        return len(self.find(text, what, most=MAX_COUNTED, abort=abort)) // 2

    def _next(
        self, text: str, start: int, stop: int, deadline: float, about: tuple[str, float],
        abort: Callable[[], bool] | None,
    ) -> Any:  # fmt: skip
        try:
            if self.options:
                return self.search(text, start, stop, timeout=max(deadline - time.monotonic(), 0.001), **self.options)
            return self.search(text, start, stop)
        except (TimeoutError, MemoryError):
            if abort is not None and abort():
                raise AbortedError("The search") from None
            what, seconds = about
            error = CallTimeoutError(f"Matching the pattern against {what}", seconds)
            error.suggested_action = "Make the pattern simpler: repeated groups in repeated groups take longest."
            raise error from None


def read_pattern(
    text: str,
    *,
    literal: bool = False,
    ignore_case: bool = False,
    multiline: bool = False,
    whole_words: bool = False,
) -> Pattern:
    """Compile a pattern.

    Args:
        text: 1 to 4096 characters.
        literal: True if every character is literal.
        ignore_case: True if letters match in any case.
        multiline: True if a match may span several lines.
        whole_words: True if a match must not be preceded or followed by a word character.

    Raises:
        InvalidArgumentError: It is empty, too long, too large or not valid, or needs the package `regex`.
    """
    if not text or len(text) > MAX_CHARACTERS:
        raise InvalidArgumentError(f"The pattern must have 1 to {MAX_CHARACTERS} characters, not {len(text)}")
    if not multiline and (found := (re.search("[\r\n]", text) if literal else _LINE_END.search(text))):
        raise _invalid("a match lies within one line; pass multiline=true to match line ends", found.start())
    text = text.replace("\r\n", "\n")
    is_plain = literal or not any(character in _SPECIAL for character in text)
    expression = re.escape(text) if is_plain else _TOKEN.sub(_adapted, text)
    flags_given = "" if literal or (given := _FLAGS.match(expression)) is None else given[0]
    expression = expression[len(flags_given) :]
    needle = expression
    if whole_words:  # not \b, which would require a word character at either end of the match itself
        expression = rf"(?<!\w)(?:{expression})(?!\w)"
    expression = flags_given + expression
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0) | (re.DOTALL if multiline else 0)
    try:
        import regex  # type: ignore[import-untyped]  # a tenth of the time of a short command
    except ModuleNotFoundError:
        if not is_plain:
            raise InvalidArgumentError(
                "Regular expressions need the package 'regex'",
                suggested_action=f"Run {install_command('search')}, or pass literal=true to search for the exact text.",
            ) from None
        search, options = re.compile(expression, flags).search, {}
    else:
        _check_counts(expression)
        try:
            compiled = regex.compile(expression, int(flags))
        except (regex.error, ValueError, RecursionError, OverflowError) as exc:
            raise _invalid(getattr(exc, "msg", str(exc)), getattr(exc, "pos", None) or 0) from exc
        search, options = compiled.search, {"concurrent": True}
        ignore_case = bool(compiled.flags & regex.IGNORECASE)
    return Pattern(
        search=search,
        options=options,
        plain=text if is_plain and not (ignore_case or multiline or whole_words) else None,
        needle=_needle_of(needle, ignore_case),
        ignore_case=ignore_case,
        multiline=multiline,
    )


def _adapted(found: re.Match[str]) -> str:
    """Translate a token for `regex`, since texts have LF as their only line end."""
    return {"{": r"\{", r"\r\n": r"\n"}.get(found[0], found[0])


def _check_counts(expression: str) -> None:
    size = 1
    for least, most in _COUNT.findall(expression):
        size *= max(1, int(most or least or 0))
    if size > MAX_REPEATS:
        raise InvalidArgumentError(f"The pattern is too large: with counts multiplied out {size} places")


def _invalid(reason: str, position: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The pattern is not valid at character {position + 1}: {reason}",
        suggested_action="Correct the pattern. To search for the exact text, pass literal=true.",
        details={"position": position},
    )


def _needle_of(expression: str, ignore_case: bool) -> bytes:
    """Return the longest ASCII text that every match certainly contains; empty if there is none."""
    if re.search(r"\(\?(?![:=!<>P])", expression):
        return b""  # flags, comments and conditions change the meaning of the rest
    best, run, depth = "", "", 0
    for found in _PARTS.finditer(expression):
        letter = found["literal"] or ""
        if found["either"] and not depth:
            return b""
        if letter and not depth and letter.isascii() and letter not in "\r\n\0":
            letter = letter.lower() if ignore_case else letter
            if not (ignore_case and letter in _FOLDED):
                run += letter
                continue
        if found["repeat"]:
            run = run[:-1]
        best, run = max(best, run, key=len), ""
        depth += {"(": 1, ")": -1}.get(found["bracket"] or "", 0)
    return max(best, run, key=len).encode()


def line_end_from(text: str, position: int) -> int:
    """Return the end of the line that contains a position."""
    found = text.find("\n", position)
    return len(text) if found < 0 else found


def plain_lines(text: str) -> str:
    """Convert all line ends to LF without changing the division into lines; a CR that does not end a line stays."""
    if "\r" not in text:  # fast; searching for CRLF would take as long as the rest of the work
        return text
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
