"""What a person is asked in a real browser: agents wait for the answer, and nothing is answered by accident."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browsers import Desk, Served
from tests.support.pages import typing

PACKAGE = '{\n  "name": "app",\n  "version": "1.0.0"\n}\n'


@pytest.fixture(scope="module")
def desk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Where no preset is named, as most people serve: agents ask before they change anything."""
    made = Desk(browser, tmp_path_factory.mktemp("desk"), permissions=None)
    yield made
    made.close()


@pytest.fixture
def page(desk: Desk) -> Iterator[Page]:
    with desk.cleared() as cleared:
        yield cleared


@pytest.fixture
def asking(desk: Desk, page: Page) -> Served:
    (desk.serving.root / "package.json").write_text(PACKAGE)
    return desk.serving


def raised(agents: ThreadPoolExecutor, asking: Served, old: str, new: str) -> Future[dict[str, Any]]:
    """Let an agent read the package and raise its version."""
    assert old in asking.does("read_file", path="package.json")["content"]
    return agents.submit(asking.call, "edit_file", path="package.json", old_string=old, new_string=new)


def test_a_person_approves_and_the_open_editor_shows_it(asking: Served, page: Page, agents: ThreadPoolExecutor) -> None:
    page.evaluate("filetools.editor.open('package.json')")
    expect(page.locator(".view-lines").first).to_contain_text("1.0.0")
    page.focus("#tree")
    call = raised(agents, asking, "1.0.0", "1.1.0")
    expect(page.locator("#question-title")).to_be_focused()
    expect(page.locator(".question-diff .modified-in-monaco-diff-editor .view-lines")).to_contain_text("1.1.0")
    expect(page.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")
    assert call.result(60)["success"]
    assert json.loads((asking.root / "package.json").read_text())["version"] == "1.1.0"
    expect(page.locator("#question")).to_be_hidden()
    expect(page.locator("#editor .view-lines").first).to_contain_text("1.1.0")


def test_a_person_denies_and_nothing_changes(asking: Served, page: Page, agents: ThreadPoolExecutor) -> None:
    call = raised(agents, asking, "1.0.0", "9.9.9")
    expect(page.get_by_role("button", name="Deny")).to_be_enabled()
    page.keyboard.press("Escape")
    assert call.result(60)["error_code"] == "APPROVAL_DENIED"
    assert (asking.root / "package.json").read_text() == PACKAGE
    expect(page.locator("#question-bar")).to_be_hidden()


def test_whoever_moves_or_undoes_in_a_text_is_not_interrupted(
    asking: Served, page: Page, agents: ThreadPoolExecutor
) -> None:
    for key in ("ArrowDown", "Control+z"):
        page.evaluate("filetools.editor.open('package.json')")
        page.locator("#editor .monaco-editor").click()
        with typing(page):
            page.keyboard.press(key)
            call = raised(agents, asking, "1.0.0", "2.0.0")
            expect(page.locator("#question-bar")).to_be_visible()
        assert not page.locator("#question").is_visible()
        page.keyboard.press("F8")
        expect(page.get_by_role("button", name="Deny")).to_be_enabled()
        page.keyboard.press("Escape")
        assert call.result(60)["error_code"] == "APPROVAL_DENIED"


def test_letters_typed_while_a_question_comes_are_text_and_answer_nothing(
    asking: Served, page: Page, agents: ThreadPoolExecutor
) -> None:
    (asking.root / "diary.txt").write_text("")
    page.evaluate("filetools.editor.open('diary.txt')")
    page.locator("#editor .monaco-editor").click()
    with typing(page):
        page.keyboard.type("before ")
        call = raised(agents, asking, "1.0.0", "2.0.0")
        typed = 0
        while page.locator("#question-bar").is_hidden():
            page.keyboard.type("a\n")
            typed += 1
            assert typed < 2000
    page.keyboard.type("after")
    assert not page.locator("#question").is_visible()
    assert not call.done()
    text = page.evaluate("filetools.editor.active.document.text")
    assert text == "before " + "a\n" * typed + "after"
    page.keyboard.press("F8")
    expect(page.get_by_role("button", name="Deny")).to_be_enabled()
    page.get_by_role("button", name="Deny").click()
    assert call.result(60)["error_code"] == "APPROVAL_DENIED"
    assert page.evaluate("filetools.editor.active.document.text") == text


def test_questions_queue_with_a_count_and_each_gets_its_answer(
    asking: Served, page: Page, agents: ThreadPoolExecutor
) -> None:
    calls = {
        name: agents.submit(asking.call, "write_file", path=f"<img src=x onerror=alert({name})>", content=name)
        for name in "123"
    }
    expect(page.locator("#question-count")).to_have_text("3 questions wait")
    for left in (3, 2, 1):
        expect(page.locator("#question-count")).to_have_text(
            "1 question waits" if left == 1 else f"{left} questions wait"
        )
        title = page.locator("#question-title").text_content() or ""
        label = "Deny" if "(2)" in title else "Allow"
        button = page.get_by_role("button", name=label, exact=True)
        expect(button).to_be_enabled()
        button.click()
    assert {name: call.result(60)["success"] for name, call in calls.items()} == {"1": True, "2": False, "3": True}
    assert page.locator("#question img").count() == 0
