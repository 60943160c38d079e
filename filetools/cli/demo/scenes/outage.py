"""The mirror goes away in the middle of the work and comes back."""

from __future__ import annotations

import shutil
from typing import Final

from filetools.cli.demo.edits import append, insert
from filetools.cli.demo.marks import marks_in
from filetools.cli.demo.stage import Stage, read_tree
from filetools.settings import STATE_DIRECTORY

_PATHS: Final = ("README.md", "src/tally/main.py", "docs/guide.md", "data/words.txt")


class Outage:
    """The primary decides: work goes on without the mirror, and what it lacks is remembered even while all is closed."""

    title = "The mirror goes away; the work goes on"

    async def play(self, stage: Stage) -> None:
        """Take the mirror away, edit, put it back, and open the workspace anew."""
        # Not by permissions, which do not bind root: the folder gets another name and loses what it is written through,
        # and what stands at its name is no folder, as when a disk is pulled.
        away = stage.mirror.with_name("mirror-away")
        stage.mirror.rename(away)
        shutil.rmtree(away / STATE_DIRECTORY)
        stage.mirror.touch()
        await stage.narrator.say("its folder is taken away: one warning, and what it lacks is noted")
        before = stage.ledger.acknowledged.copy()
        try:
            await _edit(stage)
        finally:
            stage.mirror.unlink()
            away.rename(stage.mirror)
        edits = stage.ledger.acknowledged - before
        lacking = edits - {mark for content in read_tree(stage.mirror).values() for mark in marks_in(content)}
        stage.ledger.missed_by_mirror |= lacking
        await stage.close()
        await stage.narrator.say(f"{len(lacking)} edits were acknowledged without the mirror; now it is back")
        await stage.open()
        if await stage.until(stage.is_mirror_up):
            await stage.narrator.say("opened again: the mirror has caught up")


async def _edit(stage: Stage) -> None:
    for path in _PATHS:
        await stage.edit("alice", path, insert)
        await stage.edit("bob", path, append if path.endswith(".md") else insert)
