"""Real keys in Monaco while others change the same text: no letter is lost, and all ends are the same.

A failure prints its seed. `FILETOOLS_DOSE=10` makes 30 runs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from string import ascii_lowercase, digits
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.support.browsers import Desk, Served, connected, until
from tests.support.dose import dose
from tests.support.pages import open_file, settled, shows, text_of

RUNS = dose(3)
REGION = "ABC 123 DEF\nGHI 456 JKL\n"
EDITS = 8


@pytest.fixture
def page(desk: Desk) -> Iterator[Page]:
    with desk.cleared() as cleared:
        yield cleared


@pytest.fixture
def serving(desk: Desk, page: Page) -> Served:
    return desk.serving


@pytest.fixture
def other(desk: Desk, page: Page) -> Iterator[Page]:
    """A second window of the same person."""
    opened = page.context.new_page()
    desk.watched.watch(opened)
    opened.goto(f"{desk.serving.server.address}/")
    connected(opened)
    yield opened
    opened.close()


class Agent:
    """Changes one document as another editor's program does, and knows its text as that program would."""

    def __init__(self, serving: Served, path: str, seed: int) -> None:
        self._serving = serving
        self._random = random.Random(seed)
        opened = serving.does("buffer_open", path=path)
        self.text: str = opened["text"]
        self._handle, self._version = opened["handle"], opened["buffer_version"]

    def edit(self) -> None:
        """Put something into the text, or take something out that no person has typed."""
        start = self._random.randint(0, len(self.text))
        end = min(len(self.text), start + self._random.choice((0, 0, 1, 3)))
        if any(letter in ascii_lowercase for letter in self.text[start:end]):
            end = start
        new = "".join(self._random.choices(digits + " \n", k=self._random.randint(end == start, 3)))
        self._change([{"start": start, "end": end, "text": new}])

    def catch_up(self) -> str:
        """Return the text as it is now."""
        self._change([])
        return self.text

    def _change(self, edits: list[dict[str, Any]]) -> None:
        made = self._serving.does("buffer_change", handle=self._handle, buffer_version=self._version, edits=edits)
        self._version = made["buffer_version"]
        for edit in reversed([*edits]):
            self.text = self.text[: edit["start"]] + edit["text"] + self.text[edit["end"] :]
        for edit in reversed(made["edits"]):
            self.text = self.text[: edit["start"]] + edit["text"] + self.text[edit["end"] :]


def typed(page: Page, letters: str, agent: Agent, pool: ThreadPoolExecutor, seed: int) -> None:
    """Type letters while an agent edits."""
    chance = random.Random(-seed)
    moments = sorted(chance.choices(range(len(letters)), k=EDITS))
    edits: list[Future[None]] = []
    for place, letter in enumerate(letters):
        edits += [pool.submit(agent.edit) for moment in moments if moment == place]
        page.keyboard.press(letter)
    for each in edits:
        each.result()


def taken_back(page: Page, text: str, seed: int) -> None:
    """Undo all that the person typed, and nothing else, and do it again."""
    for key, wanted in (("Control+z", ""), ("Control+y", ascii_lowercase)):
        for _ in range(EDITS + 2):
            page.keyboard.press(key)
        assert (seed, letters_of(text_of(page))) == (seed, wanted)
        assert (seed, others_of(text_of(page))) == (seed, others_of(text))
    assert (seed, text_of(page)) == (seed, text)
    settled(page)


def others_of(text: str) -> str:
    """Return what a person has not typed of a text."""
    return "".join(letter for letter in text if letter not in ascii_lowercase)


def letters_of(text: str) -> str:
    """Return what a person has typed of a text."""
    return "".join(letter for letter in text if letter in ascii_lowercase)


@pytest.mark.timeout(60 + 15 * RUNS)
def test_no_letter_is_lost_while_an_agent_edits_the_same_region(serving: Served, page: Page) -> None:
    with ThreadPoolExecutor(1) as pool:  # one agent: its edits come after each other
        for seed in range(RUNS):
            path = f"run-{seed}.txt"
            (serving.root / path).write_text(REGION)
            open_file(page, path)
            agent = Agent(serving, path, seed)
            page.keyboard.press("Control+Home")
            for _ in range(random.Random(seed).randint(0, 15)):
                page.keyboard.press("ArrowRight")
            typed(page, ascii_lowercase, agent, pool, seed)
            settled(page)
            text = agent.catch_up()
            assert (seed, letters_of(text)) == (seed, ascii_lowercase)
            shows(page, text)  # the agent's last edit may be on its way to the page
            assert (seed, text_of(page)) == (seed, text)
            taken_back(page, text, seed)


def test_letters_of_two_windows_and_an_agent_reach_all_and_end_as_one_text(
    serving: Served, page: Page, other: Page
) -> None:
    (serving.root / "both.txt").write_text(REGION)
    for each in (other, page):
        open_file(each, "both.txt")
    page.keyboard.press("a")
    until(other, f"filetools.editor.active.binding.model.getValue() === {json.dumps('a' + REGION)}")  # as it is typed
    until(other, "document.querySelector('.caret-name') !== null")
    agent, edits = Agent(serving, "both.txt", 1), []
    with ThreadPoolExecutor(1) as pool:
        for place in range(1, 13):
            page.keyboard.press(ascii_lowercase[place])
            edits.append(pool.submit(agent.edit))
            other.keyboard.press(ascii_lowercase[13 + place])
        for made in edits:
            made.result()
        for each in (page, other):
            settled(each)
        text = agent.catch_up()
    for each in (page, other):
        shows(each, text)
        assert text_of(each) == text
    assert sorted(letters_of(text)) == sorted(ascii_lowercase.replace("n", ""))


def test_text_that_is_composed_stays_together(serving: Served, page: Page) -> None:
    (serving.root / "a.txt").write_text("one\ntwo\n")
    open_file(page, "a.txt")
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    serving.does("edit_file", path="a.txt", old_string="two", new_string="three")
    until(page, "filetools.editor.active.binding.model.getValue().includes('three')")
    keyboard.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    keyboard.send("Input.insertText", {"text": "日本"})
    settled(page)
    assert text_of(page) == "日本one\nthree\n"


def test_several_carets_type_at_once_and_stay_where_they_are(serving: Served, page: Page) -> None:
    (serving.root / "a.txt").write_text("one\ntwo\nthree\n")
    open_file(page, "a.txt")
    page.keyboard.press("Shift+Alt+ArrowDown")
    page.keyboard.type("- ")
    settled(page)
    serving.does("insert_lines", path="a.txt", line=0, text="zero")
    until(page, "filetools.editor.active.binding.model.getValue().startsWith('zero')")
    page.keyboard.type("x ")
    settled(page)
    assert text_of(page) == "zero\n- x one\n- x two\nthree\n"


def test_what_is_pasted_arrives(serving: Served, page: Page) -> None:
    cases = [("\U0001f600", "\U0001f600"), ("\ud83d", "�"), ("a\u2028b\r\nc", "a\u2028b\nc")]
    for number, (pasted, kept) in enumerate(cases):
        (serving.root / f"{number}.txt").write_text("one\n")
        open_file(page, f"{number}.txt")
        # As escapes: half a pair of surrogates does not travel to the browser.
        page.evaluate(f"filetools.editor.code.trigger('keyboard', 'paste', {{ text: {json.dumps(pasted)} }})")
        settled(page)
        assert text_of(page) == f"{kept}one\n"
