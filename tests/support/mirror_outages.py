"""Processes that write to a root with a mirror until they are killed, while its folder vanishes, is replaced or comes back.

As a program, it is one such process: `python -m tests.support.mirror_outages ROOT MIRROR SEED`; it ends when its input does.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import filetools
from filetools.errors import FileToolsError
from tests.support.storms.pictures import differences, on_disk

SETTINGS: Final[dict[str, Any]] = {
    "durability": "relaxed", "mirror_probe_seconds": 0.05, "sync_after_seconds": 0.05, "watch": True
}  # fmt: skip
EVENTS: Final = 14
SPARSE_BYTES: Final = 12 * 1024 * 1024
REST_SECONDS: Final = 60.0
_NAMES, _FOLDERS = [f"{name}.txt" for name in "uvwxyz"], ["", "a/", "a/b/", "c/", "e/"]


def outages(folder: Path, seed: int, mirror: Path) -> list[str]:
    """Run one seed; returns where root and mirror differ at rest.

    Args:
        folder: An empty folder for the root.
        seed: Decides about all but the order of the processes.
        mirror: Where the mirror will be; its former folders stay beside it.
    """
    chance, root, former = Random(seed), folder / "root", list[Path]()
    root.mkdir()
    with (root / "sparse").open("wb") as file:
        file.truncate(SPARSE_BYTES)
    writer = _started(root, mirror, f"{seed}")
    try:
        for number in range(EVENTS):
            time.sleep(chance.random() * 0.25)
            with suppress(OSError):
                _save(chance, root)
                (root / f"rare{chance.randrange(20)}.txt").write_text(
                    f"{number}"
                )  # which a wrong folder lacks for good
            match chance.choice(("kill", "outage", "file", "fresh", "former")):
                case "kill":
                    writer.kill()
                    writer.communicate()
                    writer = _started(root, mirror, f"{seed} {number}")
                case "outage" | "file" as way if mirror.exists():
                    aside = mirror.with_name("aside")
                    mirror.rename(aside)
                    if way == "file" and not mirror.exists():
                        mirror.write_text("no folder")
                    time.sleep(chance.random() * 0.2)
                    _put(aside, mirror)
                case "fresh" if mirror.exists():
                    former.append(mirror.with_name(f"former{number}"))
                    mirror.rename(former[-1])
                    mirror.mkdir(exist_ok=True)
                case "former" if former:
                    _put(former.pop(chance.randrange(len(former))), mirror)
    finally:
        if chance.random() < 0.5:
            writer.kill()
        writer.communicate(timeout=60)
    return asyncio.run(_faults_at_rest(root, mirror))


def _started(root: Path, mirror: Path, seed: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", __name__, str(root), str(mirror), seed]
    writer = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def _put(folder: Path, mirror: Path) -> None:
    """Put a folder at the mirror's place, which a process may fill at this moment."""
    for _ in range(1000):
        if mirror.is_dir():
            shutil.rmtree(mirror, ignore_errors=True)
        else:
            mirror.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rename(mirror)
            return


def _save(chance: Random, root: Path) -> None:
    place = root / chance.choice(_FOLDERS) / chance.choice(_NAMES)
    match chance.randrange(5):
        case 4:
            with (root / "sparse").open("r+b") as file:
                file.seek(chance.randrange(SPARSE_BYTES - 1000))
                file.write(chance.randbytes(1000))
        case 0:
            place.write_text(chance.choice("pq") * chance.randrange(1, 2000))
        case 1:
            place.unlink()
        case 2:
            place.rename(root / chance.choice(_FOLDERS) / chance.choice(_NAMES))
        case _:
            place.chmod(chance.choice((0o600, 0o644, 0o755)))


async def _faults_at_rest(root: Path, mirror: Path) -> list[str]:
    async with filetools.open(root, mirror=mirror, settings=SETTINGS) as files:
        await files.look()
        deadline = time.monotonic() + REST_SECONDS
        while True:
            try:
                faults = differences("mirror", on_disk(mirror), on_disk(root))
            except OSError as exc:
                faults = [str(exc)]
            if not faults:
                return []
            if time.monotonic() > deadline:
                return [*faults, str((await files.status())["mirrors"])]
            await asyncio.sleep(0.1)


async def _write(root: str, mirror: str, seed: str) -> None:
    async with filetools.open(root, mirror=mirror, settings=SETTINGS) as files:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        parties = [asyncio.create_task(_party(files, Random(f"{seed} {number}"))) for number in range(3)]
        await asyncio.to_thread(sys.stdin.read)
        for party in parties:
            party.cancel()
        await asyncio.gather(*parties, return_exceptions=True)


async def _party(files: filetools.FileToolsFacade, chance: Random) -> None:
    while True:
        path, other = (chance.choice(_FOLDERS) + chance.choice(_NAMES) for _ in range(2))
        folder, another = chance.sample(("a", "a/b", "c", "e"), 2)
        with suppress(FileToolsError):
            match chance.randrange(10):
                case 0:
                    await files.delete_file(path)
                case 1 | 2:
                    await files.move_file(path, other, overwrite=True)
                case 3:
                    await files.move_file(folder, another)
                case 4:
                    await files.delete_directory(folder, recursive=True)
                case 5:
                    await files.undo()
                case _:
                    await files.write_file(path, f"{chance.choice('abc')}\n" * chance.randrange(1, 3000))
        await asyncio.sleep(chance.random() * 0.01)


if __name__ == "__main__":
    asyncio.run(_write(*sys.argv[1:]))
