from __future__ import annotations

from tests.support.terminal import CommandLine

MIRROR = ("--mirror", "../backup")


def test_sync_refuses_without_a_mirror(run: CommandLine) -> None:
    assert run("sync").code == 2


def test_sync_refuses_a_mirror_inside_the_root(run: CommandLine) -> None:
    done = run("sync", "--mirror", "src")
    assert (done.code, done.error.startswith("error INVALID_ARGUMENT")) == (2, True)


def test_sync_preview_changes_nothing_and_sync_does_it(run: CommandLine) -> None:
    backup = run.folder.parent / "backup"
    preview = run("sync", *MIRROR, "--preview", "--json").json["data"]
    assert (preview["added"], (backup / "notes.md").exists()) == (["notes.md", "src", "src/app.py"], False)
    assert run("sync", *MIRROR).code == 0
    assert (backup / "src" / "app.py").read_bytes() == (run.folder / "src" / "app.py").read_bytes()
    (backup / "notes.md").write_text("drift\n")
    assert run("sync", *MIRROR, "--verify").lines[0] == "modify    notes.md"
    assert (backup / "notes.md").read_text() == "notes\n"


def test_status_tells_of_the_mirror(run: CommandLine) -> None:
    words = [line.split()[:2] for line in run("status", *MIRROR).lines]
    assert ["mirror", "filling"] in words  # nothing has copied the tree yet
    assert run("sync", *MIRROR).code == 0
    state = run("status", *MIRROR, "--json").json["data"]
    assert (state["root"], state["position"], state["mirrors"]["mirror"]["state"]) == ("project", 0, "ready")
    assert ["mirror", "ready"] in [line.split()[:2] for line in run("status", *MIRROR).lines]


def test_status_is_about_the_work(run: CommandLine) -> None:
    assert run("init").code == 0
    assert run("status").lines == ["root  project", "", "No change is recorded yet."]
    run("write", "a.txt", "--content", "1")
    run("mv", "a.txt", "b.txt", "--actor", "alice")
    told = run("status")
    assert [line.split()[2:] for line in told.lines[-2:]] == [
        ["alice", "moved", "a.txt", "→", "b.txt"], ["ann", "created", "a.txt"],
    ]  # fmt: skip
    assert [name for name in ("epoch", "durability", "retention") if name in told.text] == []
    verbose = run("status", "-v").text
    assert [name for name in ("epoch", "durability", "retention") if name not in verbose] == []
    run("checkpoint", "start")
    run("write", "b.txt", "--content", "2")
    assert run("status").lines[-1] == "modified  b.txt  ann"


def test_a_bar_is_for_terminals_only(run: CommandLine) -> None:
    assert "syncing" in run.at_terminal("sync", *MIRROR, "--verify").text
    done = run("sync", *MIRROR, "--verify")
    assert ("syncing" in done.text, done.error) == (False, "")
