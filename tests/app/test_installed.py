from __future__ import annotations

import pytest

from filetools.app.installed import extras, installation
from filetools.distribution import installed_version
from tests.support.declared import project


def test_every_extra_says_what_it_is_for_and_how_it_is_installed() -> None:
    declared = set(project()["optional-dependencies"]) - {"all", "dev", "peers"}
    checks = {check.name.strip("[]"): check for check in installation() if check.name.startswith("[")}
    assert checks.keys() >= {"cli", "mcp", "server", "search"}
    assert checks.keys() <= declared
    assert [name for name, check in checks.items() if not check.text] == []
    for extra in extras():
        remedy = checks[extra.name].remedy
        assert remedy == (f"pip install 'agent-filetools[{extra.name}]'" if extra.missing else None)


def test_a_program_that_is_missing_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    programs = {check.name: check for check in installation() if not check.name.startswith("[")}
    assert programs["git"].state == "note"
    assert programs["git"].remedy is not None


def test_a_package_that_is_missing_has_no_version() -> None:
    assert installed_version("a-package-that-nobody-has") is None
    assert installed_version("pydantic") is not None
