"""The editor page in headless Chromium: when it is ready, how soon an agent's write is seen, and its frames in a storm.

Ready is when a row of the tree and the text of a file are painted, from the call that opens the address with the login's code, with an
empty profile and a server just started. Its floor is a page of Monaco alone with the same text, from Python's own server of files.
Agents are processes of their own that call tools over HTTP; both sides read the clock of one machine. In a storm two agents
write 1,000 files a second of one folder, one in ten of them new, while that folder and a file are open. With the events, the
machine's two cores run the server, the agents and the browser: a rate that is not reached says so.

Usage: python -m benchmarks.bench_page [STARTS]    (needs the extras `server` and `editor`, Playwright, and Chromium)
"""

from __future__ import annotations

import hashlib
import http.client
import http.server
import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.resources import files as package_files
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import rocher
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measure import Row, Unit, dose, percentile, print_heading, publish
from tests.support.browsers import REQUIRED, Served, Watched, launched, served, until, window

PROBE: Final = Path(__file__).with_name("page_probe.js")
WRITES: Final = 30
"""For each start."""
AGENTS: Final = 2
RATE: Final = 1000
"""Events of files a second."""
BATCH: Final = 20
SECONDS: Final = 10.0
FOLDERS: Final = (500, 10_000)
FIRST: Final = "0\n"
TEXT: Final = "stamp 0;\n" + "".join(f"line {number}: the quick brown fox\n" for number in range(200))
MONACO_ALONE: Final = f"""<!doctype html><div id="code" style="height: 700px"></div><script src="/loader.js"></script>
<script>require.config({{paths: {{vs: ""}}}});
require(["vs/editor/editor.main"], () => monaco.editor.create(code, {{value: {json.dumps(TEXT)}, language: "markdown"}}));
</script>"""


class Agent:
    """Calls tools of a server, over one connection."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)

    def does(self, tool: str, **arguments: Any) -> None:
        """Call a tool that must succeed."""
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", f"/v1/tools/{tool}", json.dumps(arguments), headers)
        answer = json.loads(self._connection.getresponse().read())
        assert answer["success"], answer


def edits(address: str, count: int) -> list[float]:
    """Edit the first line of the open file again and again; return the times at which the calls began."""
    agent, began = Agent(address), []
    for number in range(count):
        time.sleep(random.uniform(0.06, 0.12))  # in no step with the frames
        began.append(time.time())
        agent.does("edit_file", path="notes.md", old_string=f"stamp {number};", new_string=f"stamp {number + 1};")
    return began


def storm(address: str, who: int, files: int, seconds: float) -> int:
    """Write files of the open folder, at this agent's part of the rate; return how many."""
    agent, began, written = Agent(address), time.monotonic(), 0
    texts: dict[str, str] = {}
    while time.monotonic() - began < seconds:
        items = []
        for number in range(written, written + BATCH):
            place = number * AGENTS + who
            is_new = number % 10 == 9
            path = f"many/f{place % min(files, 2000):06d}{f'-{place}' if is_new else ''}.txt"
            known = {} if is_new else {"expected_version": version(texts.get(path, FIRST))}
            texts[path] = f"{place}\n"
            items.append({"path": path, "content": texts[path], **known})
        agent.does("write_multiple", items=items)
        written += BATCH
        time.sleep(max(0.0, began + written * AGENTS / RATE - time.monotonic()))
    return written


