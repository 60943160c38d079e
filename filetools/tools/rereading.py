"""Patterns in another notation than asked for: a regex given as a glob, a list of globs, an old way to write a regex.

Another reading is tried only where the pattern as it stands finds nothing, or is none; what it finds is told with it.
"""

from __future__ import annotations

import re
from typing import Final

_REGEX: Final = re.compile(r"\.[*+]|\\[.wdS/-]|^\^|\$$|\[\^/\]|\((?:\?:)?[^()]*\|")
_HIDDEN: Final = re.compile(r"(?:^|/)\.\*$")
"""Hidden files, to a glob."""
_ANYTHING: Final = re.compile(r"(\[\^/\]|\\[wdS]|\.)[*+]\??")
_CHOICE: Final = re.compile(r"\((?:\?:)?([^()]*)\)")
_ENDING: Final = re.compile(r"\.?[A-Za-z0-9]{1,5}")
_LIST: Final = re.compile(r"\s*[,|\s]\s*")


def as_glob(pattern: str) -> str:
    r"""Return the glob that somebody means who writes a regular expression, such as `*.py` for `.*\.py$`."""
    body = pattern.removeprefix("^").removesuffix("$").lstrip("/")
    ending = body.startswith("\\.")
    body = _CHOICE.sub(lambda found: "{" + found[1].replace("|", ",") + "}" if "|" in found[1] else found[1], body)
    if "|" in body:
        body = "{" + body.replace("|", ",") + "}"
    deep = "**/*" if "/" in body.replace("[^/]", "") else "*"
    body = _ANYTHING.sub(lambda found: deep if found[1] == "." else "*", body)
    body = re.sub(r"\\(\W)", r"\1", body.replace("**/*/", "**/"))
    return f"*{body}" if ending else body


def glob_meant(pattern: str) -> str | None:
    """Return the glob that a regular expression, or a list of globs, is written for; None if it looks like neither."""
    if _REGEX.search(_HIDDEN.sub("", pattern)):
        meant = as_glob(pattern)
    elif "{" not in pattern and len(parts := [part for part in _LIST.split(pattern.strip()) if part]) > 1:
        meant = "{" + ",".join(parts) + "}" if all("*" in part for part in parts) else pattern
    else:
        meant = pattern
    return meant if meant != pattern else None


def filter_meant(glob: str) -> str | None:
    """Return the glob that is meant by what shall limit the files of a search: as `glob_meant`, or the end of names."""
    return f"*.{glob.removeprefix('.')}" if _ENDING.fullmatch(glob) else glob_meant(glob)


def regex_meant(pattern: str) -> str | None:
    r"""Return the regex that is meant by one of `grep` without options, such as `a|b` for `a\|b`; None if it is none."""
    return pattern.replace("\\|", "|") if "\\|" in pattern else None


def text_as_regex(pattern: str) -> str | None:
    """Return the regex of a text between stars, as `*text*`; None if it is none."""
    bare = pattern.strip("*")
    if bare == pattern or not bare or not pattern.startswith("*"):
        return None
    return ".*".join(map(re.escape, bare.split("*")))


def case_blind(pattern: str) -> str:
    """Return a glob that fits in any case; one with brackets stays."""
    if "[" in pattern:
        return pattern
    return "".join(f"[{each.lower()}{each.upper()}]" if each.isascii() and each.isalpha() else each for each in pattern)
