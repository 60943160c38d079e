"""One call as a model sees it: text, and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from filetools.tools.media import FileLink, Medium


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One call as a model sees it."""

    text: str
    """Empty beside a picture that says it all."""
    is_error: bool = False
    structured: Mapping[str, Any] | None = None
    """The same facts for programs, where the tool has an output schema."""
    media: Medium | None = None
    links: tuple[FileLink, ...] = ()
    """Files to fetch instead of reading them in the text."""
    notes: tuple[str, ...] = ()
    """What is told beside the result, each in a block of its own, where the text must be the result and nothing else."""
