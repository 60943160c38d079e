"""`live.js` alone: what is typed arrives once, on both sides, whatever happens between."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import asdict
from playwright.sync_api import Browser, Page

from filetools.content.differences.transforming import transform
from filetools.content.editing.text_edits import TextEdit, apply_text_edits, composed
from tests.support import bearer
from tests.support.browsers import Served, Watched, served, window
from tests.support.dose import sampled
from tests.support.live_pages import OUTAGE, LivePage

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LINE = "0 1 2 3 4 5 6 7\n"


@pytest.fixture
def live(serving: Served, page: Page, request: pytest.FixtureRequest) -> LivePage:
    """A page with a document; a parameter patches its `live.js`."""
    (serving.root / "a.txt").write_text(LINE)
    made = LivePage(page, serving, getattr(request, "param", None))
    made.open("a.txt")
    return made


@pytest.fixture
def shaky(live: LivePage, watched: Watched) -> LivePage:
    watched.expect(*OUTAGE)
    return live


def letters_of(text: str) -> str:
    return "".join(sorted(letter for letter in text if letter in LETTERS))


def edits_of(draw: random.Random, text: str, letters: str) -> list[TextEdit]:
    places = sorted(draw.randint(0, len(text)) for _ in range(2 * draw.randint(0, 4)))
    new = ["".join(draw.choices(letters, k=draw.randint(0, 2))) for _ in places]
    made = [TextEdit(start, end, new.pop()) for start, end in zip(places[::2], places[1::2], strict=True)]
    return [edit for edit in made if edit.text or edit.start < edit.end]


def plain(edits: list[TextEdit]) -> list[dict[str, Any]]:
    return [asdict(edit) for edit in edits]


def test_edits_are_carried_and_put_together_as_the_server_does(live: LivePage) -> None:
    draw = random.Random(7)
    cases = []
    for _ in range(500):
        text = "".join(draw.choices("0123\n", k=draw.randint(0, 12)))
        ours, theirs = edits_of(draw, text, "abc"), edits_of(draw, text, "xyz\n")
        later = edits_of(draw, apply_text_edits(text, ours), "def")
        cases.append((text, ours, theirs, later))
    found = live.run(
        "given.map(([text, ours, theirs, later]) => [transform(ours, theirs, true), transform(theirs, ours, false),"
        " transform(ours, theirs, false), compose(ours, later), applyEdits(text, ours)])",
        [(text, plain(ours), plain(theirs), plain(later)) for text, ours, theirs, later in cases],
    )
    for (text, ours, theirs, later), result in zip(cases, found, strict=True):
        first, second = transform(ours, theirs, is_first=True), transform(theirs, ours, is_first=False)
        assert result == [
            plain(first), plain(second), plain(transform(ours, theirs, is_first=False)), plain(composed(ours, later)),
            apply_text_edits(text, ours),
        ]  # fmt: skip
        one = apply_text_edits(apply_text_edits(text, ours), second)
        assert one == apply_text_edits(apply_text_edits(text, theirs), first)
        for edit in (*ours, *theirs):
            assert all(one.count(letter) >= edit.text.count(letter) for letter in edit.text)


def test_a_text_becomes_another_by_small_edits(live: LivePage) -> None:
    draw = random.Random(8)
    cases = []
    for _ in range(800):
        lines = [
            "".join(draw.choices("ab \U0001f600\U0001f601", k=draw.randint(0, 4))) for _ in range(draw.randint(0, 9))
        ]
        others = [line for line in lines if draw.random() < 0.8]
        for _ in range(draw.randint(0, 3)):
            others.insert(draw.randint(0, len(others)), draw.choice(["new", "\U0001f601", "", *lines]))
        cases.append(("\n".join(lines), "\n".join(others)))
    wrong = live.run(
        "given.filter(([one, other]) => { const edits = diffEdits(one, other);"
        " const isWhole = edits.every((each) => each.text.isWellFormed() && one.slice(0, each.start).isWellFormed());"
        " return !isWhole || applyEdits(one, edits) !== other || (one === other && edits.length); })",
        cases,
    )
    assert wrong == []
    many = "".join(f"line {number}\n" for number in range(3000))
    fewer = many.replace("line 5\n", "line five\n").replace("line 2000\n", "")
    assert live.run("diffEdits(given[0], given[1])", [many, fewer]) == [
        {"start": many.index("5\n"), "end": many.index("5\n") + 1, "text": "five"},
        {"start": many.index("line 2000\n"), "end": many.index("line 2001\n"), "text": ""},
    ]
    assert len(live.run("diffEdits(given[0], given[1])", [many, many.replace("line", "row")])) == 1


def test_what_is_typed_arrives_and_is_saved(live: LivePage) -> None:
    live.run("field.type(0, 1, 'zero')")
    assert live.settle() == "zero" + LINE[1:]
    live.served.does("edit_file", path="a.txt", old_string="7", new_string="seven")
    live.until("field.text === 'zero 1 2 3 4 5 6 seven\\n'")
    assert live.run("field.document.dirty")
    live.run("field.document.save()")
    assert (live.served.root / "a.txt").read_text() == "zero 1 2 3 4 5 6 seven\n"
    assert live.run("[field.document.dirty, Object.keys(sessionStorage)]") == [False, []]


@pytest.mark.timeout(600)
def test_26_letters_amid_8_edits_of_an_agent_are_all_there_on_both_sides(live: LivePage) -> None:
    assert storm(live, 25) == []


def storm(live: LivePage, runs: int) -> list[Any]:
    """Let letters be typed amid an agent's edits, in a file for each seed; return the runs that went wrong."""
    for seed in range(runs):
        (live.served.root / f"{seed}.txt").write_text(LINE)
    found: list[Any] = live.run(
        "const wrong = []; for (let seed = 0; seed < given; seed += 1)"
        " wrong.push(await lettersAmidEdits(`${seed}.txt`, seed)); return wrong.filter(Boolean)",
        runs,
    )
    return found


