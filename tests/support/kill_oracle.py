"""What a killed writer had announced and what had been acknowledged, compared with what stands there afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Oracle:
    """Per path the contents that may stand there: the last acknowledged one, or one announced after it."""

    acknowledged: dict[str, str | None] = field(default_factory=dict)
    announced: dict[str, list[str | None]] = field(default_factory=dict)
    count: int = 0

    def take(self, facts: Iterable[dict[str, Any]]) -> None:
        """Learn from what a writer said, in its order."""
        for fact in facts:
            path = fact.get("path")
            if path is None:
                continue
            if "begin" in fact:
                self.announced.setdefault(path, []).append(fact["content"])
            elif "done" in fact:
                self.acknowledged[path] = fact["content"]
                self.announced[path] = []
                self.count += 1

    def faults(self, root: Path) -> list[str]:
        """Return what is lost or torn."""
        found = []
        for path in {*self.acknowledged, *self.announced}:
            allowed = [self.acknowledged.get(path), *self.announced.get(path, [])]
            place = root / path
            standing = place.read_text() if place.exists() else None
            if standing not in allowed:
                shown = None if standing is None else standing[:60]
                found.append(f"{path}: {shown!r} is none of {[one if one is None else one[:40] for one in allowed]}")
        return found

    def accept(self, root: Path) -> None:
        """Go on from what stands there now."""
        for path in {*self.acknowledged, *self.announced}:
            place = root / path
            self.acknowledged[path] = place.read_text() if place.exists() else None
            self.announced[path] = []
