"""What follows from a pattern: the expression for `re`, texts and runs that each match holds, its cost, a net for ripgrep."""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf, log2

from filetools.search.contents.syntax import Border, Characters, Choice, Node, Pattern, Repeat, Sequence

_FOLDED = frozenset("ksi")
"""Letters that `re.IGNORECASE` also finds in characters beyond ASCII, such as the Kelvin sign."""
_BEYOND = re.compile(r"[^\x00-\x7f]|\\[dDwWsS]|\[\^|\A\.")
"""What a set holds in which there may be characters beyond ASCII: such a one, a class, a negation, or everything."""
_NOT_ASCII = r"[\x80-\xff]{1,4}"
"""A character beyond ASCII, in UTF-8 or Latin-1."""


def flags_of(pattern: Pattern) -> int:
    """Return the flags with which `re` compiles the expression."""
    return int(re.MULTILINE | (re.IGNORECASE if pattern.ignore_case else 0))


def expression_of(node: Node) -> str:
    """Return the expression for `re`."""
    match node:
        case Characters() | Border():
            return node.expression
        case Sequence():
            return "".join(_grouped(part) if isinstance(part, Choice) else expression_of(part) for part in node.parts)
        case Choice():
            return "|".join(map(expression_of, node.branches))
        case Repeat():
            most = "" if node.most is None else str(node.most)
            return f"{_grouped(node.body)}{{{node.least},{most}}}{'?' if node.is_lazy else ''}"


def _grouped(node: Node) -> str:
    return node.expression if isinstance(node, Characters) else f"(?:{expression_of(node)})"


def needles_of(pattern: Pattern) -> tuple[bytes, ...]:
    """Return texts of which every match holds at least one; none if there is nothing to go by.

    They are ASCII, without line ends, and in lower case where case does not count.
    """
    return tuple(needle.encode() for needle in _needles(pattern.root, pattern.ignore_case))


def _needles(node: Node, ignore_case: bool) -> tuple[str, ...]:
    match node:
        case Choice():
            found = [_needles(branch, ignore_case) for branch in node.branches]
            return tuple(needle for each in found for needle in each) if all(found) else ()
        case Repeat():
            return _needles(node.body, ignore_case) if node.least else ()
        case Sequence():
            return _best(_texts_of(node, ignore_case))
        case _:
            letter = _plain(node, ignore_case)
            return (letter,) if letter else ()


def _texts_of(node: Sequence, ignore_case: bool) -> list[tuple[str, ...]]:
    runs: list[tuple[str, ...]] = []
    run = ""
    for part in _flat(node):
        letter = _plain(part, ignore_case)
        if letter:
            run += letter
            continue
        runs.append((run,) if run else ())
        run = ""
        runs.append(() if isinstance(part, Characters | Border) else _needles(part, ignore_case))
    return [*runs, (run,) if run else ()]


def _flat(node: Sequence) -> list[Node]:
    return [each for part in node.parts for each in (_flat(part) if isinstance(part, Sequence) else [part])]


def _best(runs: list[tuple[str, ...]]) -> tuple[str, ...]:
    return max(runs, key=lambda run: (min(map(len, run), default=0), -len(run)), default=())


def _plain(node: Node, ignore_case: bool) -> str:
    letter = node.literal if isinstance(node, Characters) else None
    if letter is None or not letter.isascii() or letter in "\r\n\0":
        return ""
    if not ignore_case:
        return letter
    return "" if letter.lower() in _FOLDED else letter.lower()


def run_of(pattern: Pattern) -> tuple[frozenset[int], int] | None:
    """Return the rarest run that each match holds: bytes, and how many of them stand in a row at least; None without one.

    It knows nothing of encodings, as `net_of` does.
    """
    return max(_runs_of(pattern), key=_rarity, default=None)


def holds_ascii(pattern: Pattern) -> bool:
    """Whether each match has a character of ASCII for certain."""
    return bool(needles_of(pattern)) or any(max(codes) < 128 for codes, _ in _runs_of(pattern))


def _runs_of(pattern: Pattern) -> list[tuple[frozenset[int], int]]:
    runs: list[tuple[frozenset[int], int]] = []
    last = None
    root = pattern.root
    for part in _flat(root) if isinstance(root, Sequence) else [root]:
        body, least = (part.body, part.least) if isinstance(part, Repeat) else (part, 1)
        if isinstance(body, Sequence) and len(body.parts) == 1:
            body = body.parts[0]
        if isinstance(body, Border):
            continue
        if not isinstance(body, Characters):
            last = None
            continue
        if body.expression == last:
            least += runs.pop()[1]
        last = body.expression
        runs.append((_bytes_of(last, pattern.ignore_case), least))
    return [run for run in runs if run[0] and run[1]]