def test_two_windows_and_an_agent_end_with_one_text(live: LivePage, browser: Browser, watched: Watched) -> None:
    with window(browser, watched) as (_, page):
        other = LivePage(page, live.served, logs_in=False)
        other.open("a.txt")  # without a login: an agent's window
        live.run("window.work = typeLetters(field, LETTERS, chance(1), {ms: 20})")
        other.run("window.work = typeLetters(field, LETTERS.map((each) => each.toUpperCase()), chance(2), {ms: 20})")
        for digit in range(8):
            live.served.does("edit_file", path="a.txt", old_string=f"{digit}", new_string=f"[{digit}]")
        for each in (live, other):
            each.run("window.work")
            each.run("settled(field)")
        text = live.settle()
        assert other.settle() == text
        assert sorted(text) == sorted(LETTERS + LETTERS.upper() + "[0] [1] [2] [3] [4] [5] [6] [7]\n")


def test_cables_that_are_pulled_and_answers_that_are_lost_cost_no_letter(shaky: LivePage) -> None:
    for seed in range(5):
        (shaky.served.root / f"{seed}.txt").write_text(LINE)
        shaky.run("window.field = new Field(await live.open(given))", f"{seed}.txt")
        shaky.run(
            "window.work = typeLetters(field, LETTERS, chance(given), {ms: 9, before: (random) => {"
            " if (!random(6)) cut(); else if (!random(6)) lose('change'); }})",
            seed,
        )
        for digit in range(4):
            shaky.served.does("edit_file", path=f"{seed}.txt", old_string=f"{digit}", new_string=f"[{digit}]")
        shaky.run("window.work")
        text = shaky.settle()
        assert letters_of(text) == LETTERS, (seed, text)
        assert "".join(each for each in text if each not in LETTERS) == "[0] [1] [2] [3] 4 5 6 7\n"


@pytest.mark.parametrize("has_arrived", [True, False])
def test_a_change_whose_answer_was_lost_is_made_once(shaky: LivePage, has_arrived: bool) -> None:
    lost_answer(shaky, has_arrived=has_arrived)


def test_a_document_that_is_closed_stays_closed(live: LivePage) -> None:
    live.run("field.document.close()")
    live.run("live.request('ping', {})")
    assert bearer.get(f"{live.served.server.address}/v1/status").json()["documents"] == []


def lost_answer(live: LivePage, *, has_arrived: bool) -> None:
    """Type a letter whose answer is lost, with the change or without it, while others edit."""
    if has_arrived:
        live.run("lose('change')")
        live.run("field.type(2, 2, 'x')")
        live.until("isLost()")
        live.run("cut(true)")
    else:
        live.run("const [last] = sockets.slice(-1); last.send = () => {}; field.type(2, 2, 'x'); cut(true)")
    live.served.does("edit_file", path="a.txt", old_string="0", new_string="[0]")
    live.run("field.type(field.text.indexOf('7'), field.text.indexOf('7'), 'y')")
    live.run("comeBack()")
    assert live.settle() == "[0] x1 2 3 4 5 6 y7\n"


