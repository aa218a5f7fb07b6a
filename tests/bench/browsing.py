"""What people wait for in the console: the first paint of a large tenant, long pages to be edited, a key, a click."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID

import pytest
from playwright.sync_api import Browser, CDPSession, Page, StorageState, sync_playwright

from mirrord.web.console_server import last_url
from mirrord.web.rows.tree_rows import LEVEL_ENTRIES
from tests.bench.figures import Figure, Goal, median
from tests.bench.ground import PATIENCE, Ground
from tests.console import chromium
from tests.console.bundle import built
from tests.console.people import link_of
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

ROUNDS, WORKS = 15, 8  # the processor's time varies less than a clock's
PAINT, OPEN, OPEN_HUGE, KEY, CLICK = 200.0, 500.0, 1_500.0, 60.0, 120.0  # ms
LONG, HUGE, LAST = 100_000, 1_000_000, "the very last words"  # bytes of long pages, and their end
KEYS = 20  # typed into a huge page
DERIVING_SECONDS = 120.0  # for the document of a huge page, beside other work of the machine
READING = 1000  # ms that a page is read before a link in it is clicked: what follows the page's own click has ended
PARTS_OF_IT, TIMES = 10, 4  # a short page is one of them; a long one takes so many times as long at most
PART = (
    "## Part {0}\n\n"
    + "words and *more* words, see [[Anchor]]. " * 30
    + "\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| c | {0} |\n\n"
)

# Milliseconds from the beginning of the navigation.
PAINTED = """() => new Promise(done => {
  const look = () => {
    const [paint] = performance.getEntriesByName('first-contentful-paint')
    if (paint) done(paint.startTime)
    else requestAnimationFrame(look)
  }
  look()
})"""
SHOWN = """words => new Promise(done => {
  const look = () => document.querySelector('#page [role=textbox], pre')?.textContent.includes(words)
    ? setTimeout(() => done(performance.now())) : requestAnimationFrame(look) // a timer ends after the frame
  look()
})"""

# Milliseconds from the next key until what it changed is drawn.
TYPED = """() => new Promise(done => addEventListener('keydown', () => {
  const begin = performance.now()
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)))
}, { once: true, capture: true }))"""
# Milliseconds from a click on a link to another page until that one is shown with these words.
FOLLOWED = """([address, words]) => new Promise(done => {
  const link = document.createElement('a')
  link.href = address
  document.getElementById('main').append(link)
  const begin = performance.now()
  link.click()
  const look = () => location.href === address
      && document.querySelector('#page [role=textbox]')?.textContent.includes(words)
    ? setTimeout(() => done(performance.now() - begin)) : requestAnimationFrame(look)
  look()
})"""

Look = Callable[[Page, str], float]


def measure(ground: Ground) -> list[Figure]:
    """Beside plain pages of the same words, turn by turn."""
    paint, opening = f"first paint, {ground.pages:,} pages", f"a page of {LONG // 1000} KB open to be edited"
    work = f"processor time of the page's window until then, beside a page of {LONG // PARTS_OF_IT // 1000} KB"
    huge, key = f"a page of {HUGE // 1000} KB open to be edited", f"a key in a page of {HUGE // 1000} KB"
    click = "a link to another page"
    goals = {paint: Goal(PAINT), opening: Goal(OPEN), work: Goal(times=TIMES)}
    goals |= {huge: Goal(OPEN_HUGE), key: Goal(KEY), click: Goal(CLICK)}
    if not _is_possible():
        return [Figure(f"{name}, p50", None, "ms", goal) for name, goal in goals.items()]
    text, short_text = _text(LONG), _text(LONG // PARTS_OF_IT)
    with (
        _served(ground) as (mirrord, url),
        _pages_of(ground, {"Huge.md": _text(HUGE), "Long.md": text, "Short.md": short_text}) as pages,
        _plain(ground, text) as bare,
    ):
        tenant = f"{url}/t/{mirrord.tenant}"
        huge_page, page, short_page = pages
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium.PROGRAM, args=chromium.arguments())
            state = _signed_in(browser, link_of(mirrord))
            paints, bare_paints = _in_turns(_painted, lambda: _stranger(browser, state), f"{tenant}/", f"{bare}/tree")
            with browser.new_context(storage_state=state) as signed_in:
                opens, bare_opens = _in_turns(_shown, signed_in.new_page, f"{tenant}/p/{page}", f"{bare}/page")
                addresses = [f"{tenant}/p/{page}", f"{tenant}/p/{short_page}"]
                works, short_works = _in_turns(_worked, signed_in.new_page, *addresses, rounds=WORKS)
                huge_opens, keys = _typed(signed_in.new_page(), f"{tenant}/p/{huge_page}")
                clicks = _followed(signed_in.new_page(), f"{tenant}/p/{page}", f"{tenant}/p/{short_page}")
            browser.close()
    return [
        median(paint, paints, goals[paint], bare_paints),
        median(opening, opens, goals[opening], bare_opens),
        median(work, works, goals[work], short_works),
        median(huge, huge_opens, goals[huge]),
        median(key, keys, goals[key]),
        median(click, clicks, goals[click]),
    ]


def _text(size: int) -> str:
    """At least so many bytes, which end with LAST."""
    return "".join(PART.format(number) for number in range(size // len(PART) + 1)) + LAST + "\n"


def _is_possible() -> bool:
    """Whether there is a browser, and Node to build the editor with."""
    try:
        built()
    except pytest.skip.Exception:
        return False
    return chromium.PROGRAM.exists()


@contextmanager
def _served(ground: Ground) -> Iterator[tuple[Mirrord, str]]:
    """The daemon with its console, and where that is. Parts that follow start the daemon again."""
    if ground.mirrord.running:
        ground.mirrord.stop()
    ground.mirrord.start("--console", "0")
    ground.mirrord.wait_event("ready", PATIENCE)
    url = eventually(lambda: last_url(ground.mirrord.data), "the console's address")
    yield ground.imported(), url
    ground.mirrord.stop()


@contextmanager
def _pages_of(ground: Ground, texts: Mapping[str, str]) -> Iterator[list[UUID]]:
    """Pages of the tree by path, with their documents in their rows; their ids."""
    mirrord = ground.mirrord
    for path, text in texts.items():
        save(mirrord.file(path), text)
    yield [eventually(partial(_derived, mirrord, path), f"the document of {path}", DERIVING_SECONDS) for path in texts]
    for path in texts:
        mirrord.file(path).unlink()
    mirrord.flush()


def _derived(mirrord: Mirrord, path: str) -> UUID | None:
    row = mirrord.page(path)
    return row.id if row is not None and row.content is not None else None


@contextmanager
def _plain(ground: Ground, text: str) -> Iterator[str]:
    """A server of the same words, without anything that makes them pages of a tree."""
    titles = "".join(f"<li><a href=/{escape(path)}>{escape(path)}</a>" for path in sorted(ground.paths)[:LEVEL_ENTRIES])
    pages = {"/tree": f"<!doctype html><ul>{titles}</ul>", "/page": f"<!doctype html><pre>{escape(text)}</pre>"}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a window was closed before it had everything

    with Server(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _signed_in(browser: Browser, link: str) -> StorageState:
    with browser.new_context() as context:
        context.new_page().goto(link)
        return context.storage_state()


def _stranger(browser: Browser, state: StorageState) -> Page:
    """A window of somebody whose browser remembers nothing of the console but that they are signed in."""
    return browser.new_context(storage_state=state).new_page()


def _in_turns(look: Look, window: Callable[[], Page], *addresses: str, rounds: int = ROUNDS) -> list[list[float]]:
    """Milliseconds that each of *addresses* took, every time in a window of its own; the first time does not count."""
    spans: list[list[float]] = [[] for _ in addresses]
    for _ in range(1 + rounds):
        for address, address_spans in zip(addresses, spans, strict=True):
            page = window()
            address_spans.append(look(page, address))
            page.close()
    return [address_spans[1:] for address_spans in spans]


def _painted(page: Page, address: str) -> float:
    page.goto(address, wait_until="commit")
    return float(page.evaluate(PAINTED))


def _shown(page: Page, address: str) -> float:
    page.goto(address, wait_until="commit")
    return float(page.evaluate(SHOWN, LAST))


def _worked(page: Page, address: str) -> float:
    """Milliseconds of the processor that the window has used until it is shown."""
    watch = page.context.new_cdp_session(page)
    watch.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _busy(watch)
    _shown(page, address)
    return (_busy(watch) - before) * 1000


def _busy(watch: CDPSession) -> float:
    """Seconds of the processor that the window has used."""
    metrics = watch.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def _typed(page: Page, address: str) -> tuple[list[float], list[float]]:
    """Milliseconds until a page is open, each time again, and those of keys in it."""
    opens = [_shown(page, address) for _ in range(1 + ROUNDS // 3)][1:]
    page.locator("#page [role=textbox] p").first.click()
    keys = []
    for _ in range(KEYS):
        page.evaluate(f"void (window.drawn = ({TYPED})())")  # as a promise it would be waited for
        page.keyboard.press("x")
        keys.append(float(page.evaluate("window.drawn")))
    page.close()
    return opens, keys


def _followed(page: Page, *addresses: str) -> list[float]:
    """Milliseconds that each click on a link took, from one of *addresses* to the other and back."""
    _shown(page, addresses[0])
    page.wait_for_selector("body[data-ready=yes]")
    spans = []
    for number in range(1, 1 + ROUNDS):
        page.wait_for_timeout(READING)
        spans.append(float(page.evaluate(FOLLOWED, [addresses[number % 2], LAST])))
        page.wait_for_selector("body[data-ready=yes]")
    page.close()
    return spans
