"""What an actor knows decides what its writes may cover: merged, refused with both sides, or plainly written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

import filetools
from filetools import Actor, Edit
from filetools.facade import FileToolsFacade
from tests.support.facade_worker import RELAXED

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


async def refusal(call: Awaitable[object]) -> filetools.FileToolsError:
    with pytest.raises(filetools.FileToolsError) as caught:
        await call
    return caught.value


async def both_know(alice: FileToolsFacade, bob: FileToolsFacade, text: str = TEN_LINES) -> None:
    await alice.write_file("a.txt", text)
    await bob.read_file("a.txt")


async def test_overlapping_changes_are_refused_with_both_sides(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    alice, bob = agents
    await both_know(alice, bob)
    first = await alice.write_file("a.txt", changed(TEN_LINES, 5, "alice"))
    error = await refusal(bob.write_file("a.txt", changed(TEN_LINES, 5, "bob")))
    assert error.code == "EDIT_CONFLICT"
    assert error.details["current_version"] == first.version
    assert [(one["ours"], one["theirs"], one["base"], one["line"]) for one in error.details["conflicts"]] == [
        ("alice\n", "bob\n", "line 5\n", 5)
    ]
    assert "-line 5" in error.details["diff"]
    assert (tmp_path / "a.txt").read_text() == changed(TEN_LINES, 5, "alice")


async def test_changes_that_do_not_touch_are_merged_and_told(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    alice, bob = agents
    await both_know(alice, bob)
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    result = await bob.write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    merged = changed(changed(TEN_LINES, 2, "alice"), 9, "bob")
    assert (tmp_path / "a.txt").read_text() == merged
    assert (result.merged, result.version) == (True, (await bob.read_file("a.txt")).version)
    assert [hunk["lines"] for hunk in result.foreign] == [["-line 2", "+alice"]]


async def test_a_full_write_after_a_merged_one_does_not_delete_the_other_sides_line(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    """The trap: bob's second write is made from what bob sent, which never had alice's line."""
    alice, bob = agents
    await both_know(alice, bob)
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    sent = changed(TEN_LINES, 9, "bob")
    merged = await bob.write_file("a.txt", sent)
    await bob.write_file("a.txt", changed(sent, 7, "bob again"), expected_version=merged.version)
    text = (tmp_path / "a.txt").read_text()
    assert text == changed(changed(changed(TEN_LINES, 2, "alice"), 9, "bob"), 7, "bob again")


async def test_equal_bytes_never_conflict(agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path) -> None:
    alice, bob = agents
    await both_know(alice, bob)
    first = await bob.read_file("a.txt")
    same = changed(TEN_LINES, 5, "same")
    await alice.write_file("a.txt", same)
    result = await bob.write_file("a.txt", same, expected_version=first.version)
    assert (result.unchanged, result.number) == (True, None)
    (tmp_path / "a.txt").touch()
    assert (await bob.write_file("a.txt", changed(same, 1, "bob"))).merged is False


async def test_a_stale_expected_version_is_refused_unless_merging_is_asked_for(
    agents: tuple[FileToolsFacade, FileToolsFacade],
) -> None:
    alice, bob = agents
    await both_know(alice, bob)
    known = await bob.read_file("a.txt")
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    proposal = changed(TEN_LINES, 9, "bob")
    error = await refusal(bob.write_file("a.txt", proposal, expected_version=known.version))
    assert error.code == "VERSION_MISMATCH"
    assert (await bob.write_file("a.txt", proposal, expected_version=known.version, on_stale="merge")).merged


async def test_without_a_stamp_a_write_replaces_and_names_what_it_replaced(
    agents: tuple[FileToolsFacade, FileToolsFacade],
) -> None:
    alice, bob = agents
    first = await alice.write_file("a.txt", "alice\n")
    result = await bob.write_file("a.txt", "bob\n")
    assert (result.merged, result.replaced_version) == (False, first.version)
    assert (await bob.read_file("a.txt", version=first.version)).content == "alice\n"


async def test_a_part_read_is_a_base_for_merging(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    alice, bob = agents
    await alice.write_file("a.txt", TEN_LINES)
    await bob.read_file("a.txt", offset=1, limit=2)
    await alice.write_file("a.txt", changed(TEN_LINES, 2, "alice"))
    await bob.write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    assert (tmp_path / "a.txt").read_text() == changed(changed(TEN_LINES, 2, "alice"), 9, "bob")


async def test_another_programs_save_is_merged_like_anybodys(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    alice, _ = agents
    (tmp_path / "a.txt").write_text(TEN_LINES)
    await alice.read_file("a.txt")
    (tmp_path / "a.txt").write_text(changed(TEN_LINES, 2, "person"))
    await alice.write_file("a.txt", changed(TEN_LINES, 9, "alice"))
    assert (tmp_path / "a.txt").read_text() == changed(changed(TEN_LINES, 2, "person"), 9, "alice")


async def test_lf_answers_to_a_crlf_file_merge(agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path) -> None:
    _, bob = agents
    crlf = TEN_LINES.replace("\n", "\r\n")
    (tmp_path / "a.txt").write_bytes(crlf.encode())
    await bob.read_file("a.txt")
    (tmp_path / "a.txt").write_bytes(changed(TEN_LINES, 2, "person").replace("\n", "\r\n").encode())
    await bob.write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    expected = changed(changed(TEN_LINES, 2, "person"), 9, "bob").replace("\n", "\r\n")
    assert (tmp_path / "a.txt").read_bytes().decode() == expected


@pytest.mark.parametrize("change", ["binary", "gone"])
async def test_what_cannot_be_merged_is_a_conflict(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path, change: str
) -> None:
    alice, bob = agents
    await both_know(alice, bob)
    if change == "binary":
        (tmp_path / "a.txt").write_bytes(b"\x00\x01\x02")
    else:
        (tmp_path / "a.txt").unlink()
    assert (await refusal(bob.write_file("a.txt", "bob\n"))).code == "EDIT_CONFLICT"


async def test_deleting_or_moving_what_moved_on_is_refused(
    agents: tuple[FileToolsFacade, FileToolsFacade],
) -> None:
    alice, bob = agents
    await both_know(alice, bob)
    await alice.write_file("a.txt", "alice\n")
    assert (await refusal(bob.delete_file("a.txt"))).code == "VERSION_MISMATCH"
    assert (await refusal(bob.move_file("a.txt", "b.txt"))).code == "VERSION_MISMATCH"
    await bob.write_file("c.txt", "c\n")
    assert (await refusal(bob.move_file("c.txt", "a.txt", overwrite=True))).code == "VERSION_MISMATCH"
    await bob.read_file("a.txt")
    await bob.delete_file("a.txt")


async def test_own_edits_and_appends_surprise_nobody(agents: tuple[FileToolsFacade, FileToolsFacade]) -> None:
    alice, _ = agents
    await alice.write_file("a.txt", TEN_LINES)
    await alice.edit_file("a.txt", [Edit(old="line 5", new="five")])
    await alice.edit_file("a.txt", [Edit(old="line 6", new="six")])
    await alice.append_file("a.txt", "more\n")
    await alice.delete_file("a.txt")
    await alice.write_file("b.txt", "1\n")
    await alice.append_file("b.txt", "2\n")
    assert (await alice.write_file("b.txt", "3\n")).merged is False


async def test_a_full_write_after_an_own_edit_keeps_the_edit(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    alice, _ = agents
    await alice.write_file("a.txt", TEN_LINES)
    await alice.edit_file("a.txt", [Edit(old="line 5", new="five")])
    await alice.write_file("a.txt", changed(TEN_LINES, 9, "nine"))
    assert (tmp_path / "a.txt").read_text() == changed(changed(TEN_LINES, 5, "five"), 9, "nine")


async def test_stamps_survive_a_restart(tmp_path: Path) -> None:
    bob = Actor(kind="agent", id="bob", session="s")
    (tmp_path / "a.txt").write_text(TEN_LINES)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        await files.for_actor(bob).read_file("a.txt")
    (tmp_path / "a.txt").write_text(changed(TEN_LINES, 2, "person"))
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        result = await files.for_actor(bob).write_file("a.txt", changed(TEN_LINES, 9, "bob"))
    assert result.merged
    assert (tmp_path / "a.txt").read_text() == changed(changed(TEN_LINES, 2, "person"), 9, "bob")


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
    assert (await refusal(bob.write_file("a.txt", "bob\n"))).code == "VERSION_MISMATCH"
    assert (tmp_path / "a.txt").read_text() == "person\n"


async def test_naming_the_version_that_stands_there_is_knowing_it(
    agents: tuple[FileToolsFacade, FileToolsFacade], tmp_path: Path
) -> None:
    alice, bob = agents
    await both_know(alice, bob)
    current = await alice.write_file("a.txt", changed(TEN_LINES, 5, "alice"))
    result = await bob.write_file("a.txt", changed(TEN_LINES, 5, "bob"), expected_version=current.version)
    assert (result.merged, (tmp_path / "a.txt").read_text()) == (False, changed(TEN_LINES, 5, "bob"))


async def test_what_is_being_saved_is_known_all_the_same(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        knowledge, alice = files._parts.knowledge, Actor(kind="agent", id="alice")
        for number in range(200):
            version = f"sha256:{number:064x}"
            knowledge.note(alice, "a.txt", version)
            saving = files._parts.crew.start(knowledge.save)
            stamp = await files._parts.crew.run(lambda: knowledge.stamp(alice, "a.txt"))
            assert stamp is not None
            assert stamp.version == version
            await saving


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