def test_what_was_typed_without_a_server_survives_a_reload(shaky: LivePage) -> None:
    reload_without_a_server(shaky)


def reload_without_a_server(live: LivePage) -> None:
    """Reload a page of which one change may have arrived and another cannot have, while others edit."""
    live.run("lose('change')")
    live.run("field.type(2, 2, 'x')")
    live.until("isLost()")
    live.run("cut(true)")
    live.run("field.type(9, 9, 'y')")
    live.served.does("edit_file", path="a.txt", old_string="0", new_string="[0]")
    live.reload("a.txt")
    assert live.settle() == "[0] x1 2 3 y4 5 6 7\n"
    assert live.run("[Object.keys(sessionStorage), live.kept()]") == [[], []]


def test_reloads_at_random_moments_cost_no_letter(shaky: LivePage) -> None:
    draw = random.Random(3)
    shaky.run("localStorage.setItem('typed', '')")
    for seed in range(4):
        left = f"LETTERS.slice({2 * seed}, {2 * seed + 6})"
        shaky.run(f"window.work = typeLetters(field, {left}, chance({seed}), {{ms: 6}})")
        shaky.until(f"field.text && localStorage.getItem('typed').length >= {seed * 2 + draw.randint(1, 2)}")
        shaky.reload("a.txt")
        typed = shaky.run("localStorage.getItem('typed')")
        assert letters_of(shaky.settle()) == letters_of(typed)


@pytest.mark.parametrize("live", [("CLAIM_MS = 10_000", "CLAIM_MS = 100")], indirect=True)
def test_a_busy_page_that_loads_shows_its_kept_text_without_a_server(shaky: LivePage) -> None:
    shaky.run("const away = (cut(true), field.type(0, 0, 'kept ')); return away")
    shaky.page.reload()
    shaky.start()
    shaky.run("cut(true)")
    shaky.run("for (let held = [1]; held.length; ) ({ held } = await navigator.locks.query())")  # of the load before
    shaky.run("window.live = connected(); live.open('a.txt'); for (const end = Date.now() + 500; Date.now() < end; );")
    shaky.until("live.documents.get('a.txt').text")
    shaky.run("window.field = new Field(live.documents.get('a.txt'))")
    assert shaky.run("[field.text, field.document.pending, live.kept().length]") == ["kept " + LINE, True, 0]
    shaky.run("field.type(0, 0, 'more ')")
    shaky.run("comeBack()")
    assert shaky.settle() == "more kept " + LINE


def test_a_login_that_is_over_keeps_the_text_until_the_next_one(shaky: LivePage) -> None:
    context = shaky.page.context
    cookies = context.cookies()
    context.clear_cookies()
    shaky.run("cut()")
    shaky.until("live.state === 'logged-out'")
    shaky.run("field.type(0, 0, 'typed ')")
    assert shaky.run("[field.document.pending, live.kept().length, live.retryAt]") == [True, 0, None]
    assert shaky.run("field.document.save().catch((error) => error.code)") == "CONNECTION_LOST"
    context.add_cookies([{**cookie} for cookie in cookies])  # type: ignore[typeddict-item]
    shaky.run("live.login(localStorage.getItem('filetools-login'))")
    assert shaky.settle() == "typed " + LINE


@pytest.fixture
def killed(root: Any, page: Page, watched: Watched) -> Iterator[Callable[[], LivePage]]:
    """A page whose server is killed and started anew by a call, without the login that it had."""
    watched.expect(*OUTAGE)
    (root / "a.txt").write_text(LINE)
    with served(root) as first:
        live = LivePage(page, first)
        live.open("a.txt")

        def kill() -> LivePage:
            first.server.stop(signal.SIGKILL)
            return live

        yield kill


def test_a_server_that_is_killed_and_started_anew_costs_no_letter(
    killed: Callable[[], LivePage], page: Page, root: Any
) -> None:
    page.evaluate("() => { window.work = typeLetters(field, LETTERS, chance(5), {ms: 60}); }")
    page.evaluate("() => until(() => localStorage.getItem('typed')?.length > 5)")
    live = killed()
    live.until("localStorage.getItem('typed').length > 12")
    with served(root, "--port", str(live.served.server.port)) as second:
        live.until("live.state === 'logged-out'")  # logins end with their server
        live.log_in(second)
        live.run("live.login(localStorage.getItem('filetools-login'))")
        live.run("window.work")
        assert letters_of(live.settle()) == LETTERS
        live.run("field.document.save()")
        assert letters_of((root / "a.txt").read_text()) == LETTERS


