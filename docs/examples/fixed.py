"""The same two agents and person edit the plan through filetools: python fixed.py"""

import asyncio
import tempfile
from pathlib import Path

import filetools

NAMES = ("alice", "bob", "ann")


async def edit(files: filetools.FileToolsFacade, name: str) -> None:
    for number in range(10):
        text = (await files.read_file("plan.md")).content
        await asyncio.sleep(0.01)  # an agent thinks, a person types
        await files.write_file("plan.md", text.replace(f"## {name}\n", f"## {name}\n- {name} {number}\n"))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.md"
        plan.write_text("".join(f"## {name}\n\n" for name in NAMES))
        async with filetools.open(folder) as files:
            actors = [filetools.Actor(kind="editor" if name == "ann" else "agent", id=name) for name in NAMES]
            await asyncio.gather(*(edit(files.for_actor(actor), actor.id) for actor in actors))
        found = plan.read_text().count("- ")
    print(f"lost: {30 - found} of 30 edits")


asyncio.run(main())
