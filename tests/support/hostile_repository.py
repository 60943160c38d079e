"""A repository that names a program in every place where git looks for one; each program leaves a mark when it is run.

`hostile_repository(place)` plants all of them, or those of `KINDS` that are named. A test looks at what it wants to try,
and asserts that `fired()` is empty. `Kind.trigger` is what an ordinary git does to run the program: it proves the plant.
"""

from __future__ import annotations

import io
import os
import pty
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

HOOKS: Final = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc",
    "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg",
    "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
)  # fmt: skip
COMMANDS: Final = (
    "config", "for-each-ref", "log", "ls-files", "ls-remote", "rev-list", "rev-parse", "status", "symbolic-ref", "worktree",
)  # fmt: skip
SIGNATURE: Final = (
    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQFKBAABCAA0FiEEdmVyeSBsb25n\n -----END PGP SIGNATURE-----\n"
)


@dataclass(frozen=True)
class HostileRepository:
    """What was planted. Lives as long as its folder."""

    place: Path

    @property
    def root(self) -> Path:
        """The work tree."""
        return self.place / "tree"

    @property
    def folders(self) -> list[Path]:
        """Whatever in it one may ask about."""
        inside = ("", "src", "sub", "nested", "evil.git", "evil.git/refs", "pointer", ".git", ".git/hooks")
        return [self.root / each for each in inside]

    def fired(self) -> set[str]:
        """Return the kinds of the programs that were run since the last time."""
        marks = list((self.place / "marks").iterdir())
        for mark in marks:
            mark.unlink()
        return {mark.name for mark in marks}

    def program(self, kind: str) -> str:
        """Return the path of a program that leaves a mark and does nothing else."""
        path = self.place / "programs" / kind
        path.write_text(f"#!/bin/sh\n: > '{self.place}/marks/{kind}'\n")
        path.chmod(0o755)
        return str(path)

    def configure(self, name: str, value: str, *, inside: str = "") -> None:
        """Set a variable of the repository."""
        self.git("config", name, value, inside=inside)

    def git(self, *arguments: str, inside: str = "", feed: str = "", may_fail: bool = False) -> str:
        """Run git as everybody does, and return what it prints."""
        done = subprocess.run(
            ("git", *arguments), cwd=self.root / inside, env=environment(), input=feed, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert may_fail or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def git_on_terminal(self, *arguments: str) -> None:
        """Run git with its output on a terminal, where it uses a pager."""
        terminal, screen = pty.openpty()
        try:
            subprocess.run(
                ("git", *arguments), cwd=self.root, env=environment(), stdin=subprocess.DEVNULL, stdout=screen,
                stderr=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        finally:
            os.close(terminal)
            os.close(screen)


def environment() -> dict[str, str]:
    """Return an environment in which nobody's configuration of git counts."""
    author = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb"}
    return {"PATH": os.environ["PATH"], **author, **own}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder without anybody's configuration, and return what it says."""
    command = ["git", "-C", str(folder), "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(command, env=environment(), check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A place where git looks for a program."""

    plant: Callable[[HostileRepository, str], None]
    """Gets the program."""
    trigger: Sequence[str] = ("status",)
    inside: str = ""
    """Folder in which the trigger is run."""
    feed: str = ""
    on_terminal: bool = field(default=False)

    def pull(self, hostile: HostileRepository) -> None:
        """Do what runs the program."""
        if self.on_terminal:
            hostile.git_on_terminal(*self.trigger)
        else:
            hostile.git(*self.trigger, inside=self.inside, feed=self.feed, may_fail=True)


def _setting(*names: str, value: str = "{}", inside: str = "") -> Callable[[HostileRepository, str], None]:
    def plant(hostile: HostileRepository, program: str) -> None:
        for name in names:
            hostile.configure(name, value.format(program), inside=inside)

    return plant


def _attribute(attribute: str, variable: str) -> Callable[[HostileRepository, str], None]:
    def plant(hostile: HostileRepository, program: str) -> None:
        driver = Path(program).name.replace(".", "-")
        hostile.configure(f"{attribute}.{driver}.{variable}", program)
        with (hostile.root / ".git/info/attributes").open("a") as file:
            file.write(f"a.txt {attribute}={driver}\n")

    return plant


def _hooks(hostile: HostileRepository, program: str, folder: str = ".git/hooks") -> None:
    (hostile.root / folder).mkdir(exist_ok=True)
    for name in HOOKS:
        (hostile.root / folder / name).unlink(missing_ok=True)
        (hostile.root / folder / name).symlink_to(program)


def _hooks_path(hostile: HostileRepository, program: str) -> None:
    _hooks(hostile, program, "hooks")
    hostile.configure("core.hooksPath", "hooks")


def _signature(hostile: HostileRepository, program: str) -> None:
    _setting("gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program")(hostile, program)
    hostile.configure("log.showSignature", "true")
    commit = hostile.git("cat-file", "commit", "HEAD").replace("\n\n", f"\n{SIGNATURE}\n", 1)
    name = hostile.git("hash-object", "-t", "commit", "-w", "--stdin", feed=f"{commit}\n")
    (hostile.root / ".git/refs/heads/main").write_text(f"{name}\n")


def _remote(url: str, name: str) -> Callable[[HostileRepository, str], None]:
    def plant(hostile: HostileRepository, program: str) -> None:
        hostile.configure("remote.origin.url", url)
        hostile.configure(name, program)

    return plant


def _alternates(hostile: HostileRepository, program: str) -> None:
    (hostile.root / ".git/objects/info/alternates").write_text(f"{hostile.root}/nested/.git/objects\n")
    hostile.configure("core.alternateRefsCommand", program)


def _partial_clone(hostile: HostileRepository, program: str) -> None:
    """HEAD is there, but neither its tree nor its parent; where to get them is the repository's choice."""
    for missing in (hostile.git("rev-parse", "HEAD^{tree}"), hostile.git("rev-parse", "HEAD~1")):
        (hostile.root / ".git/objects" / missing[:2] / missing[2:]).unlink()
    for name, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "promised", "protocol.ext.allow": "always",
        "remote.promised.promisor": "true", "remote.promised.url": f"ext::{program}",
        "branch.main.remote": "promised", "branch.main.merge": "refs/heads/main",
    }.items():  # fmt: skip
        hostile.configure(name, value)


def _included(hostile: HostileRepository, program: str) -> None:
    (hostile.root / "included.cfg").write_text(f"[core]\n\tfsmonitor = {program}\n")
    hostile.configure("include.path", "../included.cfg")


def _bare(hostile: HostileRepository, program: str) -> None:
    """As plain files, which `git clone` brings; not really bare, so that it has a work tree to look at."""
    hostile.git("init", "--quiet", "--bare", "evil.git")
    text = f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = {program}\n"
    (hostile.root / "evil.git/config").write_text(text)
    (hostile.root / "evil.git/index").write_bytes((hostile.root / ".git/index").read_bytes())


def _pointer(hostile: HostileRepository, program: str) -> None:
    hostile.git("init", "--quiet", "--separate-git-dir", "elsewhere", "pointer")
    hostile.configure("core.fsmonitor", program, inside="pointer")


CREDENTIAL: Final = "protocol=https\nhost=example.invalid\n\n"
KINDS: Final[dict[str, Kind]] = {
    "hooks": Kind(plant=_hooks, trigger=("commit", "--allow-empty", "-m", "x")),
    "core.hooksPath": Kind(plant=_hooks_path, trigger=("commit", "--allow-empty", "-m", "x")),
    "core.fsmonitor": Kind(plant=_setting("core.fsmonitor")),
    "include.path": Kind(plant=_included),
    "core.pager": Kind(plant=_setting("core.pager"), trigger=("log",), on_terminal=True),
    "pager.log": Kind(plant=_setting("pager.log", "pager.status"), trigger=("log",), on_terminal=True),
    "core.editor": Kind(plant=_setting("core.editor"), trigger=("commit", "--allow-empty")),
    "sequence.editor": Kind(plant=_setting("sequence.editor"), trigger=("rebase", "-i", "--autostash", "HEAD~1")),
    "filter.clean": Kind(plant=_attribute("filter", "clean")),
    "filter.process": Kind(plant=_attribute("filter", "process")),
    "filter.smudge": Kind(plant=_attribute("filter", "smudge"), trigger=("checkout", "--", "a.txt")),
    "diff.external": Kind(plant=_setting("diff.external"), trigger=("diff",)),
    "diff.command": Kind(plant=_attribute("diff", "command"), trigger=("diff",)),
    "diff.textconv": Kind(plant=_attribute("diff", "textconv"), trigger=("log", "-p")),
    "merge.driver": Kind(plant=_attribute("merge", "driver"), trigger=("merge", "--autostash", "other")),
    "gpg.program": Kind(plant=_signature, trigger=("log",)),
    "core.sshCommand": Kind(
        plant=_remote("ssh://example.invalid/x/y", "core.sshCommand"), trigger=("ls-remote", "origin")
    ),
    "core.gitProxy": Kind(plant=_remote("git://example.invalid/x/y", "core.gitProxy"), trigger=("ls-remote", "origin")),
    "remote.uploadpack": Kind(plant=_remote(".", "remote.origin.uploadpack"), trigger=("ls-remote", "origin")),
    "core.askPass": Kind(plant=_setting("core.askPass"), trigger=("credential", "fill"), feed=CREDENTIAL),
    "credential.helper": Kind(plant=_setting("credential.helper"), trigger=("credential", "fill"), feed=CREDENTIAL),
    "core.alternateRefsCommand": Kind(plant=_alternates, trigger=("rev-list", "--alternate-refs")),
    "alias": Kind(plant=_setting(*(f"alias.{each}" for each in (*COMMANDS, "x")), value="!{}"), trigger=("x",)),
    "submodule": Kind(plant=_setting("core.fsmonitor", inside="sub")),
    "nested": Kind(plant=_setting("core.fsmonitor", inside="nested"), inside="nested"),
    "bare": Kind(plant=_bare, inside="evil.git"),
    "pointer": Kind(plant=_pointer, inside="pointer"),
    "partial-clone.log": Kind(plant=_partial_clone, trigger=("log",)),
    "partial-clone.status": Kind(plant=_partial_clone),
}
FILTERS: Final = frozenset(kind for kind in KINDS if kind.startswith("filter."))
"""What keeps git_state from asking for the status, and so hides what else it would run."""


def hostile_repository(place: Path, *kinds: str) -> HostileRepository:
    """Make a repository in a new folder, with programs of some kinds, by default of all.

    Args:
        place: What to make; the work tree is `tree` in it, and the programs and their marks are outside of that.
        kinds: Out of `KINDS`.
    """
    hostile = HostileRepository(place)
    for folder in ("programs", "marks"):
        (place / folder).mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(_grown())) as grown:
        grown.extractall(place, filter="fully_trusted")
    for kind in kinds or KINDS:
        if kind != "partial-clone.status" or kinds:  # the same as the other
            KINDS[kind].plant(hostile, hostile.program(kind))
    hostile.fired()
    return hostile


@cache
def _grown() -> bytes:
    """Make the repository that all kinds are planted in, as an archive: once a process."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as place, tarfile.open(fileobj=packed, mode="w") as archive:
        hostile = HostileRepository(Path(place))
        (hostile.root / "src").mkdir(parents=True)
        _grow(hostile)
        archive.add(hostile.root, "tree")
    return packed.getvalue()


def _grow(hostile: HostileRepository) -> None:
    hostile.git("init", "--quiet", "--initial-branch", "main")
    texts = {
        "a.txt": "one\n", "src/b.txt": "two\n", "README.md": "# Hostile\n", "AGENTS.md": "Be nice.\n",
        "pyproject.toml": "[project]\nname = 'hostile'\ndependencies = ['x>1']\n", ".gitignore": "*.log\n",
    }  # fmt: skip
    for name, text in texts.items():
        (hostile.root / name).write_text(text)
    for inner in ("sub", "nested"):
        hostile.git("init", "--quiet", inner)
        hostile.git("commit", "--quiet", "--allow-empty", "--message", inner, inside=inner)
    (hostile.root / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
    hostile.git("add", ".gitmodules", "sub", *texts)
    hostile.git("commit", "--quiet", "--message", "first")
    hostile.git("checkout", "--quiet", "-b", "other")
    _commit(hostile, "another\n", "theirs")
    hostile.git("checkout", "--quiet", "main")
    _commit(hostile, "changed\n", "ours")
    (hostile.root / "a.txt").write_text("not yet\n")  # so that git must look into it


def _commit(hostile: HostileRepository, text: str, message: str) -> None:
    (hostile.root / "a.txt").write_text(text)
    hostile.git("commit", "--quiet", "--all", "--message", message)


def everything(root: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Return kind and rights, time and bytes of all below a folder."""
    found = {}
    for folder, folders, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, name) for name in (*folders, *files))):
            facts = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (facts.st_mode, facts.st_ino, facts.st_mtime_ns, content)
    return found