def test_a_document_that_was_closed_goes_on_under_what_was_typed(shaky: LivePage) -> None:
    shaky.run("field.type(0, 0, 'unsaved ')")
    shaky.settle()
    shaky.run("cut(true)")
    shaky.run("field.type(8, 8, 'and more ')")
    shaky.run("closeElsewhere(field.document)")
    shaky.served.does("edit_file", path="a.txt", old_string="7", new_string="seven")
    shaky.run("comeBack()")
    assert shaky.settle() == "unsaved and more 0 1 2 3 4 5 6 seven\n"
    assert (shaky.served.root / "a.txt").read_text() == "0 1 2 3 4 5 6 seven\n"


def test_a_handle_that_is_gone_is_taken_anew(live: LivePage) -> None:
    live.run("live.request('close', {handle: field.document.handle})")
    live.run("field.type(0, 0, 'typed ')")
    assert live.settle() == "typed " + LINE
    live.run("field.document.save()")
    assert (live.served.root / "a.txt").read_text() == "typed " + LINE


def test_a_file_that_is_moved_or_deleted_under_the_caret_keeps_the_text(shaky: LivePage) -> None:
    shaky.run("field.type(0, 0, 'a ')")
    shaky.settle()
    shaky.served.does("move_file", source="a.txt", destination="b.txt")
    shaky.until("field.document.path === 'b.txt' && live.documents.has('b.txt') && !live.documents.has('a.txt')")
    shaky.run("field.type(0, 0, 'b ')")
    assert shaky.settle() == "b a " + LINE
    shaky.run("cut(true)")
    shaky.run("field.type(0, 0, 'c ')")
    shaky.served.does("move_file", source="b.txt", destination="c.txt")
    shaky.run("comeBack()")
    assert shaky.settle() == "c b a " + LINE
    assert shaky.run("field.document.path") == "c.txt"
    shaky.run("field.document.save()")
    shaky.served.does("delete_file", path="c.txt")
    shaky.until("field.document.deleted")
    shaky.run("field.type(0, 0, 'd ')")
    assert shaky.settle() == "d c b a " + LINE
    shaky.run("field.document.save()")
    assert (shaky.served.root / "c.txt").read_text() == "d c b a " + LINE
    assert not shaky.run("field.document.deleted")


def test_a_close_that_is_refused_leaves_the_document_open(live: LivePage) -> None:
    live.run("window.ask = live.request.bind(live)")
    live.run(
        "live.request = (type, ...rest) => type === 'close' ? Promise.reject(new Error('disk full')) : ask(type, ...rest)"
    )
    assert live.run("field.document.close().then(() => 'closed', (error) => error.message)") == "disk full"
    live.run("field.type(0, 0, 'typed ')")
    assert live.settle() == "typed " + LINE


def test_a_text_whose_history_is_gone_comes_by_small_edits_under_what_was_typed(shaky: LivePage) -> None:
    shaky.run("lose('change')")
    shaky.run("field.type(4, 4, 'arrived ')")
    shaky.until("isLost()")
    shaky.run("cut(true)")
    shaky.run("field.type(0, 0, 'typed ')")
    shaky.run(
        "window.isDone = elsewhere(async (other) => { const document = await other.open('a.txt');"
        " for (let turn = 0; turn < 1100; turn += 1) { document.change([{start: document.text.length - 1,"
        " end: document.text.length - 1, text: '.'}]); await until(() => !document.pending); } })"
    )
    shaky.run("window.isDone")
    shaky.run("comeBack()")
    assert shaky.settle() == "typed 0 1 arrived 2 3 4 5 6 7" + "." * 1100 + "\n"


def test_halves_of_characters_and_foreign_line_ends_cost_only_themselves(live: LivePage) -> None:
    cases: list[tuple[list[tuple[int, int, str]], str]] = [
        ([(0, 0, "\ud83d"), (1, 1, "\ude00")], "\U0001f600" + LINE),
        ([(0, 0, "\ud83d"), (3, 3, "x")], "\ufffd0 x" + LINE[2:]),
        ([(0, 0, "a\U0001f600b"), (2, 3, "\ude01")], "a\U0001f601b" + LINE),
        ([(0, 0, "a\U0001f600b"), (1, 2, "")], "a\ufffdb" + LINE),
        ([(0, 0, "one\r\ntwo\rthree")], "one\ntwo\nthree" + LINE),
    ]
    for number, (edits, text) in enumerate(cases):
        (live.served.root / f"{number}.txt").write_text(LINE)
        live.run("window.field = new Field(await live.open(given))", f"{number}.txt")
        for start, end, new in edits:
            codes = memoryview(new.encode("utf-16-le", "surrogatepass")).cast("H").tolist()
            live.run("field.type(given[0], given[1], String.fromCharCode(...given[2]))", [start, end, codes])
        assert live.settle() == text


