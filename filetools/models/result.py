"""Base classes of the results of calls: frozen, with the same fields in Python and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from filetools.models.words import MirrorStatus


class Result(BaseModel):
    """Base of what facade calls return; frozen, and the same fields in Python and JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def to_dict(self, style: Literal["snake", "camel"] = "snake") -> dict[str, Any]:
        """Return the JSON-compatible form, without fields that are None.

        Args:
            style: "snake" keeps the Python names; "camel" gives `bytesWritten` for `bytes_written`.
        """
        plain = self.model_dump(mode="json", exclude_none=True)
        return plain if style == "snake" else camel_keys(plain)


class RecordedChange(Result):
    """Base of results that describe one recorded change."""

    number: int
    """Its position in the journal."""
    operation: str
    path: str
    """The path at the time of the change."""
    old_path: str | None = None
    """The old path of a moved file or folder."""
    actor: dict[str, Any]
    time: float
    """Time of the record in seconds since the epoch; for another program's change, when it was noticed."""


class ChangeResult(Result):
    """Base of what calls return that change the tree."""

    number: int | None = None
    """Journal number of the change, the newest of several; None if nothing was changed."""
    mirror: MirrorStatus = "off"
    warnings: list[dict[str, Any]] = []

    def to_dict(self, style: Literal["snake", "camel"] = "snake") -> dict[str, Any]:
        """As `Result.to_dict`; the fields common to all changes come last."""
        plain = super().to_dict(style)
        return dict(sorted(plain.items(), key=lambda item: item[0] in ChangeResult.model_fields))


def camel_keys(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a JSON object whose keys, at every depth, are in camelCase."""
    return {to_camel(key): _camel_value(value) for key, value in plain.items()}


def _camel_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return camel_keys(value)
    return [_camel_value(item) for item in value] if isinstance(value, list) else value
