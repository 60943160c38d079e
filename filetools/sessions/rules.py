"""Derives rules from feedback: filters noise, classifies texts, and finds what people say repeatedly.

Feedback items are JSON objects here, so that those of older files, which lack fields, are accepted. Only a person's own words
count: the text that the program adds around the reason of a denial is neither evaluated nor shown.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from unicodedata import normalize

from pydantic_core import from_json

from filetools.errors import InvalidArgumentError
from filetools.sessions.log import by_instant, repaired

Item = Mapping[str, Any]

NOISE_MARKERS: Final = (
    r"<(?:command-name|bash-input|bash-stdout|bash-stderr|local-command-stdout|tool_use_error)>",
    r"\A(?:Caveat:|Exit code -?\d|error: Recipe|<(?:session-start-hook|tick|goal)>|Warmup\Z)",
    r"\A(?s:<(ide_opened_file|ide_selection)>.*?</\1>\s*)++\Z",
)
"""Regular expressions; a text is noise if one of them matches in its trimmed form."""

MOST_RULE_CHARACTERS: Final = 1000
EQUAL_CHARACTERS: Final = 100
_NO_RULE: Final = re.compile("how |claude code:", re.IGNORECASE)
_REQUIRED: Final = ("timestamp", "session_id", "feedback_type", "content")
_UNINFLECTED: Final = frozenset(["don't", "no", "never", "always", "must", "should", "before", "after", "i"])

# No repetition backtracks, here and in the markers, so that even a text of 1 MB takes linear time.
_BOILERPLATE: Final = re.compile(
    r"\A(?:The user doesn't want to proceed with this tool use|Permission for this tool use was denied)"
    r"(?:.*?[Tt]he user said:|.*)|\[Request interrupted[^\[\]]*+\]|The user wants to clarify these questions\..*+"
    r"|\n\nNote: The user's next message may contain a correction or preference.*+",
    re.DOTALL,
)


def _forms(word: str) -> str:
    if word in _UNINFLECTED:
        return word.replace("'", "['\u2019\u02bc]")
    last = word[-1]
    regular = f"{word}(?:|{'es' if last in 'sx' else 's'}|ed|ing|{last}ed|{last}ing)"
    return f"{word[:-1]}(?:e|es|ed|ing)" if last == "e" else regular


def _any_of(phrases: str) -> re.Pattern[str]:
    patterns = (r"\s++".join(map(_forms, phrase.split())) for phrase in phrases.split(", "))
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


_CATEGORIES: Final = {
    "instructions": _any_of("don't, never, always, must, should"),
    "corrections": _any_of("no, wrong, incorrect, fix, error"),
    "code_review": _any_of("review, refactor, improve, clarity"),
    "process": _any_of("plan, next step, workflow, before, after"),
    "preferences": _any_of("prefer, i want, make sure, ensure"),
}


def parse_items(data: bytes | str) -> list[dict[str, Any]]:
    """Parse a JSON array of feedback items; invalid UTF-8 and escaped lone surrogates are replaced.

    Raises:
        InvalidArgumentError: It is not a JSON array, or an item, named by its index from 0, is not a feedback item.
    """
    clean = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
    try:
        items = from_json(clean.removeprefix(BOM_UTF8))
    except ValueError as error:
        items = repaired(clean)
        if items is None:
            raise InvalidArgumentError(f"not JSON: {error}") from error
    if not isinstance(items, list):
        raise InvalidArgumentError("not an array of feedback items")
    for index, item in enumerate(items):
        fields = item if isinstance(item, dict) else {}
        if bad := next((name for name in _REQUIRED if not isinstance(fields.get(name), str)), None):
            fault = f"`{bad}` is {'not text' if bad in fields else 'missing'}" if fields is item else "not an object"
            raise InvalidArgumentError(f"item {index} is not a feedback item: {fault}")
    return items


def is_noise(text: str, *, min_length: int = 10, markers: Sequence[str] = NOISE_MARKERS) -> bool:
    """Return True if a trimmed text is shorter than `min_length` characters, or is program output in a message."""
    text = text.strip()
    return len(text) < min_length or any(re.search(marker, text) for marker in markers)


def category(text: str) -> str:
    """Return the first of instructions, corrections, code_review, process and preferences with a keyword in it, or other."""
    return next((name for name, pattern in _CATEGORIES.items() if pattern.search(text)), "other")


def analyze(items: Iterable[Item], *, include_sidechains: bool = False, include_errors: bool = False) -> dict[str, Any]:
    """Return the number of items (`total`), of items that are not noise (`filtered`), and of items per category.

    Takes the arguments of `rules`. The `categories` are in the order of their first appearance. Denials and interruptions
    without a reason are not noise, and belong to the category other.
    """
    heard = list(_heard(items, include_sidechains, include_errors))
    counts = Counter(category(said) for item, said in heard if not is_noise(said or item["content"]))
    return {"total": len(heard), "filtered": counts.total(), "categories": dict(counts)}


def rules(
    items: Iterable[Item], *, min_length: int = 20, include_sidechains: bool = False, include_errors: bool = False
) -> list[dict[str, Any]]:
    """Return candidate rules, oldest first; those with the same beginning are merged.

    Args:
        items: Feedback items; those without a valid time come last, in their own order.
        min_length: Minimum number of characters; anything below 10 is noise in any case.
        include_sidechains: Include what agents told other agents; what a person said there is always included.
        include_errors: Include calls that failed without a person's denial.

    Returns:
        `{"index", "timestamp", "session_id", "content", "count", "duplicates"}` each, with indexes from 1 and trimmed content.
        `duplicates` has the session of each repetition, so that `count` is one more than its length: a session appears once
        for each time it repeated the rule, and the first one's only if it did so itself.
    """
    heard = [
        (item, said)
        for item, said in _heard(items, include_sidechains, include_errors)
        if min_length <= len(said) <= MOST_RULE_CHARACTERS and not is_noise(said) and not _NO_RULE.match(said)
    ]
    found: dict[str, dict[str, Any]] = {}
    for item, said in sorted(heard, key=lambda pair: by_instant(pair[0]["timestamp"])):
        beginning = " ".join(normalize("NFKC", said).split()).casefold()[:EQUAL_CHARACTERS]
        if first := found.get(beginning):
            first["count"] += 1
            first["duplicates"].append(item["session_id"])
        else:
            what = {"timestamp": item["timestamp"], "session_id": item["session_id"], "content": said}
            found[beginning] = {"index": len(found) + 1, **what, "count": 1, "duplicates": []}
    return list(found.values())


def _heard(items: Iterable[Item], sidechains: bool, errors: bool) -> Iterator[tuple[Item, str]]:
    """Yield each item that counts with the person's own words, trimmed; "" if there is only the program's text."""
    for item in items:
        kind, text = item["feedback_type"], item["content"]
        is_error = kind == "tool_denial" and item.get("denied_by_user") is False
        # A person can also speak in a subagent's log, by refusing a call.
        is_agents = item.get("sidechain") and not item.get("denied_by_user")
        if (sidechains or not is_agents) and (errors or not is_error):
            said = text if kind == "message" else _BOILERPLATE.sub("", str(item.get("reason") or text))
            yield item, said.strip()