def test_a_huge_paste_is_sent_in_several_changes(live: LivePage) -> None:
    text = live.run(
        "const text = 'a line that is pasted \\u4e16\\u754c \\u{1f600}\\n'.repeat(60000); field.type(4, 4, text);"
        " return text.length"
    )
    assert text > 1_500_000
    found = live.settle()
    assert (len(found.encode("utf-16-le")) // 2, found[:4], found[-4:]) == (text + len(LINE), LINE[:4], LINE[-4:])
    assert live.run("field.told") == []


def test_a_full_storage_stops_no_typing_and_is_told(shaky: LivePage) -> None:
    shaky.run("const fill = sessionStorage.setItem('fill', 'x'.repeat(5 * 1024 * 1024 - 100)); return fill")
    shaky.run("cut(true)")
    shaky.run("for (const letter of 'xyz') field.type(0, 0, letter)")
    assert shaky.run("[field.told, field.document.isKept]") == [["NOT_KEPT"], False]
    shaky.run("sessionStorage.removeItem('fill')")
    shaky.run("field.type(0, 0, '!')")
    assert shaky.run("[field.told, field.document.isKept]") == [["NOT_KEPT"], True]
    shaky.run("comeBack()")
    assert shaky.settle() == "!zyx" + LINE


def test_a_window_that_was_duplicated_leaves_its_origin_what_it_keeps(shaky: LivePage) -> None:
    shaky.run("cut(true)")
    shaky.run("field.type(0, 0, 'once ')")
    with shaky.page.context.expect_page() as opened:
        shaky.run("window.open('/healthz')")  # its storage is a copy
    page = opened.value
    page.wait_for_load_state()
    page.evaluate("async () => { await import('/live_page.js'); }")
    copied = page.evaluate("() => Object.keys(sessionStorage)")
    page.evaluate(
        "async () => { window.live = connected(); window.field = new Field(await live.open('a.txt'));"
        " field.type(0, 0, 'twin '); await settled(field); }"
    )
    shaky.run("comeBack()")
    text = shaky.settle()
    assert (copied, sorted(text.replace(LINE, "").split())) == (["filetools-kept:a.txt"], ["once", "twin"])


def test_frames_of_unknown_types_are_passed_over(live: LivePage) -> None:
    live.run(
        "for (const frame of [{type: 'novel'}, {type: 'novel', handle: field.document.handle}, {}])"
        " sockets.at(-1).onmessage({data: JSON.stringify(frame)})"
    )
    live.run("field.type(0, 0, 'x')")
    assert live.settle() == "x" + LINE


FAULTS = {
    "tie order": ("transform(theirs, this.#unsent, true)", "transform(theirs, this.#unsent, false)"),
    "shift": ("shift += against[next].text.length - (gone - against[next].start);", "shift += 1;"),
    "a new name": ("change_id: change.id,", "change_id: randomName(),"),
    "no repetition": ("\t\tthis.#sent = null;\n\t\tthis.#refusals = 0;", "    if (this.#sent) this.#queue.shift();"),
    "not stored": ("live.storage?.setItem(KEPT + path, JSON.stringify({ ...kept, ...text }));", ";"),
    "not offered": ("if (kept && (kept.load", "if (kept && !kept.load && (kept.load"),
}
JOURNEYS: dict[str, Callable[[LivePage], None]] = {
    "tie order": lambda live: _none(storm(live, 10)),
    "shift": lambda live: _none(storm(live, 10)),
    "a new name": lambda live: lost_answer(live, has_arrived=True),
    "no repetition": lambda live: lost_answer(live, has_arrived=False),
    "not stored": reload_without_a_server,
    "not offered": reload_without_a_server,
}


def _none(found: list[Any]) -> None:
    assert found == []


@pytest.mark.parametrize("fault", sampled(tuple(FAULTS), 2, "live"))
def test_a_planted_fault_is_found(serving: Served, page: Page, watched: Watched, fault: str) -> None:
    watched.expect(*OUTAGE, "uncaught")
    (serving.root / "a.txt").write_text(LINE)
    live = LivePage(page, serving, FAULTS[fault])
    live.open("a.txt")
    live.run("lessPatient()")
    with pytest.raises(Exception, match=r"assert|it never came true|an edit of"):
        JOURNEYS[fault](live)
