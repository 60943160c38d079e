"""What git tells of a folder, compared with git itself, and every way in which it tells nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import unicodedata
from pathlib import Path

import pytest

from filetools.errors import (
    AccessDeniedError,
    CallTimeoutError,
    GitFailedError,
    GitNotFoundError,
    NotARepositoryError,
)
from filetools.project import git as module
from filetools.project.git import git_remote, git_state, listed_files, tracked_although_ignored, worktrees
from tests.support.hostile_repository import environment
from tests.support.unprivileged import NOBODY, as_nobody

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder away")


class Repository:
    """A repository in a folder."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        self("init", "--quiet", "--initial-branch", "main", *options)

    def __call__(self, *arguments: str, feed: bytes | None = None) -> str:
        done = subprocess.run(("git", *arguments), cwd=self.path, input=feed, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return os.fsdecode(done.stdout).strip()

    def commit(self, message: bytes | str = "first", *options: str) -> str:
        text = message if isinstance(message, bytes) else message.encode()
        self("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--file=-", *options, feed=text)
        return self("rev-parse", "--short=7", "HEAD")


@pytest.fixture(autouse=True)
def _nobodys_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "it")


def messages(path: Path) -> list[str]:
    return [commit["msg"] for commit in git_state(str(path))["commits"]]


def program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_what_is_no_repository_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken/.git").mkdir(parents=True)
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved/.git").write_text(f"gitdir: {tmp_path}/gone/.git/worktrees/x\n")
    for name in (".", "broken", "moved"):
        folder = str((tmp_path / name).resolve())
        with pytest.raises(NotARepositoryError) as failed:
            git_state(folder)
        assert failed.value.message == "Git command failed: not a git repository"
        assert failed.value.code == "NOT_A_REPOSITORY"
        assert git_remote(folder) is None
        assert listed_files(folder) is None
        assert worktrees(folder) == []


def test_without_git_it_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository.path))
    with pytest.raises(GitNotFoundError) as failed:
        git_state(str(repository.path))
    assert failed.value.message == "Git command failed: git is not installed"
    assert failed.value.code == "GIT_NOT_FOUND"


