"""State that came with a tree is not trusted: clones, copies, other users, exchanged files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import filetools
from filetools.app.state import read_token
from filetools.app.trust import accept, own_folder, states_set_aside
from filetools.errors import InvalidArgumentError
from filetools.journal.storage.birth import mark_of
from filetools.settings import user_directory
from tests.support.crashing import QUIET
from tests.support.opened import refused

OTHER = 65534


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder of the user."""
    folder = tmp_path / "configuration"
    monkeypatch.setenv("FILETOOLS_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


async def made(root: Path) -> None:
    """Give a root a state with one change in it."""
    async with filetools.open(root, settings=QUIET) as files:
        await files.write_file("a.txt", "A\n")


async def history(root: Path) -> list[str]:
    async with filetools.open(root, settings=QUIET) as files:
        return [record.path for record in await files.latest_changes(10)]


def user_settings(text: str) -> None:
    user_directory().mkdir(parents=True, exist_ok=True)
    (user_directory() / "settings.toml").write_text(text)


def cloned_settings(root: Path, text: str) -> None:
    (root / ".filetools").mkdir(exist_ok=True)
    (root / ".filetools/settings.toml").write_text(text)


async def test_settings_of_a_clone_widen_nothing(root: Path, tmp_path: Path) -> None:
    user_settings('permissions = "ask"\nmax_read_bytes = 100\n')
    cloned_settings(
        root,
        'permissions = "allow"\nprotected_paths = []\nallow_roots = ["/"]\nfollow_symlinks = true\nhard_links = "break"\n'
        'max_read_bytes = 1000\nexclude = ["*"]\nretention_bytes = 0\n',
    )
    async with filetools.open(root, settings=QUIET) as files:
        mine = filetools.Settings()
        used = files.settings
        assert (used.permissions, used.max_read_bytes) == ("ask", 100)
        for name in ("protected_paths", "allow_roots", "follow_symlinks", "hard_links", "exclude", "retention_bytes"):
            assert getattr(used, name) == getattr(mine, name), name


async def test_settings_of_a_clone_narrow(root: Path) -> None:
    cloned_settings(root, 'permissions = "read_only"\nprotected_paths = ["ci/**"]\nmax_write_bytes = 10\n')
    async with filetools.open(root, permissions="allow", settings=QUIET) as files:
        assert files.settings.permissions == "read_only"
        assert files.settings.protected_paths == (*filetools.Settings().protected_paths, "ci/**")
        assert files.settings.max_write_bytes == 10
        await refused("TOOL_BLOCKED", files.write_file("a.txt", "A"))


@pytest.mark.parametrize("wrong", ["retention_bites = 3", "max_read_bytes = -1", "watch = 'perhaps'", "[unknown]"])
async def test_a_wrong_setting_of_a_clone_leaves_the_others_in_force(
    root: Path, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    cloned_settings(root, f'permissions = "read_only"\nhidden_paths = ["secret*"]\n{wrong}\n')
    (root / "secret.txt").write_text("S\n")
    async with filetools.open(root, settings=QUIET) as files:
        assert files.settings.max_read_bytes == filetools.Settings().max_read_bytes
        await refused("PATH_HIDDEN", files.read_file("secret.txt"))
        await refused("TOOL_BLOCKED", files.write_file("a.txt", "A"))
    assert f"Setting {wrong.split(' =')[0].strip('[]')!r} from settings.toml in the tree: " in caplog.text


@pytest.mark.parametrize(
    ("wrong", "name", "used"),
    [
        ("permissions = 'everything'", "permissions", "read_only"),
        ("hidden_paths = 'secret*'", "hidden_paths", (*filetools.Settings().hidden_paths, "**")),
        ("protected_paths = 5", "protected_paths", (*filetools.Settings().protected_paths, "**")),
        ("hard_links = 'never'", "hard_links", "refuse"),
    ],
)
async def test_a_wrong_value_that_may_have_protected_counts_as_the_strictest(
    root: Path, caplog: pytest.LogCaptureFixture, wrong: str, name: str, used: object
) -> None:
    cloned_settings(root, wrong)
    async with filetools.open(root, settings=QUIET) as files:
        assert getattr(files.settings, name) == used
    assert f"Setting {name!r} from settings.toml in the tree: " in caplog.text


@pytest.mark.parametrize(
    "text",
    [b"permissions = read_only\n", b"permissions = 'ask'\n<<<<<<< HEAD\n", b"\xff", b"#" * 70_000,
     b"a = " + b"[" * 30_000, b"a." * 30_000 + b"a = 1", Path(os.devnull)],
    ids=lambda text: str(text)[:20],
)  # fmt: skip
async def test_a_clone_whose_settings_cannot_be_read_opens_and_shows_agents_nothing(
    root: Path, caplog: pytest.LogCaptureFixture, text: bytes | Path
) -> None:
    cloned_settings(root, "")
    settings = root / ".filetools/settings.toml"
    if isinstance(text, Path):
        settings.unlink()
        settings.symlink_to(text)
    else:
        settings.write_bytes(text)
    (root / "a.txt").write_text("A\n")
    async with filetools.open(root, permissions="allow", settings=QUIET) as files:
        await refused("PATH_HIDDEN", files.read_file("a.txt"))
        await refused("PATH_HIDDEN", files.write_file("a.txt", "B"))
    assert "the strictest settings are used: Cannot read the settings in" in caplog.text


@pytest.mark.parametrize("name", ["state/id", "state/mark", ".gitignore"])
async def test_no_link_of_a_clone_is_read_or_written_through(root: Path, tmp_path: Path, name: str) -> None:
    """It may lead to /dev/zero, which never ends, or to a file that is not there yet."""
    link, target = root / ".filetools" / name, tmp_path / "target"
    link.parent.mkdir(parents=True, mode=0o700)
    link.symlink_to(target)
    if name != ".gitignore":
        target.write_text("0123456789abcdef" * 2)
    assert mark_of(link.parent) is None
    async with filetools.open(root, settings=QUIET) as files:
        await files.write_file("a.txt", "A")
    assert target.exists() == (name != ".gitignore")


async def test_the_state_of_a_copy_is_set_aside_until_it_is_accepted(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await made(root)
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    assert await history(copy) == []
    assert "was not made here by you" in caplog.text
    state = copy / ".filetools/state"
    (aside,) = states_set_aside(state)
    assert (aside / "journal.db").exists()
    accept(state, aside)
    assert await history(copy) == ["a.txt"]
    assert await history(root) == ["a.txt"]


async def test_rules_and_secrets_of_a_clone_are_not_used(root: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    await made(outer)
    async with filetools.open(outer, mirror=tmp_path / "mirror", settings=QUIET):
        pass
    (outer / ".filetools/state/permissions.json").write_text('{"format": 1, "preset": "allow", "rules": []}')
    (outer / ".filetools/state/token").write_text("known-to-the-author-of-the-repository")
    shutil.copytree(outer / ".filetools/state", root / ".filetools/state")
    user_settings('permissions = "ask"\n')
    async with filetools.open(root, settings=QUIET) as files:
        assert (await files.status())["permissions"] == "ask"
        assert not (files.state_directory / "token").exists()


async def test_a_root_that_was_moved_keeps_its_state(root: Path, tmp_path: Path) -> None:
    await made(root)
    moved = root.rename(tmp_path / "moved")
    assert await history(moved) == ["a.txt"]
    assert states_set_aside(moved / ".filetools/state") == []


async def test_a_state_restored_from_a_backup_in_its_place_is_trusted(root: Path, tmp_path: Path) -> None:
    await made(root)
    shutil.copytree(root, tmp_path / "backup")
    shutil.rmtree(root)
    shutil.copytree(tmp_path / "backup", root)
    assert await history(root) == ["a.txt"]


async def test_a_journal_that_a_pull_put_in_place_of_ours_is_refused(root: Path, tmp_path: Path) -> None:
    await made(root)
    other = tmp_path / "other"
    other.mkdir()
    await made(other)
    for name in ("journal.db", "position"):
        shutil.copy(other / ".filetools/state" / name, root / ".filetools/state" / name)
    error = await refused("STATE_UNTRUSTED", filetools.open(root, settings=QUIET).__aenter__())
    assert "not the one that was made here" in error.message


@pytest.mark.skipif(os.name == "nt", reason="no owners and modes there")
async def test_a_state_that_others_can_write_is_refused(root: Path) -> None:
    await made(root)
    (root / ".filetools").chmod(0o770)
    error = await refused("STATE_UNTRUSTED", filetools.open(root, settings=QUIET).__aenter__())
    assert error.suggested_action == f"Run: chmod 700 {root / '.filetools'}"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs the superuser to give files away")
async def test_the_state_of_another_user_is_refused(root: Path, tmp_path: Path) -> None:
    await made(root)
    os.chown(root / ".filetools", OTHER, OTHER)
    await refused("STATE_UNTRUSTED", filetools.open(root, settings=QUIET).__aenter__())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.chown(elsewhere, OTHER, OTHER)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    await refused("STATE_UNTRUSTED", filetools.open(fresh, state_dir=elsewhere, settings=QUIET).__aenter__())


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs the superuser to give files away")
def test_the_state_of_another_user_above_does_not_become_the_root(tmp_path: Path) -> None:
    work = tmp_path / "shared/work"
    work.mkdir(parents=True)
    (tmp_path / "shared/.filetools").mkdir()
    os.chown(tmp_path / "shared/.filetools", OTHER, OTHER)
    command = [sys.executable, "-m", "filetools", "write", "note.txt", "--content", "private"]
    subprocess.run(command, cwd=work, check=True, capture_output=True)
    assert (work / ".filetools/state/journal.db").exists()
    assert os.listdir(tmp_path / "shared/.filetools") == []


async def test_a_state_in_which_another_program_works_is_not_moved_away(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await made(root)
    program = (
        "import asyncio, filetools\n"
        "async def main():\n"
        f"    async with filetools.open({str(root)!r}, settings={{'watch': False}}):\n"
        "        print('open', flush=True)\n"
        "        input()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as container:
        assert container.stdout is not None
        container.stdout.readline()
        monkeypatch.setenv("FILETOOLS_CONFIG_DIR", str(tmp_path / "another home"))
        error = await refused("STATE_UNTRUSTED", filetools.open(root, settings=QUIET).__aenter__())
        assert "another program works in it" in error.message
        container.communicate(b"\n")
    assert states_set_aside(root / ".filetools/state") == []


@pytest.mark.skipif(os.name == "nt", reason="no modes there")
async def test_where_the_users_folder_cannot_be_written_the_root_is_open_for_reading_only(
    root: Path, configuration: Path
) -> None:
    (root / "a.txt").write_text("A\n")
    configuration.write_text("a file where a folder belongs")
    async with filetools.open(root, settings=QUIET) as files:
        assert (await files.read_file("a.txt")).content == "A\n"
        error = await refused("PERMISSION_DENIED", files.write_file("a.txt", "B\n"))
    assert {str(configuration) in error.message, "FILETOOLS_CONFIG_DIR" in (error.suggested_action or "")} == {True}


def test_a_mark_without_the_users_folder_is_a_strangers(root: Path) -> None:
    state = root / ".filetools/state"
    state.mkdir(parents=True)
    for mark in ("0" * 32, "../" * 10 + "aa", ""):
        (state / "mark").write_text(mark)
        assert own_folder(state) is None


@pytest.mark.skipif(os.name == "nt", reason="no modes there")
def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-more-than-sixteen-characters")
    for mode in (0o644, 0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(InvalidArgumentError, match="read by other users"):
            read_token(file)
    file.chmod(0o600)
    assert read_token(file) == "a-token-of-more-than-sixteen-characters"


async def test_git_clean_leaves_the_history(root: Path) -> None:
    git = ("git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run([*git, "init", "-q"], check=True)
    await made(root)
    for command in (["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    async with filetools.open(root, settings=QUIET) as files:
        subprocess.run([*git, "clean", "-fdxq"], check=True, capture_output=True)
        await files.write_file("b.txt", "B\n")
    subprocess.run([*git, "stash", "-aq"], check=True, capture_output=True)
    assert await history(root) == ["b.txt", "a.txt"]
    status = subprocess.run([*git, "status", "--short"], check=True, capture_output=True, text=True).stdout
    assert status == ""
