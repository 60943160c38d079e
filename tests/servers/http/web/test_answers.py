"""What a person's answers do, and what becomes of questions that somebody else, the time or the connection answers."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support import bearer, scripted_agent
from tests.support.browsers import Desk, Served, Watched, connected, served, until, window
from tests.support.live_pages import LATE_PARTS, OUTAGE
from tests.support.pages import open_file, settled, shows, text_of
from tests.support.scripted_agent import SCRIPT

PACKAGE = '{\n  "name": "app",\n  "version": "1.0.0"\n}\n'
AGENT = shlex.join([sys.executable, scripted_agent.__file__])
TITLE = "#question-title"
DISPOSED = ("InstantiationService has been disposed", "reading 'layout'")
"""What Monaco reports of a question that ends before it is shown."""


@pytest.fixture
def preset() -> str:
    """What agents may: ask before they change anything."""
    return "ask"


# Where agents may write, only what meets unsaved text asks.
meets = pytest.mark.parametrize("preset", ["allow"])


@pytest.fixture(scope="module")
def desks(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Desk]]:
    presets = ("ask", "allow")
    made = {
        each: Desk(browser, tmp_path_factory.mktemp("desk"), "--agent", AGENT, permissions=each) for each in presets
    }
    yield made
    for desk in made.values():
        desk.close()


@pytest.fixture
def page(desks: dict[str, Desk], preset: str) -> Iterator[Page]:
    with desks[preset].cleared() as cleared:
        desks[preset].watched.expect(*DISPOSED)
        cleared.locator("#tree").focus()
        yield cleared


@pytest.fixture
def asking(desks: dict[str, Desk], preset: str, page: Page) -> Served:
    """A root with a text and a protected file."""
    root = desks[preset].serving.root
    (root / "package.json").write_text(PACKAGE)
    (root / "notes.md").write_text("one\n2\n3\n")
    (root / ".vscode").mkdir()
    (root / ".vscode/settings.json").write_text("{}\n")
    return desks[preset].serving


def raising(agents: ThreadPoolExecutor, asking: Served, new: str) -> Future[dict[str, Any]]:
    """Let an agent raise the version, once a person lets it."""
    arguments = {"path": "package.json", "old_string": "1.0.0", "new_string": new}
    assert "1.0.0" in asking.does("read_file", path="package.json")["content"]
    return agents.submit(asking.call, "edit_file", **arguments)


def press(page: Page, name: str) -> None:
    """Press a button with the keyboard alone: Tab to it, then Enter."""
    button = page.get_by_role("button", name=name, exact=True)
    expect(button).to_be_enabled()
    for _ in range(40):
        if button.evaluate("(node) => node === document.activeElement"):
            return page.keyboard.press("Enter")
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {name!r}")


def deny(page: Page) -> None:
    """Deny what waits, as the same person elsewhere."""
    page.evaluate(
        """async () => {
          const key = localStorage.getItem("filetools-login");
          const headers = { "Filetools-Login": key, "Content-Type": "application/json" };
          const { approvals } = await (await fetch("/v1/approvals", { headers })).json();
          await fetch(`/v1/approvals/${approvals[0].id}`, { method: "POST", headers, body: '{"answer": "deny"}' });
        }"""
    )


def meeting(asking: Served, page: Page, agents: ThreadPoolExecutor) -> Future[dict[str, Any]]:
    """Type something, and let an agent write the same line."""
    asking.does("read_file", path="notes.md")
    open_file(page, "notes.md")
    page.keyboard.press("Shift+End")
    page.keyboard.type("mine")
    settled(page)
    page.locator("#tree").focus()
    call = agents.submit(asking.call, "edit_file", path="notes.md", old_string="one", new_string="theirs")
    until(page, "!document.querySelector('#question-bar').hidden")
    page.keyboard.press("F8")
    expect(page.locator(TITLE)).to_be_focused()
    return call


def merging(page: Page) -> None:
    """Begin to merge, and change the result."""
    press(page, "Merge …")
    until(page, "filetools.questions.result?.hasModel()")
    page.evaluate("filetools.questions.result.focus()")
    page.keyboard.press("End")
    page.keyboard.type(" and theirs")


@meets
def test_an_agent_that_meets_unsaved_text_waits_and_is_allowed(
    asking: Served, page: Page, agents: ThreadPoolExecutor
) -> None:
    call = meeting(asking, page, agents)
    expect(page.get_by_text("It overlaps with unsaved text.")).to_be_visible()
    expect(page.locator(".question-diff .original-in-monaco-diff-editor .view-lines")).to_contain_text("mine")
    expect(page.locator(".question-diff .modified-in-monaco-diff-editor .view-lines")).to_contain_text("theirs")
    press(page, "Allow")
    done = call.result(60)
    assert done["success"], done
    shows(page, "theirs\n2\n3\n")
    assert (asking.root / "notes.md").read_text() == "theirs\n2\n3\n"
    listed = bearer.get(f"{asking.server.address}/v1/versions/notes.md").json()
    kept = [each["version"] for each in listed["versions"]]
    texts = [asking.does("read_file", path="notes.md", version=version)["content"] for version in kept]
    assert any("mine" in text for text in texts)  # nothing that was typed is lost


@meets
def test_an_agent_that_meets_unsaved_text_waits_and_is_refused(
    asking: Served, page: Page, agents: ThreadPoolExecutor
) -> None:
    call = meeting(asking, page, agents)
    expect(page.get_by_role("button", name="Cancel")).to_be_enabled()
    page.keyboard.press("Escape")
    assert not call.result(60)["success"]
    assert text_of(page) == "mine\n2\n3\n"
    assert (asking.root / "notes.md").read_text() == "one\n2\n3\n"


@meets
def test_an_agent_that_meets_unsaved_text_gets_what_the_person_merges(
    asking: Served, page: Page, agents: ThreadPoolExecutor
) -> None:
    call = meeting(asking, page, agents)
    press(page, "Merge …")
    expect(page.get_by_text("1 of their changes meet yours")).to_be_visible()
    result = page.get_by_role("region", name="Result")
    expect(result.locator(".view-lines")).to_contain_text("mine")
    page.evaluate("filetools.questions.result.focus()")
    page.keyboard.press("End")
    page.keyboard.type(" and theirs")
    page.keyboard.press("Escape")  # out of the text first
    expect(page.locator(TITLE)).to_be_focused()
    press(page, "Write the result")
    assert call.result(60)["success"]
    shows(page, "mine and theirs\n2\n3\n")
    assert (asking.root / "notes.md").read_text() == "mine and theirs\n2\n3\n"


def test_letters_go_into_the_text_that_a_person_edits(asking: Served, page: Page, agents: ThreadPoolExecutor) -> None:
    call = raising(agents, asking, "1.1.0")
    press(page, "Edit …")
    expect(page.locator(TITLE)).to_have_text("Edit package.json")
    until(page, "filetools.questions.result?.hasTextFocus()")
    page.keyboard.type("// mine\n")
    page.keyboard.press("Escape")  # out of the text first
    press(page, "Write the result")
    assert call.result(60)["success"]
    assert (asking.root / "package.json").read_text() == "// mine\n" + PACKAGE.replace("1.0.0", "1.1.0")


@meets
def test_what_was_merged_stays_in_view_when_the_question_ends_meanwhile(
    asking: Served, page: Page, agents: ThreadPoolExecutor, desks: dict[str, Desk]
) -> None:
    call = meeting(asking, page, agents)
    merging(page)
    page.keyboard.press("Control+s")  # is not for the file behind the question
    page.keyboard.press("Escape")
    press(page, "Back")
    assert (asking.root / "notes.md").read_text() == "one\n2\n3\n"
    press(page, "Merge …")
    expect(page.get_by_role("region", name="Result").locator(".view-lines")).to_contain_text("mine and theirs")
    until(page, "filetools.questions.result?.hasModel()")
    page.evaluate("filetools.questions.result.focus()")
    page.keyboard.press("End")
    with other_window(page, desks["allow"].watched) as other:
        other.keyboard.press("F8")
        expect(other.get_by_role("button", name="Cancel")).to_be_enabled()
        other.keyboard.press("Escape")
    assert not call.result(60)["success"]
    expect(page.locator(TITLE)).to_have_text(re.compile(r"The question was denied.* Copy what you want to keep\.$"))
    result = page.get_by_role("region", name="Result")
    page.keyboard.type("!")  # the keyboard is where it was
    expect(result.locator(".view-lines")).to_contain_text("mine and theirs!")
    expect(page.get_by_role("button", name="Write the result")).to_have_count(0)
    page.keyboard.press("Escape")
    press(page, "Back")
    expect(page.locator("#question")).to_be_hidden()
    assert text_of(page) == "mine\n2\n3\n"
    assert (asking.root / "notes.md").read_text() == "one\n2\n3\n"


def test_an_answer_for_the_run_holds_for_the_next_call_of_the_session(
    root: Path, browser: Browser, watched: Watched, agents: ThreadPoolExecutor
) -> None:
    (root / "package.json").write_text(PACKAGE)
    # A server of its own: the answer holds for every later call of such agents.
    with served(root, permissions="ask") as asking, window(browser, watched) as (_, page):
        asking.log_in(page)
        page.locator("#tree").focus()
        call = raising(agents, asking, "1.1.0")
        expect(page.locator(TITLE)).to_be_visible()
        press(page, "Allow for the rest of this run")
        assert call.result(60)["success"]
        assert asking.call("edit_file", path="package.json", old_string="1.1.0", new_string="1.2.0")["success"]
        expect(page.locator("#question")).to_be_hidden()


@pytest.mark.parametrize("ending", ["allow", "stop"])
def test_a_question_of_a_run_shows_how_far_it_is_and_stops_it(
    asking: Served, page: Page, agents: ThreadPoolExecutor, ending: str
) -> None:
    token, address = asking.server.token, asking.server.address
    script = f"call('Read'); call('Grep'); put({address!r}, {token!r}, 'made.txt', 'made'); end('done')"
    question = {"messages": [{"role": "user", "content": f"{SCRIPT}{script}"}], "model": Path(sys.executable).name}
    headers = {"Authorization": f"Bearer {token}"}
    answer = agents.submit(httpx2.post, f"{address}/v1/chat/completions", json=question, headers=headers, timeout=60)
    expect(page.locator(".run")).to_contain_text("Step 2 of ")
    bar = page.get_by_role("progressbar", name="Progress of the run")
    assert bar.evaluate("(bar) => bar.value") == 2
    if ending == "allow":
        press(page, "Allow")
        assert answer.result(60).status_code == 200
        assert (asking.root / "made.txt").read_text() == "made"
    else:
        press(page, "Stop the run")
        expect(page.locator("#status")).to_have_text("Stopped the run.")
        assert answer.result(60).status_code != 200
        expect(page.locator("#question")).to_be_hidden()
        assert not (asking.root / "made.txt").exists()


def other_window(page: Page, watched: Watched) -> AbstractContextManager[Page]:
    """Open a second window of the same login."""
    other = page.context.new_page()
    watched.watch(other)
    other.goto(page.url, wait_until="commit")
    connected(other)
    return closing(other)


def test_a_question_that_another_window_answers_goes_from_this_one(
    asking: Served, page: Page, agents: ThreadPoolExecutor, desks: dict[str, Desk]
) -> None:
    with other_window(page, desks["ask"].watched) as other:
        call = raising(agents, asking, "1.1.0")
        for each in (page, other):
            expect(each.locator(TITLE)).to_be_visible()
            assert each.title().startswith("(1) ")
        press(other, "Deny")
        assert call.result(60)["error_code"] == "APPROVAL_DENIED"
        expect(page.locator("#question")).to_be_hidden()
        expect(page.locator("#status")).to_contain_text("The question about package.json was denied")
        assert page.title() == "project · filetools"


def test_an_own_save_of_a_protected_file_is_answered_by_keyboard_and_letters_go_on_into_the_text(
    asking: Served, page: Page
) -> None:
    open_file(page, ".vscode/settings.json")
    page.keyboard.type("// ")
    page.keyboard.press("Control+s")
    box = page.get_by_role("alertdialog", name=".vscode/settings.json is protected")
    expect(box).to_be_focused()
    page.keyboard.type("more letters")
    assert text_of(page) == "// more letters{}\n"
    expect(box).to_be_visible()
    assert (asking.root / ".vscode/settings.json").read_text() == "{}\n"
    page.keyboard.press("F8")
    expect(box).to_be_focused()
    expect(box.get_by_role("button", name="Save it")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Saved .vscode/settings.json.")
    expect(box).to_have_count(0)
    assert (asking.root / ".vscode/settings.json").read_text().startswith("// ")


def test_an_own_save_takes_no_letter_from_another_field(asking: Served, page: Page) -> None:
    open_file(page, ".vscode/settings.json")
    page.keyboard.type("// ")
    page.keyboard.press("Control+s")
    page.focus("#filter")
    page.keyboard.type("set")
    expect(page.get_by_role("alertdialog")).to_be_visible()
    page.keyboard.type("tings")
    page.keyboard.press("Enter")
    assert page.locator("#filter").input_value() == "settings"
    assert (asking.root / ".vscode/settings.json").read_text() == "{}\n"
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_contain_text("Not saved: .vscode/settings.json")


def test_how_an_own_save_ended_is_told_once_and_by_nothing_else(asking: Served, page: Page) -> None:
    open_file(page, ".vscode/settings.json")
    page.evaluate("""() => {
        const status = document.getElementById("status");
        window.told = [];
        const heard = new MutationObserver(() => window.told.push(status.textContent));
        heard.observe(status, {childList: true, characterData: true, subtree: true});
    }""")
    page.keyboard.type("// ")
    page.keyboard.press("Control+s")
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_contain_text("Not saved: .vscode/settings.json")
    page.wait_for_timeout(300)  # for what else may come
    told = [text for text in page.evaluate("window.told") if text]
    assert len(told) == 1, told


def test_an_own_save_that_is_not_answered_ends_with_the_question(asking: Served, page: Page) -> None:
    open_file(page, ".vscode/settings.json")
    page.keyboard.type("// ")
    page.keyboard.press("Control+s")
    box = page.get_by_role("alertdialog", name=".vscode/settings.json is protected")
    expect(box).to_be_visible()
    deny(page)
    expect(box).to_have_count(0)
    expect(page.locator("#status")).to_contain_text("Not saved: .vscode/settings.json")
    assert text_of(page) == "// {}\n"


def test_a_question_that_nobody_answers_in_time_is_denied_and_goes(
    root: Path, browser: Browser, watched: Watched, agents: ThreadPoolExecutor
) -> None:
    (root / "package.json").write_text(PACKAGE)
    with served(root, permissions="ask") as asking, window(browser, watched) as (_, page):
        page.clock.install()
        asking.log_in(page)
        page.locator("#tree").focus()
        call = raising(agents, asking, "1.1.0")
        expect(page.locator("#question-left")).to_contain_text("Will be denied in 9:")
        page.clock.fast_forward("10:01")
        expect(page.locator("#question")).to_be_hidden()
        expect(page.locator("#status")).to_contain_text("was not answered in time and was denied")
        deny(page)  # this machine's own clock has not gone on
        assert not call.result(60)["success"]


def test_the_time_that_is_left_goes_on_over_a_reload(asking: Served, page: Page, agents: ThreadPoolExecutor) -> None:
    raising(agents, asking, "1.1.0")
    expect(page.locator("#question-left")).to_have_text(re.compile(r"in 9:([0-4]\d|5[0-5])"))
    before = page.locator("#question-left").text_content() or ""
    page.reload()
    connected(page)
    expect(page.locator("#question-left")).to_contain_text("in 9:")
    assert (page.locator("#question-left").text_content() or "") <= before
    press(page, "Deny")


def test_a_question_waits_while_the_server_is_gone_and_its_answer_is_not_taken_for_given(
    root: Path, browser: Browser, watched: Watched, agents: ThreadPoolExecutor
) -> None:
    watched.expect(*OUTAGE, *LATE_PARTS)
    (root / "package.json").write_text(PACKAGE)
    with window(browser, watched) as (_, page):
        with served(root, permissions="ask") as asking:
            asking.log_in(page)
            page.locator("#tree").focus()
            call = raising(agents, asking, "1.1.0")
            expect(page.get_by_role("button", name="Deny")).to_be_enabled()
            asking.server.stop(signal.SIGKILL)
            press(page, "Allow")
            expect(page.locator("#status")).to_contain_text("Not answered: There is no connection to the server.")
            expect(page.locator("#question-bar")).to_contain_text("1 question waits")
            expect(page.get_by_role("button", name="Answer (F8)")).to_be_disabled()
        assert call.exception(60) is not None
    assert (root / "package.json").read_text() == PACKAGE


def test_a_merge_of_the_persons_own_comes_before_questions_of_others(
    root: Path, browser: Browser, watched: Watched, agents: ThreadPoolExecutor
) -> None:
    (root / "package.json").write_text(PACKAGE)
    with served(root, permissions="ask") as asking, window(browser, watched) as (_, page):
        asking.log_in(page)
        page.locator("#tree").focus()
        call = raising(agents, asking, "1.1.0")
        expect(page.locator(TITLE)).to_contain_text("package.json")
        page.evaluate(
            """() => {
              const texts = { path: "notes.md", base: "one", ours: "mine", theirs: "theirs" };
              window.merged = filetools.questions.mergeDialog(texts).then((text) => (window.answer = [text]));
            }"""
        )
        expect(page.locator(TITLE)).to_have_text("Merge notes.md")
        second = agents.submit(asking.call, "write_file", path="new.txt", content="new")
        expect(page.locator("#question-count")).to_have_text("2 questions wait")
        deny(page)
        assert not call.result(60)["success"]
        expect(page.locator("#question-count")).to_have_text("1 question waits")
        expect(page.locator(TITLE)).to_have_text("Merge notes.md")
        press(page, "Cancel")
        until(page, "window.answer")
        assert page.evaluate("window.answer") == [None]
        expect(page.locator(TITLE)).to_contain_text("new.txt")
        press(page, "Deny")
        assert not second.result(60)["success"]


def test_letters_meant_for_the_text_keep_the_answers_off(
    root: Path, browser: Browser, watched: Watched, agents: ThreadPoolExecutor
) -> None:
    (root / "package.json").write_text(PACKAGE)
    with served(root, permissions="ask") as asking, window(browser, watched) as (_, page):
        asking.log_in(page)
        page.locator("#tree").focus()
        call = raising(agents, asking, "1.1.0")
        expect(page.get_by_role("button", name="Deny")).to_be_enabled()
        states = page.evaluate(
            """() => {
              const title = document.getElementById("question-title");
              const made = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
              const press = (key) => title.dispatchEvent(made(key));
              const isOpen = () => document.getElementById("question").open;
              press("a");
              press("Enter");
              press("Escape");
              return isOpen();
            }"""
        )
        assert states
        assert not call.done()
        press(page, "Deny")
        assert call.result(60)["error_code"] == "APPROVAL_DENIED"


ASKED: dict[str, tuple[str, Any]] = {
    "put": ("TEXT", lambda asking: put(asking, "notes.md")),
    "put a new file": ("TEXT", lambda asking: put(asking, "new.md")),
    "delete": ("-one", lambda asking: asking.call("delete_file", path="notes.md")),
    "write 3 MB": (
        "+LAST",
        lambda asking: asking.call("write_file", path="big.md", content="calm\n" * 600_000 + "LAST\n"),
    ),
}


def put(asking: Served, path: str) -> None:
    bearer.put(f"{asking.server.address}/v1/files/{path}", content=b"TEXT\n")


@pytest.mark.parametrize("name", ASKED)
def test_a_question_shows_what_would_be_there(
    asking: Served, page: Page, agents: ThreadPoolExecutor, name: str
) -> None:
    shown, ask = ASKED[name]
    call = agents.submit(ask, asking)
    until(page, f"document.querySelector('#question .question-body')?.textContent.includes({shown!r})")
    deny(page)
    call.result()
