"""The play: the stage is set, the scenes follow each other, and the count decides about the exit code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from filetools.cli.demo.audience import page_of
from filetools.cli.demo.evidence import Finding, findings, gather
from filetools.cli.demo.frameworks import play_frameworks
from filetools.cli.demo.history import play_history
from filetools.cli.demo.large import play_large
from filetools.cli.demo.readers import Reader
from filetools.cli.demo.run import play_run
from filetools.cli.demo.scenes.crash import Crash
from filetools.cli.demo.scenes.outage import Outage
from filetools.cli.demo.scenes.person import Person
from filetools.cli.demo.scenes.scene import Scene
from filetools.cli.demo.scenes.together import Together
from filetools.cli.demo.stage import staged
from filetools.cli.demo.strangers import REWRITTEN
from filetools.cli.terminal import STDOUT, print_json

SCENES: Final[tuple[Scene, ...]] = (Together(), Person(), Outage(), Crash())
"""What is played if nobody asks for a single one."""
ALONE: Final = {
    "large": lambda: asyncio.run(play_large()),
    "run": play_run,
    "history": play_history,
    "frameworks": play_frameworks,
}
"""The scenes that have a folder of their own and are played alone."""


def scene_names() -> tuple[str, ...]:
    """Return the names of all scenes."""
    return (*(type(scene).__name__.lower() for scene in SCENES), *ALONE)


def play_only(name: str, *, as_json: bool = False, on_page: bool = False) -> bool:
    """Play the scene of a name; as `play`."""
    if name not in ALONE:
        scenes = [scene for scene in SCENES if type(scene).__name__.lower() == name]
        return play(scenes, as_json=as_json, on_page=on_page)
    STDOUT.console.quiet = as_json
    try:
        holds = ALONE[name]()
    finally:
        STDOUT.console.quiet = False
    if as_json:
        print_json({"success": holds, "data": {"scene": name}})
    return holds


def play(scenes: Sequence[Scene], *, as_json: bool = False, on_page: bool = False) -> bool:
    """Play scenes on a fresh stage, print what happens and the count at the end; with `as_json` the count alone.

    With `on_page` they are played in the editor page, too.

    Returns:
        Whether everything held that filetools promises.
    """
    started = time.monotonic()
    STDOUT.console.quiet = as_json
    try:
        found = asyncio.run(_play(scenes, on_page=on_page))
    finally:
        STDOUT.console.quiet = False
    found.append(Finding(name="seconds", value=f"{time.monotonic() - started:.1f}"))
    holds = all(finding.holds for finding in found)
    if as_json:
        print_json({"success": holds, "data": {finding.name: finding.value for finding in found}})
    else:
        _print(found)
    return holds


async def _play(scenes: Sequence[Scene], *, on_page: bool) -> list[Finding]:
    async with staged() as stage, page_of(stage) if on_page else nullcontext():
        narrator = stage.narrator
        narrator.say(f"a project of {len(stage.originals)} files in a temporary folder, opened with a mirror beside it")
        watched = {path: content for path, content in stage.originals.items() if path != REWRITTEN}
        reader = Reader(stage.root, watched)
        reader.start()
        try:
            for scene in scenes:
                await scene.prepare(stage)
            for scene in scenes:
                narrator.heading(scene.title)
                before = await stage.files.position()
                await stage.pause(2)
                await scene.play(stage)
                await stage.pause(2)
                narrator.count((await stage.files.changes(before)).records)
            evidence = await gather(stage)
        finally:
            reader.stop()
        return findings(stage, evidence, reader)


def _print(found: Sequence[Finding]) -> None:
    stage_end = Rule(Text("What is left of it", style="bold"), align="left", style="dim")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    for finding in found:
        verdict = Text("ok", style="green") if finding.holds else Text("BROKEN", style="bold red")
        table.add_row(finding.name, Text(finding.value, style="bold"), verdict)
    STDOUT.print()
    STDOUT.print(stage_end, soft_wrap=False)
    STDOUT.print(table, soft_wrap=False)
