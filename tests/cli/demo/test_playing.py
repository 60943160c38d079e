from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from filetools.cli.demo import Scene, Stage, play
from filetools.cli.demo.edits import append, insert
from filetools.cli.demo.marks import mark_of
from filetools.cli.demo.scenes.together import Together
from filetools.content.text_edits import TextEdit
from filetools.models.records import Actor
from tests.support.opened import until_watched
from tests.support.terminal import CommandLine


class Vandal(Scene):
    """Spoils one thing behind the back of everybody."""

    title = "A vandal"

    async def play(self, stage: Stage) -> None:
        await stage.edit("alice", "README.md", append)
        await until_watched(stage.files, stage.root)
        await self.spoil(stage)

    async def spoil(self, stage: Stage) -> None:
        raise NotImplementedError


class Eraser(Vandal):
    """Another program takes an acknowledged edit away."""

    async def spoil(self, stage: Stage) -> None:
        # In one step: writing over the file would tear it as well, before the eyes of the reader.
        spare = stage.root / "README.md.swp"
        spare.write_bytes(stage.originals["README.md"])
        spare.replace(stage.root / "README.md")


class Liar(Vandal):
    """An edit is acknowledged that was never made."""

    async def spoil(self, stage: Stage) -> None:
        stage.ledger.acknowledged.add(mark_of("ghost", 1))


class Forgetter(Vandal):
    """Another program says that it wrote, and nobody has its text."""

    async def spoil(self, stage: Stage) -> None:
        stage.ledger.foreign[mark_of("shell", 9)] = "Makefile"


class Tearer(Vandal):
    """Half a file stays behind."""

    async def spoil(self, stage: Stage) -> None:
        file = stage.root / "docs" / "guide.md"
        file.write_bytes(file.read_bytes()[:50])


class MirrorBreaker(Vandal):
    """The mirror holds something else."""

    async def spoil(self, stage: Stage) -> None:
        (stage.mirror / "Makefile").write_text("drift\n")


@pytest.mark.parametrize(
    ("vandal", "broken"),
    [
        (Eraser(), ["lost"]),
        (Liar(), ["lost"]),
        (Forgetter(), ["lost", "foreign changes recorded"]),
        (Tearer(), ["torn"]),
        (MirrorBreaker(), ["mirror equal"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_demo_fails_when_something_is_spoilt(
    vandal: Scene, broken: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not play([vandal])
    assert _broken(capsys.readouterr().out) == broken


def test_the_demo_fails_after_a_good_scene_too(capsys: pytest.CaptureFixture[str]) -> None:
    scenes: Sequence[Scene] = (Together(), Liar())
    assert not play(scenes)
    assert _broken(capsys.readouterr().out) == ["lost"]


class Typist(Scene):
    """A person at the page types over a whole file, does not save it, and an agent edits what is typed."""

    title = "A typist"

    async def play(self, stage: Stage) -> None:
        person = stage.files.for_actor(Actor(kind="editor", id="you", session="page"))
        opened = await person.buffers.open("README.md")
        length = len((await person.read_file("README.md")).content)
        typed = [TextEdit(0, length, "# typed\n")]
        await person.buffers.change(opened.handle, buffer_version=opened.buffer_version, edits=typed)
        await stage.edit("alice", "README.md", insert)


def test_an_edit_of_text_that_a_person_does_not_save_is_not_called_lost(capsys: pytest.CaptureFixture[str]) -> None:
    assert play([Typist()])
    assert "1: 1 in unsaved text" in capsys.readouterr().out


def test_the_demo_holds_what_it_promises(run: CommandLine) -> None:
    with run.as_module("demo") as process:
        output, errors = (written.decode() for written in process.communicate())
    assert process.returncode == 0, output + errors
    lines = output.splitlines()
    table = dict(re.split(r" {2,}", line.strip())[:2] for line in lines[-11:])
    begun = re.fullmatch(r"(\d+): (\d+) done, 1 refused, 1 taken back(?:, (\d+) cut off)?", table["edits begun"])
    assert begun is not None
    assert int(begun[1]) == int(begun[2]) + 2 + int(begun[3] or 0)
    assert int(begun[2]) >= 50
    assert table["lost"] == f"0 of {begun[2]} that were done"
    assert table["refused or taken back"] == "0 of 2 are in a file"
    assert (table["journal equals disk"], table["mirror equal"]) == ("yes", "yes")
    assert re.fullmatch(r"0 of \d{3,} reads by another program", table["torn"])
    assert table["merged"].startswith("2 ")
    assert table["foreign changes recorded"].startswith("8 of 8 ")
    assert table["mirror caught up"].startswith("8 of 8 ")
    recovered = re.match(r"(\d+) of (\d+) ", table["recovered after the kill"])
    assert recovered is not None
    assert recovered[1] == recovered[2]
    assert errors == (
        "warning: mirror 'mirror' is left behind: Synchronisation failed: its folder is gone or was emptied\n"
    )
    assert max(map(len, lines)) <= 80


def test_the_demo_shows_texts_in_a_screen_or_two(run: CommandLine) -> None:
    output = run("demo").text
    assert len(output.splitlines()) <= 60
    assert not re.search(r"\d+  alice +modified", output)
    for line in (r"\+ <!-- alice: .+ -->", r"\+ <!-- bob: .+ -->", r"\+ <!-- shell: .+ -->", r"\+ # ann: .+"):
        assert re.search(rf"^    {line}$", output, re.MULTILINE), line
    assert "alice reads the file and sees it; on the disk it is not" in output
    assert "that goes into ann's editor, not to the disk" in output
    refused = output.partition("EDIT_CONFLICT")[2].splitlines()[1:4]
    assert [line.split()[0] for line in refused] == ["ann", "ann", "bob"]
    assert "# ann: " in refused[0]
    assert "# bob: " in refused[2]


def test_the_scene_of_a_run_tells_it_and_takes_it_back(run: CommandLine) -> None:
    done = run("demo", "--only", "run")
    checks = [line.strip().partition(":")[0] for line in done.lines if line.startswith(("  ok: ", "  BROKEN: "))]
    assert (done.code, done.error, checks) == (0, "", ["ok"] * 9)
    assert max(map(len, done.lines)) <= 80


def _broken(output: str) -> list[str]:
    return [re.split(r" {2,}", line)[0] for line in output.splitlines() if "BROKEN" in line]
