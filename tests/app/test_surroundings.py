from __future__ import annotations

import os
from pathlib import Path

import pytest

import filetools.app.doctor as module
from filetools.app.doctor import Check, Health, examine, extras, installation, look_around
from filetools.settings import Settings
from tests.support.declared import project
from tests.support.hinted import said_by
from tests.support.unprivileged import as_nobody
from tests.tree.test_watching import IN_NAMESPACE


def found(root: Path, name: str, settings: Settings | None = None) -> list[Check]:
    return [check for check in look_around(root, settings or Settings()) if check.name == name]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state = tmp_path / ".filetools/state"
    for name in ("tmp", "displaced"):
        (state / name).mkdir(parents=True)
    return state


def test_few_watches_are_a_warning_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_INOTIFY", tmp_path)
    (tmp_path / "max_user_watches").write_text("8192\n")
    (check,) = found(tmp_path, "watching")
    assert (check.state, check.remedy) == ("warning", "sudo sysctl fs.inotify.max_user_watches=65536")
    assert check.text.startswith("8,192 inotify watches granted")
    (check,) = found(tmp_path, "watching", Settings(watch=False))
    assert check.state == "note"
    (tmp_path / "max_user_watches").unlink()
    (check,) = found(tmp_path, "watching")
    assert (check.state, "again and again" in check.text) == ("note", True)


def test_a_file_system_whose_changes_are_not_noticed_is_a_warning(tmp_path: Path) -> None:
    assert found(tmp_path, "file system") == [Check(name="file system", state="ok", text="local")]
    shown = "from pathlib import Path\nfrom filetools.app.doctor import file_system\nprint(file_system(Path(place)))"
    said = said_by(program=f"{IN_NAMESPACE.rpartition('print')[0]}{shown}", arguments=(tmp_path,))
    if "no mounts" in said or "/dev/fuse" in said:
        pytest.skip("mounting is not permitted here")
    assert "state='warning', text='other machines or programs can change files on fuse.x" in said


def test_a_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(tmp_path, "space") == []
    monkeypatch.setattr(module, "LEAST_FREE_BYTES", 2**80)
    (check,) = found(tmp_path, "space")
    assert (check.state, check.text.endswith(" MiB are free")) == ("warning", True)


def test_repaired_journals_are_named(tmp_path: Path, state: Path) -> None:
    assert found(tmp_path, "left over") == []
    (state / "damaged-20261120-120000").mkdir()
    (damaged,) = found(tmp_path, "left over")
    assert damaged.remedy == f"remove {str(state / 'damaged-20261120-120000')!r} once nothing is missing"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become another")
def test_a_state_of_another_user_is_a_warning(tmp_path: Path, state: Path) -> None:
    state.parent.chmod(0o700)

    def look() -> None:
        (check,) = found(tmp_path, "state")
        assert check.text == "another user owns it, so you can only read, without a history"
        assert examine(tmp_path) == Health(exists=True, has_state=True)

    as_nobody(tmp_path, look)
    assert found(tmp_path, "state") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become another")
def test_a_folder_that_one_may_not_write_in_is_a_warning(tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o755)

    def look() -> None:
        (check,) = found(shut, "rights")
        assert (check.state, check.remedy is not None) == ("warning", True)

    as_nobody(tmp_path, look)
    assert found(shut, "rights") == []


# What is installed


def test_every_extra_says_what_it_is_for_and_how_it_is_installed() -> None:
    declared = set(project()["optional-dependencies"]) - {"all", "dev", "peers"}
    checks = {check.name.strip("[]"): check for check in installation() if check.name.startswith("[")}
    assert checks.keys() >= {"cli", "mcp", "server", "search"}
    assert checks.keys() <= declared
    assert [name for name, check in checks.items() if not check.text] == []
    for name, packages in extras().items():
        remedy = checks[name].remedy
        assert remedy == (f"pip install 'agent-filetools[{name}]'" if packages["missing"] else None)
