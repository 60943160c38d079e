"""Two agents and a person edit one plan through plain files: python broken.py"""

import asyncio
import tempfile
from pathlib import Path

NAMES = ("alice", "bob", "ann")


async def edit(plan: Path, name: str) -> None:
    for number in range(10):
        text = plan.read_text()
        await asyncio.sleep(0.01)  # an agent thinks, a person types
        plan.write_text(text.replace(f"## {name}\n", f"## {name}\n- {name} {number}\n"))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.md"
        plan.write_text("".join(f"## {name}\n\n" for name in NAMES))
        await asyncio.gather(*(edit(plan, name) for name in NAMES))
        found = plan.read_text().count("- ")
    print(f"lost: {30 - found} of 30 edits")


asyncio.run(main())