def test_a_program_called_git_in_the_repository_is_never_run(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a virtual environment in it is on PATH, and the folders `.` and `node_modules/.bin`, whoever put them there."""
    repository.commit()
    (repository.path / "src").mkdir()
    for folder in ("bin", "src", "src/bin"):
        program(repository.path / folder / "git", f": > {tmp_path}/mark")
    inside = repository.path / "bin"
    (tmp_path / "link").symlink_to(inside)
    monkeypatch.chdir(repository.path)
    for entries in ("", ".", "bin", str(inside), str(tmp_path / "link")):
        monkeypatch.setenv("PATH", os.pathsep.join((entries, os.environ["PATH"])))
        for asked in (repository.path, repository.path / "src"):
            assert git_state(str(asked))["branch"] == "main"
    program(tmp_path / "elsewhere/git", f": > {tmp_path}/mark")
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("PATH", os.pathsep.join((".", os.environ["PATH"])))
    assert git_state(str(repository.path))["branch"] == "main"
    assert not (tmp_path / "mark").exists()


@needs_root
def test_a_repository_of_another_user_is_refused_until_the_users_own_configuration_trusts_it(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit()
    bare = Repository(tmp_path / "bare.git", "--bare")
    for path in (repository.path, bare.path):
        for each in (path, *path.rglob("*")):
            os.chown(each, NOBODY, NOBODY)
        with pytest.raises(AccessDeniedError) as failed:
            git_state(str(path))
        assert failed.value.code == "PERMISSION_DENIED"
        assert failed.value.message == (
            f"Permission denied: {path} (its repository belongs to a user whom git does not trust)"
        )
        assert "safe.directory" in str(failed.value.suggested_action)
        assert listed_files(str(path)) is None
        assert tracked_although_ignored(str(path)) == []
        assert worktrees(str(path)) == []
    trusting = tmp_path / "trusting"
    trusting.write_text(f"[safe]\n\tdirectory = {repository.path}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(trusting))
    assert git_state(str(repository.path))["branch"] == "main"


@pytest.mark.parametrize("text", [b"", b"gitdir: a\0b", b"gitdir: \xff", b"gitdir: " + b"x" * 10**7])
def test_a_file_that_points_nowhere_is_gits_failure_and_not_ours(text: bytes, tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(text)
    with pytest.raises(GitFailedError):
        git_state(str(tmp_path))
    assert listed_files(str(tmp_path)) is None
    assert tracked_although_ignored(str(tmp_path)) == []
    assert worktrees(str(tmp_path)) == []


@needs_root
def test_a_folder_that_is_gone_or_closed_is_gits_failure(tmp_path: Path) -> None:
    with pytest.raises(GitFailedError, match=r"^Git command failed: No such file or directory$"):
        git_state(str(tmp_path / "gone"))
    closed = tmp_path / "closed"
    closed.mkdir()

    def act() -> None:
        closed.chmod(0)
        with pytest.raises(GitFailedError, match=r"^Git command failed: Permission denied$"):
            git_state(str(closed))

    as_nobody(closed, act)


def test_other_failures_tell_the_first_line_of_gits_words(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit()
    (repository.path / ".git/index").write_bytes(b"DIRC" + bytes(40))
    with pytest.raises(GitFailedError) as index:
        git_state(str(repository.path))
    assert index.value.message == "Git command failed: bad index version 0"


def test_git_that_hangs_is_killed_with_its_children(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "slow/git", f"sleep 1000 & echo $! >> {tmp_path}/children\nwait")
    monkeypatch.setenv("PATH", f"{tmp_path}/slow{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "LIMIT_SECONDS", 1.0)
    with pytest.raises(CallTimeoutError) as late:
        git_state(str(repository.path))
    assert (late.value.code, late.value.message) == ("TIMEOUT", "git did not finish within 1 s")
    monkeypatch.setattr(module, "LIMIT_SECONDS", 0.1)
    assert worktrees(str(repository.path)) == []
    children = [int(line) for line in (tmp_path / "children").read_text().split()]
    deadline = time.monotonic() + 60
    while any(is_running(child) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.01)  # until init has taken in the orphan


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_more_than_one_mebibyte_is_cut_and_holds_up_nobody(repository: Repository) -> None:
    repository.commit(b"first\n\n" + b"x" * 3 * 2**20)
    repository.commit("second")
    assert messages(repository.path) == ["second", "first"]
    folder = repository.path / ("d" * 200)
    for number in range(100):
        (repository.path / f"{number:03}" / ("d" * 200)).mkdir(parents=True)
    for number in range(5000):
        folder = repository.path / f"{number % 100:03}" / ("d" * 200)
        (folder / f"{number:05}").touch()
    assert listed_files(str(repository.path)) is None
    assert git_state(str(repository.path))["dirty"] is True
    assert len(listed_files(str(repository.path / "000")) or []) == 50


def test_warnings_without_end_hold_up_nobody(repository: Repository) -> None:
    repository.commit()
    (repository.path / ".gitattributes").write_text("!x text\n" * 5000)
    assert git_state(str(repository.path))["dirty"] is True


def test_the_whole_answer_of_an_ordinary_repository(repository: Repository) -> None:
    names = [repository.commit(f"commit {number}") for number in range(7)]
    expected = [{"hash": names[at], "msg": f"commit {at}"} for at in (6, 5, 4, 3, 2)]
    state = git_state(str(repository.path))
    ages = [commit.pop("age") for commit in state["commits"]]
    assert state == {"branch": "main", "commits": expected, "dirty": False}
    assert all(re.fullmatch(r"\d+ seconds? ago", age) for age in ages)
    assert len(git_state(str(repository.path), limit=1)["commits"]) == 1
    assert len(git_state(str(repository.path), limit=20)["commits"]) == 7


def test_a_hash_has_seven_characters_whatever_is_configured(repository: Repository) -> None:
    full = (repository.commit(), repository("rev-parse", "HEAD"))[1]
    repository("config", "core.abbrev", "40")
    repository("config", "log.date", "iso")
    repository("config", "format.pretty", "fuller")
    repository("config", "i18n.logOutputEncoding", "UTF-16")
    (commit,) = git_state(str(repository.path))["commits"]
    assert (commit["hash"], commit["msg"]) == (full[:7], "first")


def test_a_repository_without_a_commit_has_the_name_of_its_branch(repository: Repository) -> None:
    assert git_state(str(repository.path)) == {"branch": "main", "commits": [], "dirty": False}
    (repository.path / "new").touch()
    assert git_state(str(repository.path)) == {"branch": "main", "commits": [], "dirty": True}
    repository("config", "filter.x.clean", "cat")
    assert git_state(str(repository.path)) == {"branch": "main", "commits": [], "unknown": "filters"}


def test_a_detached_head_is_called_so(repository: Repository) -> None:
    repository.commit()
    repository("checkout", "--quiet", "--detach")
    state = git_state(str(repository.path))
    assert (state["branch"], state["detached"]) == ("HEAD", True)


@pytest.mark.parametrize("change", ["untracked", "changed", "staged", "deleted", "conflict"])
def test_whatever_is_not_committed_makes_it_dirty(change: str, repository: Repository) -> None:
    (repository.path / "a").write_text("1\n")
    (repository.path / ".gitignore").write_text("*.log\n")
    repository("add", ".")
    repository.commit()
    (repository.path / "x.log").touch()
    assert git_state(str(repository.path))["dirty"] is False
    if change == "untracked":
        (repository.path / "new\nwith a line break").touch()
    elif change == "deleted":
        (repository.path / "a").unlink()
    elif change == "conflict":
        repository("update-index", "--index-info", feed=b"".join(
            f"100644 {repository('rev-parse', 'HEAD:a')} {stage}\tb\n".encode() for stage in (1, 2, 3)))  # fmt: skip
    else:
        (repository.path / "a").write_text("2\n")
        if change == "staged":
            repository("add", "a")
    assert git_state(str(repository.path))["dirty"] is True


@pytest.fixture(params=[False, True], ids=["status", "filters"])
def has_filters(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_upstreams_are_told_with_what_is_ahead_and_behind(has_filters: bool, repository: Repository) -> None:
    def state() -> dict[str, object]:
        told = git_state(str(repository.path))
        assert told.pop("unknown" if has_filters else "dirty") == ("filters" if has_filters else False)
        return {name: fact for name, fact in told.items() if name != "commits"}

    if has_filters:
        repository("config", "filter.lfs.process", "git-lfs filter-process")
    repository.commit()
    repository("branch", "team/x")
    repository("tag", "main")  # a branch of the same name is meant all the same
    assert state() == {"branch": "main"}
    repository("branch", "--quiet", "--set-upstream-to", "team/x")
    assert state() == {"branch": "main", "upstream": "team/x"}
    repository("config", "status.aheadBehind", "false")
    repository.commit("second")
    repository.commit("third")
    assert state() == {"branch": "main", "upstream": "team/x", "ahead": 2}
    repository("update-ref", "refs/heads/team/x", repository("commit-tree", "-p", "HEAD~2", "-m", "x", "HEAD^{tree}"))
    assert state() == {"branch": "main", "upstream": "team/x", "ahead": 2, "behind": 1}
    repository("branch", "--quiet", "-D", "team/x")
    assert state() == {"branch": "main", "upstream": "team/x", "upstream_gone": True}


def test_filters_of_the_users_own_configuration_hide_what_is_dirty_too(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit()
    (tmp_path / "global").write_text('[filter "lfs"]\n\tsmudge = git-lfs smudge -- %f\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    state = git_state(str(repository.path))
    assert state["unknown"] == "filters"
    assert "dirty" not in state


def test_sub_folders_linked_work_trees_and_shallow_clones_answer(repository: Repository, tmp_path: Path) -> None:
    (repository.path / "a/b").mkdir(parents=True)
    (repository.path / "a/b/c").touch()
    repository("add", ".")
    repository.commit("first")
    last = repository.commit("second")
    assert messages(repository.path / "a/b") == ["second", "first"]
    repository("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    (tmp_path / "linked/new").touch()
    linked = git_state(str(tmp_path / "linked"))
    assert (linked["branch"], linked["dirty"], linked["commits"][0]["hash"]) == ("side", True, last)
    repository("clone", "--quiet", "--depth=1", f"file://{repository.path}", str(tmp_path / "shallow"))
    assert messages(tmp_path / "shallow") == ["second"]
    assert git_state(str(tmp_path / "shallow"))["upstream"] == "origin/main"


def test_bare_repositories_answer_and_are_never_dirty(repository: Repository, tmp_path: Path) -> None:
    bare = Repository(tmp_path / "bare.git", "--bare")
    assert git_state(str(bare.path)) == {"branch": "main", "commits": [], "dirty": False}
    repository.commit()
    repository("push", "--quiet", str(bare.path), "main")
    state = git_state(str(bare.path))
    assert [commit["msg"] for commit in state.pop("commits")] == ["first"]
    assert state == {"branch": "main", "dirty": False}
    assert listed_files(str(bare.path)) is None
    # A common way to have many work trees side by side: `.git` is a file that names the bare repository.
    (tmp_path / ".git").write_text("gitdir: ./bare.git\n")
    assert git_state(str(tmp_path))["dirty"] is False


def test_a_bare_repository_cannot_name_another_as_its_own(repository: Repository, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    (fake / "objects").mkdir(parents=True)
    (fake / "refs").mkdir()
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "commondir").write_text(f"{repository.path}/.git\n")
    with pytest.raises(GitFailedError, match="cannot use bare repository"):
        git_state(str(fake))
    assert git_remote(str(fake)) is None


def test_the_environment_of_the_process_names_no_other_repository(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repository(tmp_path / "other")
    other.commit("other")
    repository.commit("asked for")
    for name, value in {
        "GIT_DIR": f"{other.path}/.git", "GIT_WORK_TREE": str(other.path), "GIT_INDEX_FILE": str(tmp_path / "x"),
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.abbrev", "GIT_CONFIG_VALUE_0": "bad", "GIT_EXTERNAL_DIFF": "false",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert messages(repository.path) == ["asked for"]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("a|b\tc \"d\" 'e' %h \\n", "a|b\tc \"d\" 'e' %h \\n"),
        ("title\nsame paragraph\n\nbody", "title"),
        ("# Available Projects\u2028## Forged", "# Available Projects"),
        ("x" * 81, "x" * 77 + "..."),
        ("x" * 75 + "👩\u200d👩\u200d👧" + "x" * 9, "x" * 75 + "..."),
    ],
)
def test_the_first_line_of_a_message_is_told(message: str | bytes, told: str, repository: Repository) -> None:
    repository.commit(message, "--allow-empty-message")
    assert messages(repository.path) == [told]
    json.dumps(git_state(str(repository.path)), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("address", "remote", "name"),
    [
        ("git@github.com:owner/name.git", "git@github.com:owner/name.git", "owner/name"),
        ("host:group/sub/my.repo.js.git/", "host:group/sub/my.repo.js.git/", "group/sub/my.repo.js"),
        ("ssh://me:secret@[::1]:22/o/n", "ssh://me@[::1]:22/o/n", "o/n"),
        ("https://user:sec@ret@host/o/n.git", "https://host/o/n.git", "o/n"),
        ("http://host:8080/a/b/c/n.git?secret#x", "http://host:8080/a/b/c/n.git", "a/b/c/n"),
    ],
)
def test_remotes_have_a_name_and_no_password(address: str, remote: str, name: str, repository: Repository) -> None:
    repository("config", "remote.origin.url", address)
    assert git_remote(str(repository.path)) == {"remote": remote, "repo_name": name}


@pytest.mark.parametrize(
    "address",
    ["/srv/n.git", "../n", "file:///srv/n", "C:/x/n", "C:\\x\\n", "ext::sh -c x", "https://host/", "me:secret@host:o/n",
     "https://me:sec/ret@host/o/n", "git@host:o/n\nforged", "-x", ""],
)  # fmt: skip
def test_other_addresses_are_no_remotes(address: str, repository: Repository) -> None:
    repository("config", "remote.origin.url", address)
    assert git_remote(str(repository.path)) is None


def test_without_origin_the_remote_of_the_branch_counts(repository: Repository) -> None:
    assert git_remote(str(repository.path)) is None
    repository("config", "remote.fork.url", "gh:me/n")
    repository("config", "url.https://host.example/.insteadOf", "gh:")
    assert git_remote(str(repository.path)) == {"remote": "https://host.example/me/n", "repo_name": "me/n"}


def test_files_are_listed_with_what_is_new_and_without_what_is_ignored(repository: Repository, tmp_path: Path) -> None:
    texts = {"sub/tracked": "", "sub/gone": "", "top": "", ".gitignore": "*.log\n", "sub/x.log": "", "sub/größe \n": ""}
    (repository.path / "sub").mkdir()
    for name, text in texts.items():
        (repository.path / name).write_text(text)
    repository("add", ".")
    (repository.path / "sub/gone").unlink()
    (repository.path / "sub/new").touch()
    (Path(os.fsdecode(os.fsencode(repository.path / "sub") + b"/odd \xff"))).touch()
    Repository(repository.path / "sub/nested").commit()
    odd = os.fsdecode(b"odd \xff")
    assert sorted(listed_files(str(repository.path / "sub")) or []) == sorted(
        ["tracked", "gone", "größe \n", "new", odd]
    )


def test_all_work_trees_are_told_from_each_of_them(repository: Repository, tmp_path: Path) -> None:
    assert worktrees(str(repository.path)) == [str(repository.path)]
    repository.commit()
    linked = [tmp_path / "linked", tmp_path / "line\nbreak", tmp_path / "cafe\u0301"]
    for tree in linked:
        repository("worktree", "add", "--quiet", "--detach", str(tree))
    repository("worktree", "lock", "--reason", "a\nbare", str(linked[0]))
    (linked[0] / "sub").mkdir()
    told = [str(repository.path), *sorted(unicodedata.normalize("NFC", str(tree)) for tree in linked)]
    for folder in (repository.path, *linked, linked[0] / "sub"):
        first, *others = worktrees(str(folder))
        assert [first, *sorted(others)] == told


@pytest.mark.parametrize("pointer", ["../x/.git", ".git", ""])
def test_a_work_tree_that_a_repository_names_by_no_absolute_path_is_left_out(
    pointer: str, repository: Repository
) -> None:
    entry = repository.path / ".git/worktrees/x"
    entry.mkdir(parents=True)
    for name, text in {"gitdir": pointer, "HEAD": "ref: refs/heads/x", "commondir": "../.."}.items():
        (entry / name).write_text(f"{text}\n")
    assert all(os.path.isabs(tree) for tree in worktrees(str(repository.path)))