def version(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def tell(name: str, value: float, unit: Unit, limit: float | None = None, **more: Any) -> None:
    publish(Row(goal="-", name=f"page: {name}", value=value, unit=unit, limit=limit, **more))


@contextmanager
def project(files: int = 100) -> Iterator[Served]:
    """Serve a root with a text, and a folder of so many files."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        root = Path(place) / "project"
        (root / "many").mkdir(parents=True)
        (root / "notes.md").write_text(TEXT)
        for number in range(files):
            (root / "many" / f"f{number:06d}.txt").write_text(FIRST)
        with served(root, "--durability", "commit") as server:
            yield server


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
    handler = partial(MonacoAlone, directory=rocher.path())
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


def log_in(page: Page, server: Served) -> float:
    """Log in, and return the seconds until a row of the tree and a text can be seen."""
    home = server.server.address
    return ready(page, f"{home}/login#code={server.codes.pop()}", f"{home}/")


def measure_starts(browser: Browser, watched: Watched, starts: int) -> None:
    """Start servers and pages, ours and the floor in turns."""
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(starts):
        with monaco_alone() as address, opened(browser, watched) as page:
            floor.append(ready(page, address, address))
        with project() as server, opened(browser, watched) as page:
            ours.append(log_in(page, server))
    middle, least = statistics.median(ours), statistics.median(floor)
    tell("ready, median", middle, "s", 1.5, ours=middle, floor=least, floor_name="Monaco alone")
    tell("ready, worst", max(ours), "s", 1.5)
    tell("ready / Monaco alone", middle / least, "x", ours=middle, floor=least, floor_name="Monaco alone")


def measure_writes(browser: Browser, watched: Watched, agents: Executor, count: int) -> None:
    """Let an agent edit the open file, and find out when that is seen."""
    with project() as server, opened(browser, watched) as page:
        log_in(page, server)
        page.evaluate("probe.follow()")
        began = agents.submit(edits, server.server.address, count).result()
        until(page, f"probe.changes['stamp {count};']?.painted")
        changes = page.evaluate("probe.changes")
    for what, words, limit in (("model", "in the model", None), ("painted", "painted", 0.05)):
        waits = [changes[f"stamp {n};"][what] / 1000 - at for n, at in enumerate(began, 1)]
        middle, p99 = statistics.median(waits), percentile(waits, 0.99)
        tell(f"an agent's write {words}, p95 of {count}", percentile(waits, 0.95), "s", limit, ours=middle, ours_p99=p99)


def measure_storm(browser: Browser, watched: Watched, agents: Executor, files: int, seconds: float) -> None:
    """Let agents write many files of a folder that is open as far as it goes."""
    place = f"{files:,} files"
    with project(files) as server, opened(browser, watched) as page:
        log_in(page, server)
        page.evaluate("probe.follow()")
        page.evaluate("probe.start()")
        page.evaluate("filetools.tree.reveal('many/f000000.txt')")
        until(page, "document.querySelector('#tree [data-path^=\"many/\"]')")
        until(page, "((tree) => ((tree.scrollTop = tree.scrollHeight), !tree.querySelector('.more')))(filetools.tree.tree)")
        told(page, f"{place} loaded row by row to the end")
        page.evaluate("(filetools.tree.tree.scrollTop = 200, probe.start())")
        began = time.monotonic()
        works = [agents.submit(storm, server.server.address, who, files, seconds) for who in range(AGENTS)]
        written = sum(work.result() for work in works)
        until(page, f"probe.events >= {written}")
        tell(f"events a second beside {place}", written / (time.monotonic() - began), "1/s", RATE, at_least=True)
        told(page, f"{seconds:g} s of events beside {place}")


def told(page: Page, when: str) -> None:
    """Tell the longest frame and task since `probe.start`."""
    frames, tasks = page.evaluate("[probe.frames, probe.longTasks]")
    seconds = [each / 1000 for each in frames]
    tell(f"longest frame, {when}", max(seconds), "s", 0.2, ours=statistics.median(seconds), ours_p99=percentile(seconds, 0.99))
    tell(f"longest task, {when}", max(tasks, default=0.0) / 1000, "s")


def measure_all(browser: Browser, starts: int, seconds: float, folders: Sequence[int]) -> None:
    """Measure everything in a browser."""
    watched = Watched()
    with ProcessPoolExecutor(AGENTS, mp_context=get_context("spawn")) as agents:
        measure_starts(browser, watched, starts)
        measure_writes(browser, watched, agents, starts * WRITES)
        for files in folders:
            measure_storm(browser, watched, agents, files, seconds)
    for each in (*watched.strange_requests, *watched.errors):
        print(each)
    tell("requests that leave the machine", len(watched.strange_requests), "count", 0)
    tell("errors and warnings in the console", len(watched.errors), "count", 0)
    web = package_files("filetools.servers.http") / "web"
    tell("its own files, unpacked", sum(len(each.read_bytes()) for each in web.iterdir()), "bytes", 122_880)


def main() -> None:
    print_heading()
    os.environ[REQUIRED] = "1"
    with sync_playwright() as playwright:
        browser = launched(playwright)
        measure_all(browser, dose(7), SECONDS, FOLDERS)
        browser.close()


if __name__ == "__main__":
    main()
