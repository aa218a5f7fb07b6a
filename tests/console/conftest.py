"""One daemon with its console and one browser for all tests of a process; each test has pages of its own."""

import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, StorageState, async_playwright, expect

from mirrord.mcp.admission import Tenant
from mirrord.mirror import tree_marker
from mirrord.mirror.tree.tenant_tree import Tree
from tests.console import chromium
from tests.console.bundle import built
from tests.console.people import PATIENCE, Person, follow, link_of
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

SAMPLE = Path(__file__).parents[2] / "data" / "sample"

expect.set_options(timeout=PATIENCE)  # the library's own five seconds are few on a busy machine


@dataclass(frozen=True, slots=True)
class Console:
    """A daemon that serves the console at *url*."""

    mirrord: Mirrord
    url: str

    def up(self) -> None:
        """Start the daemon and wait until the console answers."""
        self.mirrord.up("--console", self.url.rpartition(":")[2])
        eventually(self._answers, f"the console at {self.url}")

    def _answers(self) -> bool:
        host, _, port = self.url.removeprefix("http://").partition(":")
        with socket.socket() as tried:
            return tried.connect_ex((host, int(port))) == 0


@pytest.fixture(scope="session")
def console(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A daemon at work on a copy of the sample."""
    with Near(tmp_path_factory.mktemp("console") / "installation", tenant="console", dsn=admin_dsn) as mirrord:
        shutil.copytree(SAMPLE, mirrord.root)
        yield started(mirrord)


@pytest.fixture
def small_console(fresh_dsn: str, tmp_path: Path) -> Iterator[Console]:
    """A daemon of one test, with two pages, of which a test may lose all."""
    with Near(tmp_path / "installation", dsn=fresh_dsn) as mirrord:
        for name in ("One.md", "Two.md"):
            save(mirrord.file(name), f"# {name}\n")
        console = started(mirrord)
        mirrord.flush()
        yield console


def started(mirrord: Mirrord) -> Console:
    """The console of a daemon that is started here; skips the test where there is no browser."""
    if not chromium.PROGRAM.exists():
        pytest.skip("Debian's chromium is needed for tests of the console: apt-get install chromium")
    built()
    console = Console(mirrord, f"http://127.0.0.1:{_free_port()}")
    console.up()
    assert mirrord.app  # commands run in this process, where a test's loop would be in their way
    return console


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A browser that nobody sees."""
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=chromium.PROGRAM, args=chromium.arguments())
        yield started
        await started.close()


@pytest.fixture(scope="session")
def way_in(console: Console) -> str:
    """A link that lets somebody in, once."""
    return link_of(console.mirrord)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def signed_in(way_in: str, browser: Browser) -> StorageState:
    """What a browser keeps of somebody who followed a link."""
    context = await browser.new_context()
    await follow(await context.new_page(), way_in)
    state = await context.storage_state()
    await context.close()
    return state


NewPerson = Callable[..., Awaitable[Person]]


@pytest_asyncio.fixture(loop_scope="session")
async def person(console: Console, browser: Browser, signed_in: StorageState) -> AsyncIterator[NewPerson]:
    """Makes people who are signed in; what their browsers complained about fails the test."""
    async with AsyncExitStack() as opened:
        people: list[Person] = []

        async def sit_down(**options: Any) -> Person:
            context = await opened.enter_async_context(
                await browser.new_context(**{"storage_state": signed_in, "service_workers": "block", **options})
            )
            people.append(Person(context, await context.new_page(), console.url, console.mirrord))
            return people[-1]

        yield sit_down
        assert [error for guest in people for error in guest.errors] == []


@pytest.fixture(scope="session")
def writer(console: Console) -> Tenant:
    """Where agents work that need no process of their own."""
    marker = tree_marker.read(Tree(console.mirrord.root))
    assert marker is not None
    return Tenant(marker.tenant, marker.tenant_id, console.mirrord.root)


@pytest.fixture(scope="session")
def token(console: Console) -> str:
    """Lets an agent in."""
    return console.mirrord.create_token("writer")
