"""The file in which people keep rules of permissions, as JSON. filetools only reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import DecodeError, Meta, Struct
from msgspec.json import decode

from filetools.errors import StateDamagedError, StateVersionError
from filetools.models.words import Preset
from filetools.permissions.rules import Rule

SCHEMA: Final = 1


class _Format(Struct, kw_only=True):
    format: int = SCHEMA


class SavedPermissions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds at every opening. Reading blocks: call it in a worker thread."""

    format: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA
    preset: Preset | None = None
    """A preset given at opening goes before it."""
    rules: tuple[Rule, ...] = ()
    """In their order."""
    allow_everything_since: Any = None
    """Of a mode that is gone; it does not count."""

    @classmethod
    def read(cls, path: Path) -> SavedPermissions:
        """Return what a file says; nothing is saved if there is none yet.

        Raises:
            StateDamagedError: It cannot be read or understood. Falling back to nothing would drop a block in silence.
            StateVersionError: A newer version of filetools wrote it.
        """
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return cls()
        except OSError as exc:
            raise StateDamagedError(f"{path.name} cannot be read ({exc.strerror})") from exc
        try:
            form = decode(text, type=_Format).format
            if form <= SCHEMA:
                return decode(text, type=cls)
        except (DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise StateDamagedError(f"{path.name} is not a list of permissions") from exc
        raise StateVersionError(form, SCHEMA)
