"""What a scene is."""

from __future__ import annotations

from typing import Protocol

from filetools.cli.demo.stage import Stage


class Scene(Protocol):
    """One part of the play. It does something on the stage and keeps the books; judging comes at the end, for all."""

    @property
    def title(self) -> str:
        """Heading shown to the audience."""

    async def prepare(self, stage: Stage) -> None:
        """Start, before the first scene, what takes a while to be ready."""
        return

    async def play(self, stage: Stage) -> None:
        """Do it."""
