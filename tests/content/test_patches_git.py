from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

from filetools.content.differences.diff import unified_diff
from filetools.content.ends import split_lines
from filetools.content.formats import TextFormat
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.errors import FileToolsError
from tests.support.merging import DOSE

UTF8 = TextFormat(encoding="utf-8", bom=b"")
TRIES = max(1, int(60 * DOSE))


def random_text(random: Random, variety: int) -> str:
    lines = [f"line {random.randrange(variety)}" + random.choice("\n\n\n\r") for _ in range(random.randrange(30))]
    return "".join(line.replace("\r", "\r\n") for line in lines) + random.choice(["", "", "end"])


def changed(random: Random, text: str) -> str:
    lines = split_lines(text)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(lines) + 1)
        lines[at : at + random.randrange(3)] = [f"new {random.randrange(9)}\n" for _ in range(random.randrange(3))]
    return "".join(line if line.endswith("\n") or line is lines[-1] else f"{line}\n" for line in lines)


def test_own_diffs_apply_as_git_applies_them(tmp_path: Path) -> None:
    random = Random(5)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file, diff = tmp_path / "f", tmp_path / "diff"
    both = 0
    for number in range(TRIES):
        old = random_text(random, random.choice([2, 5, 50]))
        new = changed(random, old)
        patch = unified_diff(old, new, "a/f", "b/f")
        if not patch:
            continue
        # Every other time the file has moved on.
        current = old if number % 2 else "before\n" * random.randrange(4) + old
        file.write_bytes(current.encode())
        diff.write_bytes(patch.encode())
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "diff"], cwd=tmp_path, capture_output=True, check=False
        )
        try:
            ours = apply_file_patch(current.encode(), UTF8, parse_patch(patch)[0], path="f").content
        except FileToolsError:
            assert current != old
            continue
        if current == old:
            assert (ours, done.returncode) == (new.encode(), 0)
        if done.returncode == 0:
            both += 1
            assert ours == file.read_bytes()
    assert both > TRIES // 3


def test_diffs_of_git_are_read_as_git_wrote_them(tmp_path: Path) -> None:
    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", tmp_path, *arguments], capture_output=True, check=True).stdout

    git("init", "-q")
    lines = "".join(f"line {number}\n" for number in range(20))
    before = {"move me.txt": lines, "gone": "x\n", "käse": "1\r\n2\r\n", "script": "s\n", "late": "no end"}
    after = {
        "moved\t.txt": lines.replace("line 7\n", "seven\n"),
        "käse": "1\r\nzwei\r\n",
        "script": "s\n",
        "late": "an end\n",
        "new": "n",
    }
    for name, text in before.items():
        (tmp_path / name).write_bytes(text.encode())
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "before")
    for name in before:
        (tmp_path / name).unlink()
    for name, text in after.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "script").chmod(0o755)
    git("add", "-A")
    found = parse_patch(git("diff", "--cached", "-M", "--no-ext-diff").decode())
    assert {(patch.kind, patch.path, patch.move_to, patch.mode) for patch in found} == {
        ("update", "move me.txt", "moved\t.txt", None),
        ("delete", "gone", None, None),
        ("update", "käse", None, None),
        ("update", "script", None, 0o755),
        ("update", "late", None, None),
        ("add", "new", None, 0o644),
    }
    for patch in found:
        content = before.get(patch.path, "").encode()
        made = apply_file_patch(content, UTF8, patch, path=patch.path).content
        assert made == after.get(patch.move_to or patch.path, "").encode()
