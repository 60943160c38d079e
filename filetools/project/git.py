"""Facts from git about a folder. Runs no program named by the repository, and creates nothing in it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any, Final, NamedTuple

from filetools.content.extracts.whole import whole_start
from filetools.errors import (
    AccessDeniedError,
    CallTimeoutError,
    FileToolsError,
    GitFailedError,
    GitNotFoundError,
    InvalidArgumentError,
    NotARepositoryError,
)
from filetools.project.folder import home_folder, short_path
from filetools.settings import MIB, git_program, variables

LIMIT_SECONDS: Final = 5.0
MOST_BYTES: Final = MIB
MOST_COMMITS: Final = 20
MESSAGE_CHARS: Final = 80
# Use the user's own configuration: safe.directory can be set only there, and programs named there are the user's own.
_INHERITED: Final = ("HOME", "XDG_CONFIG_HOME", "USERPROFILE", "SYSTEMROOT", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
                     "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES")  # fmt: skip
# Allow no transport protocol: for an object missing from a partial clone, git would start a transport.
_SET: Final = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "",
               "GIT_NO_LAZY_FETCH": "1"}  # fmt: skip
_HARDENED: Final = ("--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}",
                    "-c", "log.showSignature=false")  # fmt: skip
# All scopes: even git-lfs from the user's configuration runs programs named by the repository's configuration.
_FILTERS: Final = ("config", "--get-regexp", "--name-only", r"^filter\..*\.(clean|smudge|process)$")
_STATUS: Final = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=all",
                  "--no-renames")  # fmt: skip
# NUL separates the fields, since messages cannot contain it. The options override the repository's configuration.
_LOG: Final = ("log", "-z", "--format=%h%x00%ar%x00%B", "--abbrev=7", "--encoding=UTF-8", "--no-show-signature",
               "--no-patch", "--no-ext-diff", "--no-textconv", "--no-mailmap", "--no-notes", "--no-decorate")  # fmt: skip
_URL: Final = re.compile(r"(https?|ssh)://(?:([^/]*)@)?([\w.-]+|\[[\w:.%]+\])(:\d+)?/+(?P<name>.+)")
_SCP: Final = re.compile(r"(?:[^@:/]+@)?(?:[\w.-]{2,}|\[[\w:.%]+\]):/?(?P<name>[^/:@][^@]*)")


def git_state(path: str, *, limit: int = 5) -> dict[str, Any]:
    """Return the branch, the latest commits, and if there are uncommitted changes.

    Args:
        path: A folder, absolute, with links resolved: in a work tree, or a bare repository.
        limit: Maximum number of commits, 1 to 20.

    Returns:
        `{"branch", "commits": [{"hash", "msg", "age"}], "dirty", "ahead"?, "behind"?, "upstream"?, "upstream_gone"?,
        "detached"?}`. Instead of `"dirty"`, `"unknown"` is the reason why `git status` was not run: it would run "filters",
        or there is "no work tree".

    Raises:
        InvalidArgumentError, NotARepositoryError, GitNotFoundError, GitFailedError
        AccessDeniedError: The repository belongs to a user whom git does not trust.
        CallTimeoutError: It took longer than 5 s.
    """
    if limit not in range(1, MOST_COMMITS + 1):
        raise InvalidArgumentError(f"limit must be from 1 to {MOST_COMMITS}")
    git, log = _Git(path), (*_LOG, f"-{int(limit)}")
    (filters,) = git.run(_FILTERS)
    unknown = "filters" if filters.code != 1 and git.checked(filters) else ""
    if not unknown:
        status, commits = git.run(_STATUS, log)
        if "must be run in a work tree" not in git.complaint(status):
            return _state(git, commits, **_of_status(git.checked(status)))
    bare, head, commits = git.run(("rev-parse", "--is-bare-repository"), ("symbolic-ref", "--quiet", "HEAD"), log)
    is_bare = git.checked(bare) == b"true\n"
    state: dict[str, Any] = {"dirty": False} if is_bare else {"unknown": unknown or "no work tree"}
    if head.code == 1:
        return _state(git, commits, branch="HEAD", detached=True, **state)
    ref = _text(git.checked(head)).rstrip("\n")
    (tracked,) = git.run(("for-each-ref", "--format=%(upstream:short)%00%(upstream:track)", ref))
    upstream, _, track = _text(git.checked(tracked)).rstrip("\n").partition("\0")
    state |= {name: int(count) for name, count in re.findall(r"(ahead|behind) (\d+)", track)}
    state |= {"branch": ref.removeprefix("refs/heads/"), "upstream": upstream, "upstream_gone": track == "[gone]"}
    return _state(git, commits, **state)


def git_remote(path: str) -> dict[str, str] | None:
    """Return a repository's remote and its name: `{"remote", "repo_name"}`; the URL without passwords, and `owner/name`.

    It is the URL of `origin`, else of the branch's upstream; None if there is none, if it is on this machine, or if git
    fails.

    Raises:
        CallTimeoutError: It took longer than 5 s.
    """
    try:
        answers = _Git(path).run(("ls-remote", "--get-url", "origin"), ("ls-remote", "--get-url"))
    except (GitFailedError, AccessDeniedError):
        return None
    return next((found for answer in answers if (found := _remote(_text(answer.out).rstrip("\n")))), None)


def listed_files(path: str) -> list[str] | None:
    """Return the files below a folder that git tracks, or neither tracks nor ignores, relative to the folder.

    Some may no longer exist, or be folders of submodules. Names that are not UTF-8 are decoded by `os.fsdecode`. None if git
    fails, or returns more than 1 MiB.

    Raises:
        CallTimeoutError: It took longer than 5 s.
    """
    names = _listed(path, "--cached", "--others", "--exclude-standard")
    # A name that ends with a slash is a nested repository.
    return None if names is None else [name for name in names if not name.endswith("/")]


def tracked_although_ignored(path: str) -> list[str]:
    """Return the files below a folder that git tracks and that its ignore rules match, relative to the folder.

    Empty if the folder is in no repository, or git fails, takes longer than 5 s, or returns more than 1 MiB.
    """
    place = Path(path)
    if not any(os.path.lexists(each / ".git") for each in (place, *place.parents)):
        return []
    try:
        return _listed(path, "--cached", "--ignored", "--exclude-standard") or []
    except FileToolsError:
        return []


def _listed(path: str, *options: str) -> list[str] | None:
    """Return what `git ls-files` lists, each name once, although a file in conflict is listed three times."""
    try:
        git = _Git(path)
        (answer,) = git.run(("ls-files", "-z", *options))
        names = git.checked(answer).split(b"\0")[:-1]
    except (GitFailedError, AccessDeniedError):
        return None
    return None if len(answer.out) == MOST_BYTES else [os.fsdecode(name) for name in dict.fromkeys(names)]


def worktrees(path: str) -> list[str]:
    """Return the paths of all work trees of a folder's repository, including deleted ones.

    They are absolute and in NFC, otherwise as reported by git: for a submodule, the folder in the outer `.git`. The folder of
    a bare repository is not included. Empty if git fails, takes longer than 5 s, or is older than 2.36.
    """
    try:
        (answer,) = _Git(path).run(("worktree", "list", "--porcelain", "-z"))
    except (GitFailedError, CallTimeoutError, ValueError):
        return []
    trees = (entry.split(b"\0") for entry in answer.out.split(b"\0\0")[:-1])  # the last is empty, or cut at 1 MiB
    names = (os.fsdecode(tree[0].removeprefix(b"worktree ")) for tree in trees if b"bare" not in tree)
    return [] if answer.code else [unicodedata.normalize("NFC", name) for name in names if os.path.isabs(name)]


def _of_status(out: bytes) -> dict[str, Any]:
    entries = _text(out).split("\0")
    facts = dict(entry[2:].split(" ", 1) for entry in entries if entry.startswith("# "))
    state: dict[str, Any] = {"dirty": any(entry[:2] not in ("# ", "") for entry in entries)}
    if facts["branch.head"] == "(detached)":
        return state | {"branch": "HEAD", "detached": True}
    ahead, behind = re.findall(r"\d+", facts.get("branch.ab", "+0 -0"))
    upstream = facts.get("branch.upstream", "")
    is_gone = bool(upstream) and "branch.ab" not in facts and facts["branch.oid"] != "(initial)"
    state |= {"ahead": int(ahead), "behind": int(behind), "upstream": upstream, "upstream_gone": is_gone}
    return state | {"branch": facts["branch.head"]}


def _state(git: _Git, log: _GitAnswer, *, branch: str, **facts: Any) -> dict[str, Any]:
    is_unborn = git.complaint(log).endswith("does not have any commits yet")
    fields = [] if is_unborn else _text(git.checked(log)).split("\0")
    commits = [
        {"hash": commit, "msg": _first_line(message), "age": age}
        for commit, age, message in zip(fields[::3], fields[1::3], fields[2::3], strict=False)
    ]
    return {"branch": branch, "commits": commits} | {
        name: fact for name, fact in facts.items() if fact or name == "dirty"
    }


def _first_line(message: str) -> str:
    line = (message.strip().splitlines() or [""])[0].rstrip()
    return line if len(line) <= MESSAGE_CHARS else f"{whole_start(line, MESSAGE_CHARS - 3)}..."


def _remote(address: str) -> dict[str, str] | None:
    url = _URL.fullmatch(address.partition("?")[0].partition("#")[0])
    found = url or _SCP.fullmatch(address)
    name = found["name"].strip("/").removesuffix(".git").rstrip("/") if found else ""
    if not name or not address.isprintable():
        return None
    if url:
        scheme, user, host, port, rest = url.groups()
        # In HTTP URLs the user is often a token, which is a password, too.
        user = f"{user.partition(':')[0]}@" if user and scheme == "ssh" else ""
        address = f"{scheme}://{user}{host}{port or ''}/{rest}"
    return {"remote": address, "repo_name": name}


def _text(out: bytes) -> str:
    return out.decode(errors="replace")


class _GitAnswer(NamedTuple):
    call: Sequence[str]
    out: bytes
    """At most 1 MiB; truncated output is not a failure."""
    code: int


class _Git:
    """Runs git in a folder, within 5 s in total, for one query."""

    def __init__(self, path: str) -> None:
        self._path, self._until = path, monotonic() + LIMIT_SECONDS
        place = Path(path)
        program = git_program(place)
        if program is None:
            raise GitNotFoundError
        # A clone can contain a bare repository, with a configuration, as plain files: use one only if requested explicitly.
        # A bare repository never has its objects elsewhere; one with `commondir` could expose a repository that the caller
        # may not read.
        is_bare = not os.path.lexists(place / "commondir") and all(
            os.path.exists(place / name) for name in ("HEAD", "objects", "refs")
        )
        self._command = (program, *_HARDENED, "-c", f"safe.bareRepository={'all' if is_bare else 'explicit'}")
        self._environment = {
            **variables(_INHERITED),
            **_SET,
            "PATH": os.pathsep.join((os.path.dirname(program), os.defpath)),
        }

    def run(self, *calls: Sequence[str], hears: str = "stdout") -> list[_GitAnswer]:
        """Run git several times in parallel, and read one of its streams; raise an error if it fails to start or times out."""
        children: list[subprocess.Popen[bytes]] = []
        late = Timer(max(0.0, self._until - monotonic()), _kill, (children,))
        late.start()
        try:
            children.extend(self._started(call, hears) for call in calls)  # one by one: no running child is lost
            return [self._answer(call, child) for call, child in zip(calls, children, strict=True)]
        finally:
            late.cancel()
            _kill(children)
            for child in children:
                with child:  # closes its pipe and waits for its end
                    pass

    def checked(self, answer: _GitAnswer) -> bytes:
        """Return git's output, or raise its error."""
        if answer.code == 0:
            return answer.out
        error, home = self.complaint(answer), home_folder()
        if error.startswith("not a git repository"):
            raise NotARepositoryError
        if error.startswith(("detected dubious ownership", "unsafe repository")):
            raise AccessDeniedError(
                short_path(self._path), "its repository belongs to a user whom git does not trust",
                suggested_action="Ask the user to add it to git's safe.directory, or continue without git.",
            )  # fmt: skip
        raise GitFailedError(error.replace(f"{home}{os.sep}", f"~{os.sep}") if home else error)

    def complaint(self, answer: _GitAnswer) -> str:
        """Run a failed call again, and return the first line of its errors; reading two pipes at once could block git."""
        if answer.code == 0:
            return ""
        (again,) = self.run(answer.call, hears="stderr")
        lines = [line for line in _text(again.out).splitlines() if not line.startswith(("warning: ", "hint: "))]
        return (lines or ["it gives no reason"])[0].removeprefix("fatal: ").removeprefix("error: ")

    def _started(self, call: Sequence[str], hears: str) -> subprocess.Popen[bytes]:
        streams = {name: subprocess.PIPE if name == hears else subprocess.DEVNULL for name in ("stdout", "stderr")}
        try:
            return subprocess.Popen(
                (*self._command, *call), cwd=self._path, env=self._environment, stdin=subprocess.DEVNULL,
                stdout=streams["stdout"], stderr=streams["stderr"],
                process_group=0,  # not a session: on a busy Linux machine, a new session is scheduled later
            )  # fmt: skip
        except OSError as exc:
            raise GitFailedError(exc.strerror or "it cannot be started") from exc

    def _answer(self, call: Sequence[str], child: subprocess.Popen[bytes]) -> _GitAnswer:
        stream = child.stdout or child.stderr
        assert stream is not None
        self._check_time()  # a child started too late to be killed in time could block us
        with stream:  # closing the pipe ends git if it writes more
            out = stream.read(MOST_BYTES)
        code = child.wait()
        self._check_time()
        return _GitAnswer(call, out, 0 if len(out) == MOST_BYTES else code)

    def _check_time(self) -> None:
        if monotonic() >= self._until:
            raise CallTimeoutError("git", LIMIT_SECONDS)


def _kill(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        if child.returncode is None:  # otherwise the number of its group may have been reused
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