def _bytes_of(expression: str, ignore_case: bool) -> frozenset[int]:
    codes, goes_beyond = _ascii_of(expression, ignore_case)
    return frozenset((*codes, *((13,) if 10 in codes else ()), *(range(128, 256) if goes_beyond else ())))


def _rarity(run: tuple[frozenset[int], int]) -> float:
    codes, count = run
    return count * log2(256 / len(codes))


def size_of(node: Node) -> int:
    """Return how many characters and places an expression has, counts multiplied out."""
    match node:
        case Sequence():
            return sum(map(size_of, node.parts)) + 1
        case Choice():
            return sum(map(size_of, node.branches)) + 1
        case Repeat():
            return size_of(node.body) * max(1, node.most or node.least) + 1
        case _:
            return 1


def ways_of(node: Node, length: int) -> float:
    """Return in how many ways an expression can be tried at one place, in the worst case.

    A backtracking engine may go through all of them before it gives up.

    Args:
        node: The expression.
        length: Characters of the longest line.
    """
    match node:
        case Sequence():
            ways = 1.0
            for part in node.parts:
                ways *= ways_of(part, length)
            return ways
        case Choice():
            return sum(ways_of(branch, length) for branch in node.branches)
        case Repeat():
            body = ways_of(node.body, length)
            if body == 1:
                return (length if node.most is None else node.most - node.least) + 1.0
            return inf if node.most is None or node.most > 64 else (node.most + 1) * min(body**node.most, 1e100)
        case _:
            return 1.0


def net_of_needles(needles: tuple[bytes, ...], *, ignore_case: bool) -> str:
    """Return an expression for ripgrep, over bytes, that fits in every file whose text holds one of the needles.

    In UTF-16 and UTF-32 of either byte order, the second of three or more ASCII characters stands between two NULs. To look
    for these three bytes costs nothing; the whole needle with NULs in it would take ripgrep twice the time.
    """
    texts = "|".join("".join(f"[{_cases(each, ignore_case)}]" for each in needle) for needle in needles)
    seconds = "".join(_cases(needle[1], ignore_case) for needle in needles if len(needle) > 2)
    wide = rf"\x00[{seconds}]\x00" if all(len(needle) > 2 for needle in needles) else r"\x00"
    return f"(?-u:{texts}|{wide})"


def _cases(code: int, ignore_case: bool) -> str:
    other = ord(chr(code).swapcase())
    return f"\\x{code:02x}\\x{other:02x}" if ignore_case and other != code else f"\\x{code:02x}"


def net_of(pattern: Pattern) -> str:
    """Return an expression for ripgrep, over bytes, that fits wherever the pattern does, and perhaps elsewhere.

    It knows nothing of encodings: a character beyond ASCII is one to four bytes with the highest bit.
    """
    return f"(?-u:{_net(pattern.root, pattern.ignore_case)})"


def _net(node: Node, ignore_case: bool) -> str:
    match node:
        case Characters():
            return _net_of_set(node.expression, ignore_case)
        case Border():
            return "(?:)"
        case Sequence():
            return "".join(_net(part, ignore_case) for part in node.parts)
        case Choice():
            return f"(?:{'|'.join(_net(branch, ignore_case) for branch in node.branches)})"
        case Repeat():
            most = "" if node.most is None else str(node.most)
            return f"(?:{_net(node.body, ignore_case)}){{{node.least},{most}}}"


def _net_of_set(expression: str, ignore_case: bool) -> str:
    codes, goes_beyond = _ascii_of(expression, ignore_case)
    members = "".join(f"\\x{code:02x}" for code in codes) + ("\\r" if 10 in codes else "")
    choices = [f"[{members}]"] if members else []
    choices += ["\\r\\n"] if 10 in codes else []
    choices += [_NOT_ASCII] if goes_beyond else []
    return choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"


@lru_cache(maxsize=256)
def _ascii_of(expression: str, ignore_case: bool) -> tuple[list[int], bool]:
    """Return the ASCII bytes that may stand for a character of a set, and whether others may."""
    fits = re.compile(expression, re.IGNORECASE if ignore_case else 0).fullmatch
    # In bytes that are no text, control characters are shown as U+FFFD.
    is_control = fits("\ufffd") is not None
    codes = [
        code
        for code in range(128)
        if fits(chr(code)) or (is_control and (code < 32 or code == 127) and code not in (9, 10, 13))
    ]
    is_folded = ignore_case and not _FOLDED.isdisjoint(map(chr, codes))
    return codes, is_folded or not codes or _BEYOND.search(expression) is not None
