"""What tests of the editor page do in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Page

from tests.support.browsers import until

LATER: Final = """(() => {
  const soon = setTimeout, held = [];
  window.setTimeout = (work, ms, ...rest) => ms >= 3000 ? -held.push({ work, ms }) : soon(work, ms, ...rest);
  window.pass = (passed) => held.filter(({ ms }) => ms <= passed).forEach(({ work }) => work());
})()"""
"""A script for a page whose longer times pass when a test lets them, by `pass`: it may get to looking late."""


def open_file(page: Page, path: str) -> None:
    """Open a file, or show its tab, with the keyboard in its text."""
    page.evaluate("(path) => filetools.editor.open(path)", path)
    until(page, f"filetools.editor.active?.path === {json.dumps(path)}")


def text_of(page: Page) -> str:
    """Return the text in front, which Monaco and the document must agree about."""
    shown, held = page.evaluate(
        "() => { const { binding, document } = filetools.editor.active; return [binding.model.getValue(), document.text]; }"
    )
    assert shown == held
    return str(shown)


def settled(page: Page) -> None:
    """Wait until the server has all that was typed into the text in front."""
    until(page, "!filetools.editor.active.document.pending")


def shows(page: Page, text: str) -> None:
    """Wait until the text in front is a certain one."""
    until(page, f"filetools.editor.active.document.text === {json.dumps(text)}")


@contextmanager
def typing(page: Page) -> Iterator[None]:
    """Stop the page's clock, so that a slow test still counts as typing without a pause."""
    page.evaluate("() => { const now = performance.now(); performance.now = () => now; }")
    yield
    page.evaluate("() => delete performance.now")
