"""The editor page in headless Chromium: when it is ready, how soon an agent's write is seen, and its frames in a storm.

Ready is when a row of the tree and the text of a file are painted, from the call that opens the address with the login's code,
with an empty profile and a server just started; its floor is a page of Monaco alone with the same text, from Python's server of
files. Agents are processes of their own that call tools over HTTP; both sides read the clock of one machine. 1,000 events a
second of a folder that is open, one in ten of a new file, are frames that a server tells of changes nobody made: server, agents
and browser on two cores do not get as far with real writes, which are measured beside.

Usage: python -m benchmarks.bench_page [STARTS [SECONDS]]    (needs the extras `server` and `editor`, Playwright, and Chromium)
"""

from __future__ import annotations

import http.server
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.resources import files as package_files
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measure import Row, Unit, dose, percentile, print_heading, publish
from benchmarks.page_storms import AGENTS, FIRST, RATE, edits, writes
from tests.support.browsers import Watched, launched, served, until, window
from tests.support.declared import REPOSITORY

PROBE: Final = Path(__file__).with_name("page_probe.js")
WRITES: Final = 30
"""For each start."""
SECONDS: Final = 10.0
FOLDERS: Final = (500, 10_000, 100_000)
TEXT: Final = "stamp 0;\n" + "".join(f"line {number}: the quick brown fox\n" for number in range(200))
MONACO_ALONE: Final = f"""<!doctype html><div id="code" style="height: 700px"></div><script src="/loader.js"></script>
<script>require.config({{paths: {{vs: ""}}}});
require(["vs/editor/editor.main"], () => monaco.editor.create(code, {{value: {json.dumps(TEXT)}, language: "markdown"}}));
</script>"""


def tell(name: str, value: float, unit: Unit, limit: float | None = None, **more: Any) -> None:
    publish(Row(goal="-", name=f"page: {name}", value=value, unit=unit, limit=limit, **more))


@contextmanager
def project(files: int = 100) -> Iterator[Path]:
    """Make a root with a text, and a folder of so many files."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        root = Path(place) / "project"
        (root / "many").mkdir(parents=True)
        (root / "notes.md").write_text(TEXT)
        for number in range(files):
            (root / "many" / f"f{number:06d}.txt").write_text(FIRST)
        yield root


@contextmanager
def serving(root: Path) -> Iterator[tuple[str, str]]:
    """Serve a root as anybody does; return the address, and a code to log in with."""
    with served(root, "--durability", "commit") as server:
        yield server.server.address, server.codes[0]


@contextmanager
def stormy(root: Path, seconds: float) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """Serve a root by the program that tells of events at SIGUSR1."""
    program = [sys.executable, "-m", "benchmarks.page_storms", str(root), str(seconds)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        assert process.stdout is not None
        try:
            address, code = process.stdout.readline().split()
            yield address, code, process
        finally:
            process.terminate()


@contextmanager
def opened(browser: Browser, watched: Watched) -> Iterator[Page]:
    with window(browser, watched) as (_, page):
        page.add_init_script(path=PROBE)
        yield page


class MonacoAlone(http.server.SimpleHTTPRequestHandler):
    """Monaco's files, and a page with nothing else."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(MONACO_ALONE)))
        self.end_headers()
        self.wfile.write(MONACO_ALONE.encode())
        return None

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - named so there
        """Say nothing."""


@contextmanager
def monaco_alone() -> Iterator[str]:
    handler = partial(MonacoAlone, directory=import_module("rocher").path())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def ready(page: Page, opening: str, address: str) -> float:
    """Open an address, which may lead to another; return the seconds until that page is ready."""
    began = time.time()
    page.goto(opening, wait_until="commit")
    page.wait_for_url(address, wait_until="commit")
    until(page, "window.probe?.ready")
    return float(page.evaluate("probe.ready")) / 1000 - began


def log_in(page: Page, address: str, code: str) -> float:
    """Log in, and return the seconds until a row of the tree and a text can be seen."""
    return ready(page, f"{address}/login#code={code}", f"{address}/")


def measure_starts(browser: Browser, watched: Watched, starts: int) -> None:
    """Start servers and pages, ours and the floor in turns."""
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(starts):
        with monaco_alone() as address, opened(browser, Watched()) as page:
            floor.append(ready(page, address, address))
        with project() as root, serving(root) as server, opened(browser, watched) as page:
            ours.append(log_in(page, *server))
    middle, least = statistics.median(ours), statistics.median(floor)
    tell("ready, median", middle, "s", 1.5, ours=middle, floor=least, floor_name="Monaco alone")
    tell("ready, worst", max(ours), "s", 1.5)
    tell("ready / Monaco alone", middle / least, "x", ours=middle, floor=least, floor_name="Monaco alone")


