"""The file that keeps what people decided about permissions, as JSON, replaced in one atomic step."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final, get_args

from msgspec import Struct

from filetools.errors import InvalidArgumentError, StateDamagedError, StateVersionError, StorageFailedError
from filetools.models.words import Preset
from filetools.permissions.rules import Rule

SCHEMA: Final = 1


class SavedPermissions(Struct, frozen=True, kw_only=True):
    """What outlives a restart; trust for a run does not."""

    preset: Preset | None = None
    """The preset a person chose last; a preset given at opening goes before it."""
    rules: tuple[Rule, ...] = ()
    """In their order."""


class RuleFile:
    """One file of saved permissions. Blocks; call it in a worker thread. Lives as long as anybody needs it.

    Args:
        path: Where it lies; must be out of reach of every tool, such as in the state directory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> SavedPermissions:
        """Return what is saved; nothing if there is no file yet.

        Raises:
            StateDamagedError: It cannot be read or understood. Falling back to nothing would drop a block in silence.
            StateVersionError: A newer version of filetools wrote it.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return SavedPermissions()
        except OSError as exc:
            raise StateDamagedError(f"{self._path.name} cannot be read ({exc.strerror})") from exc
        try:
            return _understood(json.loads(text))
        except (InvalidArgumentError, ValueError, RecursionError) as exc:
            raise StateDamagedError(f"{self._path.name} is not a list of permissions") from exc

    def write(self, saved: SavedPermissions) -> None:
        """Replace the file; after a crash it is the old or the new one.

        Raises:
            StorageFailedError: It could not be written; the old one stands.
        """
        rules = [rule.to_dict() for rule in saved.rules]
        plain = {"format": SCHEMA, "preset": saved.preset, "rules": rules}
        text = json.dumps(plain, indent=2, ensure_ascii=False).encode() + b"\n"
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._replace(text)
        except OSError as exc:
            raise StorageFailedError(self._path.name, exc.strerror or type(exc).__name__) from exc

    def _replace(self, text: bytes) -> None:
        # mkstemp makes the file 0600, and never follows or reuses a name that somebody planted.
        descriptor, temporary = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_directory(self._path.parent)


def _understood(plain: Any) -> SavedPermissions:
    """Return what a file says; whatever has another form is refused by a ValueError."""
    form = plain.get("format", SCHEMA) if isinstance(plain, dict) else None
    if type(form) is int and form > SCHEMA:
        raise StateVersionError(form, SCHEMA)
    # Earlier checkouts wrote "allow_everything_since": a mode that is gone, which does not count.
    found = _fields(plain, {"format", "preset", "rules", "allow_everything_since"})
    preset, rules = found.get("preset"), found.get("rules", [])
    is_right = type(form) is int and preset in (None, *get_args(Preset)) and isinstance(rules, list)
    if not is_right or form != SCHEMA:
        raise ValueError("fields of another type")
    return SavedPermissions(preset=preset, rules=tuple(map(_rule, rules)))


def _rule(plain: Any) -> Rule:
    found = _fields(plain, {"tool", "path", "level"})
    if len(found) != 3 or not all(isinstance(value, str) for value in found.values()):
        raise ValueError("no rule")
    return Rule(**found)


def _fields(plain: Any, known: set[str]) -> dict[str, Any]:
    if not isinstance(plain, dict) or not plain.keys() <= known:
        raise ValueError("no table of known fields")
    return plain


def _sync_directory(directory: Path) -> None:
    # Windows cannot open a directory; there the rename alone must do.
    with contextlib.suppress(PermissionError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
