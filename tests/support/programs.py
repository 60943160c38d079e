"""Programs that know nothing of filetools, each with its own way of saving: run one after the other on one file.

Usage: python -m tests.support.programs WAY FILE SAVES SECONDS

Each save leaves a line `program: NUMBER` in the file. What is printed, a JSON object a save: number, times of the system's
monotonic clock before and after in nanoseconds, and whether the program said that it succeeded.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

VIM_SHOWS_SECONDS: Final = 1.0
LONGEST_WAIT_SECONDS: Final = 30.0
_GIT: Final = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.fsync=none")
_VIM: Final = shutil.which("vim.tiny") or "vim"


def token(number: int) -> str:
    """Return the line that a save leaves."""
    return f"program: {number}\n"


def text_of(number: int) -> str:
    """Return a whole text, for programs that do not ask what stands there."""
    lines = [f"line {line}\n" for line in range(40)]
    lines[10], lines[25] = "ann: 0\n", "bob: 0\n"
    return "".join(lines) + token(number)


def vim(place: Path, number: int, *, way: str) -> bool:
    """Save with vim, which gives up, after a second of showing why, when it finds the file replaced while it saves."""
    line, saved = (place.parent.parent / name for name in ("line.txt", "saved.txt"))
    line.write_text(token(number))
    saved.unlink(missing_ok=True)
    steps = (f"set backupcopy={way}", "silent! g/^program: /d", f"$r {line}", f"w! | w! {saved}", "qa!")
    commands = [part for step in steps for part in ("-c", step)]
    began = time.monotonic()
    subprocess.run((_VIM, "-Nu", "NONE", "-n", "-es", *commands, str(place)), stdin=subprocess.DEVNULL, check=False)
    gave_up = time.monotonic() - began >= VIM_SHOWS_SECONDS
    return not gave_up and saved.exists() and token(number) in saved.read_text()


def rsync(place: Path, number: int, *options: str) -> bool:
    source = place.parent.parent / "source.txt"
    source.write_text(text_of(number))
    return _ran("rsync", "--ignore-times", *options, str(source), str(place))


def truncated_and_written(place: Path, number: int) -> bool:
    """As an editor saves in place: truncated at once, written in pieces."""
    lines = [line for line in place.read_text().splitlines(keepends=True) if not line.startswith("program: ")]
    text = "".join(lines) + token(number)
    with place.open("w") as file:
        for start in range(0, len(text), 150):
            file.write(text[start : start + 150])
            file.flush()
            time.sleep(random.uniform(0, 0.0005))
    return True


def _ran(*command: str) -> bool:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def make_repository(place: Path, saves: int) -> None:
    """Make a repository in the folder of a file, with a tag `vNUMBER` for the text of each save."""
    parts = []
    for number in range(saves + 1):
        text, about = text_of(number), f"committer a <a@example.org> {number + 1} +0000\ndata 1\nx\n"
        parts.append(f"commit refs/tags/v{number}\n{about}M 644 inline {place.name}\ndata {len(text)}\n{text}\n")
    for command in (
        ("init", "-q"),
        ("fast-import", "--quiet"),
        ("update-ref", "HEAD", "v0"),
        ("reset", "-q", "--hard"),
    ):
        subprocess.run(("git", "-C", str(place.parent), *command), input="".join(parts).encode(), check=True)


WAYS: Final[dict[str, tuple[str, Callable[[Path, int], bool]]]] = {
    "vim, in place": (_VIM, lambda place, number: vim(place, number, way="yes")),
    "vim, renaming": (_VIM, lambda place, number: vim(place, number, way="no")),
    # In this order: what deletes the last line ends its turn.
    "sed": ("sed", lambda place, number: _ran(
        "sed", "-i", "-e", f"$a {token(number)[:-1]}", "-e", "/^program: /d", str(place))),
    "rsync": ("rsync", rsync),
    "rsync, in place": ("rsync", lambda place, number: rsync(place, number, "--inplace")),
    "git checkout": ("git", lambda place, number: _ran(
        *_GIT, "-C", str(place.parent), "checkout", "-q", f"v{number}", "--", place.name)),
    "truncate and write": ("sh", truncated_and_written),
}  # fmt: skip
"""The program each way needs, and how it saves."""


def main(way: str, file: str, saves: str, seconds: str) -> None:
    """Save until the number or the time is reached."""
    random.seed(way)
    place, save = Path(file), WAYS[way][1]
    deadline, has_saved = time.monotonic() + float(seconds), False
    for number in range(1, int(saves) + 1):
        began = time.monotonic_ns()
        try:
            is_done = save(place, number)
        except FileNotFoundError:
            is_done = False
        said = {"number": number, "began": began, "ended": time.monotonic_ns(), "is_done": is_done}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        has_saved = has_saved or is_done
        # One that gives up now and then is tried until it has saved at least once.
        if time.monotonic() > deadline + (0 if has_saved else LONGEST_WAIT_SECONDS):
            break
        time.sleep(random.choice((0.0, 0.002, 0.02)))


if __name__ == "__main__":
    os.umask(0o022)
    main(*sys.argv[1:])
