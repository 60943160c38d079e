"""What an actor has seen decides whether its write is merged, refused with both sides, or written as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.changes.read_tracker import owner_of
from filetools.facade.facade import FileToolsFacade
from tests.support import inside
from tests.support.facade_worker import RELAXED
from tests.support.opened import refused

BOB = Actor(kind="agent", id="bob", session="s")
Call = Callable[[FileToolsFacade], Awaitable[object]]
TEN_LINES = "".join(f"line {number}\n" for number in range(1, 11))


def changed(text: str, number: int, to: str) -> str:
    return text.replace(f"line {number}\n", f"{to}\n")


@pytest.fixture
async def agents(tmp_path: Path) -> AsyncIterator[tuple[FileToolsFacade, FileToolsFacade]]:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        yield (
            files.for_actor(Actor(kind="agent", id="alice", session="s")),
            files.for_actor(Actor(kind="agent", id="bob", session="s")),
        )


@pytest.fixture
def alice(agents: tuple[FileToolsFacade, FileToolsFacade]) -> FileToolsFacade:
    return agents[0]


@pytest.fixture
def bob(agents: tuple[FileToolsFacade, FileToolsFacade]) -> FileToolsFacade:
    return agents[1]


async def both_know(alice: FileToolsFacade, bob: FileToolsFacade, text: str = TEN_LINES) -> None:
    await alice.write_file("a.txt", text)
    await bob.read_file("a.txt")


async def test_overlapping_changes_are_refused_with_both_sides(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    await both_know(alice, bob)
    first = await alice.write_file("a.txt", changed(TEN_LINES, 5, "alice"))
    error = await refused("EDIT_CONFLICT", bob.write_file("a.txt", changed(TEN_LINES, 5, "bob")))
    assert error.details["current_version"] == first.version
    assert [(one["current"], one["yours"], one["base"], one["line"]) for one in error.details["conflicts"]] == [
        ("alice\n", "bob\n", "line 5\n", 5)
    ]
    assert "-line 5" in error.details["diff"]
    assert (tmp_path / "a.txt").read_text() == changed(TEN_LINES, 5, "alice")


async def test_changes_that_do_not_touch_are_merged_and_reported(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    await both_know(alice, bob)
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    result = await bob.write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    merged = changed(changed(TEN_LINES, 2, "alice"), 9, "bob")
    assert (tmp_path / "a.txt").read_text() == merged
    assert (result.merged, result.version) == (True, (await bob.read_file("a.txt")).version)
    assert [hunk["lines"] for hunk in result.foreign] == [["-line 2", "+alice"]]


async def test_a_full_write_after_a_merged_one_does_not_delete_the_other_sides_line(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    """The trap: bob's second write is based on the text that bob sent, which never had alice's line."""
    await both_know(alice, bob)
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    sent = changed(TEN_LINES, 9, "bob")
    merged = await bob.write_file("a.txt", sent)
    await bob.write_file("a.txt", changed(sent, 7, "bob again"), expected_version=merged.version)
    text = (tmp_path / "a.txt").read_text()
    assert text == changed(changed(changed(TEN_LINES, 2, "alice"), 9, "bob"), 7, "bob again")


async def test_equal_bytes_do_not_conflict(alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path) -> None:
    await both_know(alice, bob)
    first = await bob.read_file("a.txt")
    same = changed(TEN_LINES, 5, "same")
    await alice.write_file("a.txt", same)
    result = await bob.write_file("a.txt", same, expected_version=first.version, on_stale="merge")
    assert (result.unchanged, result.number) == (True, None)
    (tmp_path / "a.txt").touch()
    again = await bob.write_file("a.txt", same)
    assert (again.unchanged, again.warnings) == (True, [])
    assert (await bob.write_file("a.txt", changed(same, 1, "bob"))).merged is False


async def test_a_part_of_what_another_program_changed_leaves_the_rest_of_it(
    alice: FileToolsFacade, tmp_path: Path
) -> None:
    first = await alice.write_file("notes.md", "one two three four five\n")
    (tmp_path / "notes.md").write_text("ONE two three four FIVE\n")
    result = await alice.write_file(
        "notes.md", "ONE two three four five\n", expected_version=first.version, on_stale="merge"
    )
    assert (result.unchanged, result.merged) == (True, True)
    assert (tmp_path / "notes.md").read_text() == "ONE two three four FIVE\n"


async def test_of_two_who_count_on_with_a_version_one_is_refused(
    alice: FileToolsFacade, bob: FileToolsFacade, agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    (tmp_path / "n.txt").write_text("7")
    read = [await files.read_file("n.txt") for files in agents]
    await alice.write_file("n.txt", "8", expected_version=read[0].version)
    await refused("VERSION_MISMATCH", bob.write_file("n.txt", "8", expected_version=read[1].version))
    items = [{"path": "n.txt", "content": "8", "expected_version": read[1].version}]
    assert (await refused("BATCH_FAILED", bob.write_multiple(items))).details["cause"] == "VERSION_MISMATCH"


async def test_a_stale_expected_version_is_refused_unless_merging_is_asked_for(
    alice: FileToolsFacade, bob: FileToolsFacade
) -> None:
    await both_know(alice, bob)
    known = await bob.read_file("a.txt")
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    proposal = changed(TEN_LINES, 9, "bob")
    error = await refused("VERSION_MISMATCH", bob.write_file("a.txt", proposal, expected_version=known.version))
    assert error.details["current_version"] == (await alice.file_info("a.txt")).version
    assert "-line 2\n+alice\n" in error.details["diff"]
    assert (await bob.write_file("a.txt", proposal, expected_version=known.version, on_stale="merge")).merged


async def test_a_write_by_who_has_seen_nothing_replaces_and_names_what_it_replaced(
    alice: FileToolsFacade, bob: FileToolsFacade
) -> None:
    first = await alice.write_file("a.txt", "alice\n")
    result = await bob.write_file("a.txt", "bob\n")
    assert (result.merged, result.replaced_version) == (False, first.version)
    assert (await bob.read_file("a.txt", version=first.version)).content == "alice\n"


@pytest.mark.parametrize("change", ["binary", "gone"])
async def test_what_cannot_be_merged_is_a_conflict(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path, change: str
) -> None:
    await both_know(alice, bob)
    known = await bob.read_file("a.txt")
    if change == "binary":
        (tmp_path / "a.txt").write_bytes(b"\x00\x01\x02")
    else:
        (tmp_path / "a.txt").unlink()
    stale = bob.write_file("a.txt", "bob\n", expected_version=known.version, on_stale="merge")
    for call in (stale, bob.write_file("a.txt", "bob\n")):
        await refused("EDIT_CONFLICT", call)


async def in_parts(bob: FileToolsFacade) -> None:
    for first in range(1, 12, 2):
        await bob.read_file("a.txt", offset=first, limit=2)


READS: dict[str, Call] = {
    "all parts, LF": in_parts,
    "the whole, CRLF": lambda bob: bob.read_file("a.txt"),
}


@pytest.mark.parametrize("name", READS)
async def test_another_programs_save_is_merged_like_anybodys(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path, name: str
) -> None:
    _, bob = agents
    end = b"\r\n" if "CRLF" in name else b"\n"
    (tmp_path / "a.txt").write_bytes(TEN_LINES.encode().replace(b"\n", end))
    await READS[name](bob)
    (tmp_path / "a.txt").write_bytes(changed(TEN_LINES, 2, "person").encode().replace(b"\n", end))
    await bob.write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    expected = changed(changed(TEN_LINES, 2, "person"), 9, "bob").encode().replace(b"\n", end)
    assert (tmp_path / "a.txt").read_bytes() == expected


async def test_deleting_or_moving_what_moved_on_is_refused(alice: FileToolsFacade, bob: FileToolsFacade) -> None:
    await both_know(alice, bob)
    await alice.write_file("a.txt", "alice\n")
    await refused("VERSION_MISMATCH", bob.delete_file("a.txt"))
    await refused("VERSION_MISMATCH", bob.move_file("a.txt", "b.txt"))
    await bob.write_file("c.txt", "c\n")
    await refused("VERSION_MISMATCH", bob.move_file("c.txt", "a.txt", overwrite=True))
    await bob.read_file("a.txt")
    await bob.delete_file("a.txt")


async def test_own_edits_and_appends_do_not_conflict(agents: tuple[FileToolsFacade, FileToolsFacade]) -> None:
    alice, _ = agents
    await alice.write_file("a.txt", TEN_LINES)
    await alice.edit_file("a.txt", [Edit(old="line 5", new="five")])
    await alice.edit_file("a.txt", [Edit(old="line 6", new="six")])
    await alice.append_file("a.txt", "more\n")
    await alice.delete_file("a.txt")
    await alice.write_file("b.txt", "1\n")
    await alice.append_file("b.txt", "2\n")
    assert (await alice.write_file("b.txt", "3\n")).merged is False


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ("edit", "nothing"), ("append", "the version"), ("patch", "a prefix of it"), ("undo", "nothing"),
        ("copy", "the version"), ("move", "a prefix of it"), ("edit", "the version"), ("move", "nothing"),
    ],
)  # fmt: skip
async def test_the_author_of_the_current_text_replaces_it_without_a_merge(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path, how: str, names: str
) -> None:
    """An actor's own change is neither merged back in nor in conflict with its next one."""
    alice, _ = agents
    (tmp_path / "a.txt").write_text(TEN_LINES)
    await alice.read_file("a.txt")
    await make_own_change(alice, how)
    version = (await alice.file_info("a.txt")).version
    assert version is not None
    expected = {"nothing": None, "the version": version, "a prefix of it": version[7:19]}[names]
    sent = changed(TEN_LINES, 5, "mine")
    result = await alice.write_file("a.txt", sent, expected_version=expected)
    assert (result.merged, (tmp_path / "a.txt").read_text()) == (False, sent)


