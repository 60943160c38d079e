"""Programs that know nothing of filetools, each with its own way of saving: run one after the other on one file.

Usage: python -m tests.support.programs WAY FILE SAVES SECONDS SEED

Each save leaves a line `program: NUMBER` in the file. What is printed, a JSON array a save: number, times of the system's
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
from typing import Final, NamedTuple

LINES: Final = 40
ANN_LINE, BOB_LINE = 10, 25
VIM_SHOWS_SECONDS: Final = 1.0
_GIT: Final = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.fsync=none")
_VIM: Final = shutil.which("vim.tiny") or "vim"


class Save(NamedTuple):
    """One save as its program saw it."""

    number: int
    began_ns: int
    ended_ns: int
    is_done: bool


def token(number: int) -> str:
    """Return the line that a save leaves."""
    return f"program: {number}\n"


def text_of(number: int) -> str:
    """Return a whole text, for programs that do not ask what stands there."""
    lines = [f"line {line}\n" for line in range(LINES)]
    lines[ANN_LINE], lines[BOB_LINE] = "ann: 0\n", "bob: 0\n"
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


def sed(place: Path, number: int) -> bool:
    # In this order: what deletes the last line ends its turn.
    return _ran("sed", "-i", "-e", f"$a {token(number)[:-1]}", "-e", "/^program: /d", str(place))


def shell(place: Path, number: int) -> bool:
    return _ran("sh", "-c", 'printf %s "$1" > "$2"', "sh", text_of(number), str(place))


def rsync(place: Path, number: int, *options: str) -> bool:
    source = place.parent.parent / "source.txt"
    source.write_text(text_of(number))
    return _ran("rsync", "--ignore-times", *options, str(source), str(place))


def written_and_renamed(place: Path, number: int) -> bool:
    temporary = place.with_name(f".{place.name}.tmp")
    temporary.write_text(_changed(place, number))
    temporary.rename(place)
    return True


def truncated_and_written(place: Path, number: int) -> bool:
    """As an editor saves in place: truncated at once, written in pieces."""
    text = _changed(place, number)
    with place.open("w") as file:
        for start in range(0, len(text), 150):
            file.write(text[start : start + 150])
            file.flush()
            time.sleep(random.uniform(0, 0.0005))
    return True


def checked_out(place: Path, number: int) -> bool:
    return _ran(*_GIT, "-C", str(place.parent), "checkout", "-q", f"v{number}", "--", place.name)


def stashed(place: Path, number: int) -> bool:
    """A change that is put aside and taken out again."""
    git = (*_GIT, "-C", str(place.parent))
    place.write_text(text_of(number))
    return _ran(*git, "stash", "push", "-q") and _ran(*git, "checkout", "-q", "stash@{0}", "--", place.name)


def _changed(place: Path, number: int) -> str:
    lines = [line for line in place.read_text().splitlines(keepends=True) if not line.startswith("program: ")]
    return "".join(lines) + token(number)


def _ran(*command: str) -> bool:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def make_repository(place: Path, saves: int) -> None:
    """Make a repository in the folder of a file, with a tag `vNUMBER` for the text of each save."""
    folder = str(place.parent)
    subprocess.run(("git", "init", "-q", folder), check=True)
    parts = []
    for number in range(saves + 1):
        text, about = text_of(number), f"committer a <a@example.org> {number + 1} +0000\ndata 1\nx\n"
        parts.append(f"commit refs/tags/v{number}\n{about}M 644 inline {place.name}\ndata {len(text)}\n{text}\n")
    subprocess.run(("git", "-C", folder, "fast-import", "--quiet"), input="".join(parts).encode(), check=True)
    subprocess.run(("git", "-C", folder, "update-ref", "HEAD", "v0"), check=True)
    subprocess.run(("git", "-C", folder, "reset", "-q", "--hard"), check=True)


WAYS: Final[dict[str, tuple[str, Callable[[Path, int], bool]]]] = {
    "vim, in place": (_VIM, lambda place, number: vim(place, number, way="yes")),
    "vim, renaming": (_VIM, lambda place, number: vim(place, number, way="no")),
    "sed": ("sed", sed),
    "shell": ("sh", shell),
    "rsync": ("rsync", rsync),
    "rsync, in place": ("rsync", lambda place, number: rsync(place, number, "--inplace")),
    "git checkout": ("git", checked_out),
    "git stash": ("git", stashed),
    "write and rename": ("sh", written_and_renamed),
    "truncate and write": ("sh", truncated_and_written),
}
"""The program each way needs, and how it saves."""


LONGEST_WAIT_SECONDS = 30.0


def main(way: str, file: str, saves: str, seconds: str, seed: str) -> None:
    """Save until the number or the time is reached."""
    random.seed(seed)
    place, save = Path(file), WAYS[way][1]
    deadline = time.monotonic() + float(seconds)
    has_saved = False
    for number in range(1, int(saves) + 1):
        began = time.monotonic_ns()
        try:
            is_done = save(place, number)
        except FileNotFoundError:
            is_done = False
        sys.stdout.write(json.dumps(Save(number, began, time.monotonic_ns(), is_done)) + "\n")
        sys.stdout.flush()
        has_saved = has_saved or is_done
        # One that gives up now and then is tried until it has saved at least once.
        if time.monotonic() > deadline + (0 if has_saved else LONGEST_WAIT_SECONDS):
            break
        time.sleep(random.choice((0.0, 0.002, 0.02)))


if __name__ == "__main__":
    os.umask(0o022)
    main(*sys.argv[1:])
