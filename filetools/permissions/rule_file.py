"""The file that keeps what people decided about permissions, as JSON, replaced in one atomic step."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from filetools.errors import InvalidArgumentError, StateDamagedError, StateTooNewError, StorageFailedError
from filetools.models import Preset
from filetools.permissions.rules import Level, Rule

SCHEMA: Final = 1


class _SavedRule(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    tool: str
    path: str
    level: Level


class SavedPermissions(BaseModel):
    """What outlives a restart; trust for a run does not."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    format: Literal[1] = SCHEMA
    preset: Preset | None = None
    """The preset a person chose last; a preset given at opening goes before it."""
    rules: list[_SavedRule] = []
    allow_everything_since: float | None = None
    """When "allow everything" was switched on, in seconds since the epoch."""

    @classmethod
    def of(cls, preset: Preset | None, rules: tuple[Rule, ...], since: float | None) -> SavedPermissions:
        """Return the form of these decisions that is saved."""
        saved = [_SavedRule.model_validate(rule.to_dict()) for rule in rules]
        return cls(preset=preset, rules=saved, allow_everything_since=since)

    def to_rules(self) -> tuple[Rule, ...]:
        """Return the saved rules in their order."""
        return tuple(Rule(tool=rule.tool, path=rule.path, level=rule.level) for rule in self.rules)


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
            StateTooNewError: A newer release wrote it.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return SavedPermissions()
        except OSError as exc:
            raise StateDamagedError(f"{self._path.name} cannot be read ({exc.strerror})") from exc
        try:
            return self._understood(text)
        except (ValidationError, InvalidArgumentError, ValueError, RecursionError) as exc:
            raise StateDamagedError(f"{self._path.name} is not a list of permissions") from exc

    def _understood(self, text: bytes) -> SavedPermissions:
        plain = json.loads(text)
        found = plain.get("format") if isinstance(plain, dict) else None
        if isinstance(found, int) and found > SCHEMA:
            raise StateTooNewError(found, SCHEMA)
        saved = SavedPermissions.model_validate_json(text)
        saved.to_rules()
        return saved

    def write(self, saved: SavedPermissions) -> None:
        """Replace the file; after a crash it is the old or the new one.

        Raises:
            StorageFailedError: It could not be written; the old one stands.
        """
        text = json.dumps(saved.model_dump(mode="json"), indent=2, ensure_ascii=False).encode() + b"\n"
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


def _sync_directory(directory: Path) -> None:
    # Windows cannot open a directory; there the rename alone must do.
    with contextlib.suppress(PermissionError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
