"""The rules for raw paths that need no disk access: one validator for the whole product."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from msgspec import Struct

from filetools.errors import (
    AbsolutePathError,
    AccessDeniedError,
    InvalidArgumentError,
    InvalidPathError,
    PathTooLongError,
    PathTraversalError,
)
from filetools.paths.names import fold_name, is_state_name, windows_refusal
from filetools.paths.workspace_path import ROOT, WorkspacePath

MAX_PATH_BYTES: Final = 4096
MAX_NAME_BYTES: Final = 255

# Paths that are already in normal form and break no rule on any system but Windows: no segment starts with a dot, so
# that none is ".", ".." or the state directory. Possessive, hence linear.
_CLEAN_NAME: Final = rf"[A-Za-z0-9_][A-Za-z0-9_.\-]{{0,{MAX_NAME_BYTES - 1}}}+"
_CLEAN: Final = re.compile(f"{_CLEAN_NAME}(?:/{_CLEAN_NAME})*+")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_UNADDRESSABLE: Final = re.compile(r"[\\\ud800-\udfff]|\A[A-Za-z]:|\A\s+\Z")


AnyPath = str | os.PathLike[str]
"""A path as callers in Python may give it: text, or a `pathlib.Path`."""


def plain_path(given: AnyPath) -> str:
    """Return a path as text.

    Raises:
        InvalidArgumentError: It is not a path.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, PurePath):
        return given.as_posix()
    # Bytes are refused, too: a name that is not UTF-8 has no text.
    other: object = given
    text = os.fspath(other) if isinstance(other, os.PathLike) else other
    if not isinstance(text, str):
        raise InvalidArgumentError(f"A path is text or a pathlib.Path, not {type(given).__name__}")
    return text


def is_addressable(path: str) -> bool:
    r"""True if a call can name an existing path: not if a name is not UTF-8 or contains a `\`."""
    if len(path) > MAX_PATH_BYTES // 4 and len(path.encode("utf-8", "surrogateescape")) > MAX_PATH_BYTES:
        return False
    # Most paths are this plain; the expression takes three times as long.
    is_plain = path.isascii() and "\\" not in path and ":" not in path and not path.isspace()
    return is_plain or not _UNADDRESSABLE.search(path)


def names_folder(raw_path: str) -> bool:
    """True if a path is spelled as a folder's: it ends in a slash, or in "."."""
    return raw_path != "" and raw_path.replace("\\", "/").rpartition("/")[2] in ("", ".")


class LexicalRules(Struct, frozen=True, kw_only=True):
    """Facts of one root that the rules need."""

    roots: tuple[tuple[str, ...], ...] = ()
    """Segments of the root's absolute path, in each known spelling."""
    state: tuple[str, ...] = ()
    """Folded segments of a state directory that lies elsewhere inside the root; empty if there is none."""
    windows: bool = os.name == "nt"
    """True if names must be valid on Windows."""

    def parse(self, raw_path: str, *, allow_root: bool = False) -> WorkspacePath:
        """Return the normal form of a raw path, by the rules of `Workspace.resolve`."""
        if len(raw_path) <= MAX_PATH_BYTES and not self.windows and not self.state and _CLEAN.fullmatch(raw_path):
            return str.__new__(WorkspacePath, raw_path)
        _refuse_text(raw_path)
        segments = self._relative(raw_path)
        if not segments:
            if allow_root:
                return ROOT
            raise InvalidPathError(raw_path, "it is the root of the workspace; name something in it")
        self._refuse_segments(raw_path, segments)
        return str.__new__(WorkspacePath, "/".join(segments))

    def _relative(self, raw_path: str) -> list[str]:
        text = raw_path.replace("\\", "/")
        is_unc = raw_path.startswith("\\\\")
        segments = [segment for segment in text.split("/") if segment and segment != "."]
        if ".." in segments:
            raise PathTraversalError(raw_path)
        is_absolute = text.startswith("/") or _DRIVE.match(text)
        if is_absolute and (self.windows or not is_unc):
            for root in self.roots:
                if self._starts_with(segments, root):
                    return segments[len(root) :]
        if is_unc:
            raise AbsolutePathError(raw_path)
        return segments

    def _starts_with(self, segments: Sequence[str], root: tuple[str, ...]) -> bool:
        head = tuple(segments[: len(root)])
        return head == root or (self.windows and tuple(map(str.casefold, head)) == tuple(map(str.casefold, root)))

    def _refuse_segments(self, raw_path: str, segments: Sequence[str]) -> None:
        # The first segment is checked after normalising, too: "./C:x" must not resolve to "C:x", which is refused.
        if _DRIVE.match(segments[0]):
            raise AbsolutePathError(raw_path)
        if len(segments) == 1 and segments[0].isspace():
            raise InvalidPathError(raw_path, "it consists of blanks only")
        if any(len(segment) * 4 > MAX_NAME_BYTES and len(segment.encode()) > MAX_NAME_BYTES for segment in segments):
            raise PathTooLongError(raw_path)
        self.refuse_state(segments)
        if self.windows:
            for segment in segments:
                if reason := windows_refusal(segment):
                    raise InvalidPathError(raw_path, reason)

    def refuse_state(self, segments: Sequence[str]) -> None:
        """Raise AccessDeniedError if the segments lead into a state directory, at any depth and in any spelling."""
        inside = any(is_state_name(segment) for segment in segments)
        if not inside and self.state and len(segments) >= len(self.state):
            inside = tuple(map(fold_name, segments[: len(self.state)])) == self.state
        if inside:
            reason, action = (
                "the state of filetools is out of reach",
                "Choose another path: no tool reads or changes it.",
            )
            raise AccessDeniedError("/".join(segments), reason, suggested_action=action)


def _refuse_text(raw_path: str) -> None:
    if len(raw_path) > MAX_PATH_BYTES:
        # First, so that no later rule costs time or repeats the whole text in its message.
        raise PathTooLongError(raw_path[:MAX_NAME_BYTES].encode("utf-8", "backslashreplace").decode())
    if "\0" in raw_path:
        raise InvalidPathError(raw_path, "it contains NUL")
    if raw_path.isspace():
        raise InvalidPathError(raw_path, "it consists of blanks only")
    try:
        size = len(raw_path.encode())
    except UnicodeEncodeError:
        action = "A path must be UTF-8. If the file has such a name, rename it with another program."
        raise InvalidPathError(raw_path, "it is not UTF-8", suggested_action=action) from None
    if size > MAX_PATH_BYTES:
        raise PathTooLongError(raw_path)
