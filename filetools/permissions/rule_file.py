"""The file that keeps what people decided about permissions, as JSON, replaced in one atomic step."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Annotated, Final

from msgspec import DecodeError, Meta, Struct
from msgspec.json import decode

from filetools.errors import StateDamagedError, StateVersionError, StorageFailedError
from filetools.models.words import Preset
from filetools.permissions.rules import Rule

SCHEMA: Final = 1


class _Format(Struct, kw_only=True):
    format: int = SCHEMA


class SavedPermissions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What outlives a restart; trust for a run does not. It blocks: call it in a worker thread."""

    format: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA
    preset: Preset | None = None
    """The preset a person chose last; a preset given at opening goes before it."""
    rules: tuple[Rule, ...] = ()
    """In their order."""

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
        except (DecodeError, RecursionError) as exc:
            raise StateDamagedError(f"{path.name} is not a list of permissions") from exc
        raise StateVersionError(form, SCHEMA)

    def write(self, path: Path) -> None:
        """Replace a file; after a crash it is the old or the new one.

        Args:
            path: Must be out of reach of every tool, such as in the state directory.

        Raises:
            StorageFailedError: It could not be written; the old one stands.
        """
        plain = {"format": SCHEMA, "preset": self.preset, "rules": [rule.to_dict() for rule in self.rules]}
        text = json.dumps(plain, indent=2, ensure_ascii=False).encode() + b"\n"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(path, text)
        except OSError as exc:
            raise StorageFailedError(path.name, exc.strerror or type(exc).__name__) from exc


def _replace(path: Path, text: bytes) -> None:
    # mkstemp makes the file 0600, and never follows or reuses a name that somebody planted.
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    # Windows cannot open a directory; there the rename alone must do.
    with contextlib.suppress(PermissionError):
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
