"""Base classes of the results of calls: frozen, with the same fields in Python and JSON."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from filetools.models.words import MirrorStatus


class Result(BaseModel):
    """Base of what facade calls return; frozen, and the same fields in Python and JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without fields that are None."""
        return self.model_dump(mode="json", exclude_none=True)


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

    def to_dict(self) -> dict[str, Any]:
        """As `Result.to_dict`; the fields common to all changes come last."""
        return dict(sorted(super().to_dict().items(), key=lambda item: item[0] in ChangeResult.model_fields))