def measure_writes(browser: Browser, watched: Watched, agents: Executor, count: int) -> None:
    """Let an agent edit the open file, and find out when that is seen."""
    with project() as root, serving(root) as server, opened(browser, watched) as page:
        log_in(page, *server)
        page.evaluate("probe.follow()")
        began = agents.submit(edits, server[0], count).result()
        until(page, f"probe.changes['stamp {count};']?.painted")
        changes = page.evaluate("probe.changes")
    for what, words, limit in (("model", "in the model", None), ("painted", "painted", 0.05)):
        waits = [changes[f"stamp {n};"][what] / 1000 - at for n, at in enumerate(began, 1)]
        middle, p99 = statistics.median(waits), percentile(waits, 0.99)
        tell(
            f"an agent's write {words}, p95 of {count}", percentile(waits, 0.95), "s", limit, ours=middle, ours_p99=p99
        )


def open_folder(page: Page, files: int) -> None:
    """Open the folder, load it to its end, and go back to the beginning."""
    page.evaluate("(probe.follow(), probe.start(), window.tree = document.getElementById('tree'))")
    page.evaluate("filetools.tree.reveal('many/f000000.txt')")
    until(page, "tree.querySelector('[data-path^=\"many/\"]')")
    last = f"many/f{files - 1:06d}.txt"
    until(page, f"(tree.scrollTop = tree.scrollHeight, tree.querySelector('[data-path=\"{last}\"]'))")
    tell_frames(page, f"{files:,} files, scrolled to the end")
    page.evaluate("(tree.scrollTop = 200, probe.start())")


def measure_events(browser: Browser, watched: Watched, files: int, seconds: float) -> None:
    """Tell the page of many events in a folder that is open."""
    words, count = f"{files:,} files", int(seconds * RATE)
    with project(files) as root, stormy(root, seconds) as server, opened(browser, watched) as page:
        log_in(page, *server[:2])
        open_folder(page, files)
        began = time.monotonic()
        server[2].send_signal(signal.SIGUSR1)
        until(page, f"probe.events >= {count}")
        tell(f"events told, {words}", count / (time.monotonic() - began), "1/s", 0.95 * RATE, at_least=True)
        tell_frames(page, f"{words}, {seconds:g} s of events told")


def measure_agents(browser: Browser, watched: Watched, agents: Executor, files: int, seconds: float) -> None:
    """Let agents really write files of a folder that is open."""
    words = f"{files:,} files"
    with project(files) as root, serving(root) as server, opened(browser, watched) as page:
        log_in(page, *server)
        open_folder(page, files)
        began = time.monotonic()
        works = [agents.submit(writes, server[0], who, seconds) for who in range(AGENTS)]
        count = sum(work.result() for work in works)
        until(page, f"probe.events >= {count}")
        tell(f"files written by agents, {words}", count / (time.monotonic() - began), "1/s")
        tell_frames(page, f"{words}, {seconds:g} s of agents' writes")


def tell_frames(page: Page, when: str) -> None:
    """Tell the longest frame and task since `probe.start`."""
    frames, tasks = page.evaluate("[probe.frames, probe.longTasks]")
    seconds = [each / 1000 for each in frames]
    tell(
        f"longest frame, {when}",
        max(seconds),
        "s",
        0.2,
        ours=statistics.median(seconds),
        ours_p99=percentile(seconds, 0.99),
    )
    tell(f"longest task, {when}", max(tasks, default=0.0) / 1000, "s")


def measure_all(browser: Browser, starts: int, seconds: float, folders: Sequence[int]) -> None:
    """Measure everything in a browser."""
    watched = Watched()
    with ProcessPoolExecutor(AGENTS, mp_context=get_context("spawn")) as agents:
        measure_starts(browser, watched, starts)
        measure_writes(browser, watched, agents, starts * WRITES)
        measure_agents(browser, watched, agents, folders[0], seconds)
    for files in folders:
        measure_events(browser, watched, files, seconds)
    for each in (*watched.strange_requests, *watched.errors):
        print(each)
    tell("requests that leave the machine", len(watched.strange_requests), "count", 0)
    tell("errors and warnings in the console", len(watched.errors), "count", 0)
    web = package_files("filetools.servers.http") / "web"
    tell("its own files, unpacked", sum(len(each.read_bytes()) for each in web.iterdir()), "bytes", 122_880)


def main() -> None:
    print_heading()
    with sync_playwright() as playwright:
        browser = launched(playwright)
        measure_all(browser, dose(7), float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS, FOLDERS)
        browser.close()


if __name__ == "__main__":
    main()