async def make_own_change(files: FileToolsFacade, how: str) -> None:
    match how:
        case "edit":
            await files.edit_file("a.txt", [Edit(old="line 5", new="five")])
            await files.edit_file("a.txt", [Edit(old="line 6", new="six")])
        case "append":
            await files.append_file("a.txt", "more\n")
        case "patch":
            await files.apply_patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-line 5\n+five\n*** End Patch\n")
        case "undo":
            await files.write_file("a.txt", changed(TEN_LINES, 5, "five"))
            await files.undo()
        case "copy":
            await files.write_file("b.txt", changed(TEN_LINES, 5, "five"))
            await files.copy_file("b.txt", "a.txt", overwrite=True)
        case _:
            await files.edit_file("a.txt", [Edit(old="line 5", new="five")])
            await files.move_file("a.txt", "b.txt")
            await files.move_file("b.txt", "a.txt")


async def test_an_edit_of_a_text_that_others_changed_leaves_what_is_known(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    await both_know(alice, bob)
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    edited = await bob.edit_file("a.txt", [Edit(old="line 5", new="five")])
    sent = changed(changed(TEN_LINES, 5, "five"), 9, "nine")
    assert (await bob.write_file("a.txt", sent, expected_version=edited.version)).merged
    assert (tmp_path / "a.txt").read_text() == changed(sent, 2, "alice")


@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_file_that_its_actor_has_moved_is_known_at_its_new_path(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path, what: str
) -> None:
    await alice.write_file("d/a.txt", TEN_LINES)
    await alice.move_file("d/a.txt" if what == "file" else "d", "e/a.txt" if what == "file" else "e")
    await bob.edit_file("e/a.txt", [Edit(old="line 2", new="bob")])
    await refused("VERSION_MISMATCH", alice.delete_file("e/a.txt"))
    assert (await alice.write_file("e/a.txt", changed(TEN_LINES, 9, "nine"), require_read=True)).merged
    assert (tmp_path / "e/a.txt").read_text() == changed(changed(TEN_LINES, 2, "bob"), 9, "nine")
    assert (await alice.write_file("d/a.txt", "new\n")).created


async def test_covering_by_a_copy_what_moved_on_is_refused(alice: FileToolsFacade, bob: FileToolsFacade) -> None:
    await both_know(alice, bob)
    await bob.write_file("b.txt", "bob\n")
    await alice.write_file("a.txt", "alice\n")
    await refused("VERSION_MISMATCH", bob.copy_file("b.txt", "a.txt", overwrite=True))
    await bob.read_file("a.txt")
    await bob.copy_file("b.txt", "a.txt", overwrite=True)


async def test_what_was_seen_is_known_after_a_restart(tmp_path: Path) -> None:
    bob = Actor(kind="agent", id="bob", session="s")
    (tmp_path / "a.txt").write_text(TEN_LINES)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.for_actor(bob).read_file("a.txt")
    (tmp_path / "a.txt").write_text(changed(TEN_LINES, 2, "person"))
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        result = await files.for_actor(bob).write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    assert result.merged
    assert (tmp_path / "a.txt").read_text() == changed(changed(TEN_LINES, 2, "person"), 9, "bob")


async def test_many_large_texts_that_were_read_last_are_merged_on_after_a_restart(tmp_path: Path) -> None:
    bob = Actor(kind="agent", id="bob", session="s")
    texts = {f"{number}.txt": f"one {number}\n{'x' * 900_000}\nlast\n" for number in range(12)}
    for path, text in texts.items():
        (tmp_path / path).write_text(text)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        for path in texts:
            await files.for_actor(bob).read_file(path)
    for path, text in texts.items():
        (tmp_path / path).write_text(text.replace("last", "LAST"))
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        for path, text in texts.items():
            await files.for_actor(bob).write_file(path, text.replace("one", "ONE"))
            assert (tmp_path / path).read_text() == text.replace("one", "ONE").replace("last", "LAST")


async def test_sessions_of_one_actor_know_for_themselves(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        first = files.for_actor(Actor(kind="agent", id="bob", session="1"))
        second = files.for_actor(Actor(kind="agent", id="bob", session="2"))
        await first.write_file("a.txt", TEN_LINES)
        await second.write_file("a.txt", changed(TEN_LINES, 2, "second"))
        assert (await first.write_file("a.txt", changed(TEN_LINES, 9, "first"))).merged


async def test_a_base_that_is_gone_is_a_mismatch_and_never_an_overwrite(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    _, bob = agents
    large = "x" * 99 + "\n"
    (tmp_path / "a.txt").write_text(large * 20_000)
    await bob.read_file("a.txt")
    (tmp_path / "a.txt").write_text("person\n")
    await refused("VERSION_MISMATCH", bob.write_file("a.txt", "bob\n"))
    assert (tmp_path / "a.txt").read_text() == "person\n"


async def test_a_version_is_named_by_who_knows_nothing_else_of_the_file(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    current = await alice.write_file("a.txt", changed(TEN_LINES, 5, "alice"))
    result = await bob.write_file("a.txt", changed(TEN_LINES, 5, "bob"), expected_version=current.version)
    assert (result.merged, (tmp_path / "a.txt").read_text()) == (False, changed(TEN_LINES, 5, "bob"))


async def test_naming_a_version_without_having_seen_it_does_not_cover_it(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    """A refusal, a listing or a reported change names a version without its text."""
    await both_know(alice, bob)
    current = await alice.write_file("a.txt", changed(TEN_LINES, 5, "alice"))
    overlapping = bob.write_file("a.txt", changed(TEN_LINES, 5, "bob"), expected_version=current.version)
    await refused("EDIT_CONFLICT", overlapping)
    sent = changed(TEN_LINES, 9, "bob")
    assert (await bob.write_file("a.txt", sent, expected_version=current.version)).merged
    assert (tmp_path / "a.txt").read_text() == changed(sent, 5, "alice")


async def test_a_merge_reported_to_two_callers_of_one_actor_stands_for_the_text_of_each(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    """Parts of one agent may share its actor without knowing each other's texts."""
    await both_know(alice, bob)
    read = await bob.read_file("a.txt")
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    first, second = changed(TEN_LINES, 5, "first part"), changed(TEN_LINES, 9, "second part")
    told = await bob.write_file("a.txt", first, expected_version=read.version, on_stale="merge")
    await bob.write_file("a.txt", second, expected_version=read.version, on_stale="merge")
    await bob.write_file("a.txt", changed(first, 7, "again"), expected_version=told.version, on_stale="merge")
    lines = (tmp_path / "a.txt").read_text().split("\n")
    assert [lines[at - 1] for at in (2, 5, 7, 9)] == ["alice", "first part", "again", "second part"]


async def test_a_version_that_the_file_never_had_is_refused_where_others_are_merged(
    alice: FileToolsFacade, bob: FileToolsFacade
) -> None:
    await both_know(alice, bob)
    current = await alice.write_file("a.txt", "alice\n")
    elsewhere = await alice.write_file("b.txt", "elsewhere\n")
    for unknown in ("0" * 64, "0" * 12, elsewhere.version):
        error = await refused(
            "VERSION_MISMATCH", bob.write_file("a.txt", "x", expected_version=unknown, on_stale="merge")
        )
        assert error.details["current_version"] == current.version


async def test_an_unseen_older_version_is_the_base_if_the_writer_knows_the_current_text(
    alice: FileToolsFacade, bob: FileToolsFacade, tmp_path: Path
) -> None:
    older = await alice.write_file("a.txt", TEN_LINES)
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    await bob.read_file("a.txt")
    sent = changed(TEN_LINES, 9, "bob")
    assert (await bob.write_file("a.txt", sent, expected_version=older.version, on_stale="merge")).merged
    assert (tmp_path / "a.txt").read_text() == changed(sent, 2, "alice")


async def test_who_deletes_or_moves_a_folder_is_not_surprised_that_its_files_are_gone(tmp_path: Path) -> None:
    for path in ("d/e.txt", "k/e.txt"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("old\n")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        for path in ("d/e.txt", "k/e.txt"):
            await files.read_file(path)
        await files.delete_directory("d", recursive=True)
        await files.move_file("k", "m")
        assert (await files.write_file("d/e.txt", "new\n")).created
        assert (await files.write_file("k/e.txt", "new\n")).created


async def test_another_process_merges_on_what_its_actor_has_read_in_this_one(tmp_path: Path) -> None:
    """As after the end of this process, however it ends."""
    (tmp_path / "a.txt").write_text(TEN_LINES)
    async with filetools.open(tmp_path, settings=RELAXED) as one, filetools.open(tmp_path, settings=RELAXED) as other:
        await one.for_actor(BOB).read_file("a.txt")
        inside.parts(one).tracker.save()
        (tmp_path / "a.txt").write_text(changed(TEN_LINES, 2, "person"))
        result = await other.for_actor(BOB).write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    assert result.merged
    assert (tmp_path / "a.txt").read_text() == changed(changed(TEN_LINES, 2, "person"), 9, "bob")


async def test_what_an_ephemeral_actor_has_seen_is_forgotten_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEN_LINES)
    alice = Actor(kind="agent", id="alice", session="process-1")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.for_actor(alice, ephemeral=True).read_file("a.txt")
        await files.for_actor(BOB).read_file("a.txt")
        inside.parts(files).tracker.save()
        await files.for_actor(BOB).write_file("a.txt", changed(TEN_LINES, 2, "bob"))
        assert (await files.for_actor(alice).write_file("a.txt", changed(TEN_LINES, 9, "alice"))).merged
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        rows = inside.parts(files).journal.seen_versions
        assert (len(rows.of(owner_of(alice))), len(rows.of(owner_of(BOB)))) == (0, 2)
