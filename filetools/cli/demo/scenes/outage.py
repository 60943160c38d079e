"""The mirror goes away in the middle of the work and comes back."""

from __future__ import annotations

import shutil
from typing import Final

from filetools.cli.demo.edits import append, insert
from filetools.cli.demo.marks import line_with, marks_in
from filetools.cli.demo.scenes.scene import Scene
from filetools.cli.demo.stage import Stage, read_tree
from filetools.settings import STATE_DIRECTORY

_PATHS: Final = ("README.md", "src/tally/main.py", "docs/guide.md", "data/words.txt")


class Outage(Scene):
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
        stage.narrator.say("its folder is taken away; alice and bob go on, and what it misses is noted")
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
        stage.narrator.say(f"it is back, and lacks {len(lacking)} lines, such as")
        first = min((mark for mark in lacking if mark.startswith("alice-")), default="")
        if first:
            stage.narrator.show("+ " + line_with(first, _PATHS[0]))
        await stage.open()
        if await stage.until(stage.is_mirror_up):
            held = {mark for content in read_tree(stage.mirror).values() for mark in marks_in(content)}
            stage.narrator.say(f"opened again: it has caught up, {len(lacking & held)} of {len(lacking)}")


async def _edit(stage: Stage) -> None:
    for path in _PATHS:
        await stage.edit("alice", path, insert)
        await stage.edit("bob", path, append if path.endswith(".md") else insert)
