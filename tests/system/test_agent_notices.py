"""Subscribed clients hear of what people, files and rows change, in both eras, on stdio and over HTTP."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp_types import ResourcesCapability

from mirrord.config import Agents, Config
from mirrord.mcp.admission import Tenant
from mirrord.mirror import tree_marker
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.web.console_server import last_url
from tests.support.browsing import Browser
from tests.support.clients import process
from tests.support.commands import Near
from tests.support.consoles import Console
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.oauth_clients import oauth_server
from tests.support.subscribers import LIST_CHANGED, PATIENCE_SECONDS, UPDATED, subscribed

SIDES = ("file", "row", "console")


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    with Near(tmp_path_factory.mktemp("notices"), tenant="notices", dsn=admin_dsn) as started:
        for side in SIDES:
            save(started.file(f"By {side}.md"), "# Begin\n")
        started.up("--console", "0")
        started.flush()
        assert started.app  # commands run in the main thread only
        yield started


@pytest.fixture(scope="module")
def ada(mirrord: Mirrord) -> Browser:
    return Console(mirrord, eventually(lambda: last_url(mirrord.data), "the console's address")).browser(mirrord.tenant)


@pytest.fixture(scope="module")
def token(mirrord: Mirrord) -> str:
    return mirrord.create_token()


@pytest.fixture(scope="module")
def resource(mirrord: Mirrord) -> Iterator[str]:
    marker = tree_marker.read(Tree(mirrord.root))
    assert marker is not None
    config = Config(mirror=mirrord.mirror, data=mirrord.data, agents=Agents())
    with oauth_server(config, Tenant(marker.tenant, marker.tenant_id, mirrord.root)) as serving:
        yield serving.resource


@dataclass(slots=True)
class Edits:
    """What each side does to a page, and makes."""

    mirrord: Mirrord
    ada: Browser
    number: int

    def change(self, side: str) -> None:
        text = f"# Number {self.number}\n"
        if side == "file":
            save(self.mirrord.file("By file.md"), text)
        elif side == "row":
            self.mirrord.app.execute("UPDATE page SET markdown = %s WHERE name = 'By row'", (text,))
        else:
            page = self.page_id("By console.md")
            version = self.ada.get(f"pages/{page}")["version"]
            self.ada.send("PUT", f"pages/{page}/markdown", {"version": version, "markdown": text})

    def create(self, side: str) -> str:
        name = f"New by {side} {self.number}"
        if side == "file":
            save(self.mirrord.file(f"{name}.md"), "# New\n")
        elif side == "row":
            self.mirrord.app.execute("INSERT INTO page (name, markdown) VALUES (%s, %s)", (name, "# New\n"))
        else:
            self.ada.send("POST", "pages", {"parent": None, "title": name}, 201)
        return f"{name}.md"

    def page_id(self, path: str) -> str:
        page = self.mirrord.page(path)
        assert page is not None
        return str(page.id)


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_clients_hear_of_edits_of_every_side(mirrord: Mirrord, ada: Browser, resource: str, token: str) -> None:
    """One test for all connections: a second worker would start a daemon of its own."""
    for number, mode in enumerate(("legacy", "2026-07-28")):
        on_stdio = process(mirrord.mirror, {"MIRRORD_TOKEN": token})
        await check_notices(Edits(mirrord, ada, 2 * number), on_stdio, mode, None)
        await check_notices(Edits(mirrord, ada, 2 * number + 1), resource, mode, token)


async def check_notices(edits: Edits, connection: Any, mode: str, bearer: str | None) -> None:
    uris = {side: f"page:///By%20{side}.md" for side in SIDES}
    with anyio.fail_after(PATIENCE_SECONDS):
        async with subscribed(connection, mode, list(uris.values()), bearer) as subscriber:
            if mode == "legacy":
                assert subscriber.client.server_capabilities.resources == ResourcesCapability(
                    subscribe=True, list_changed=True
                )
            for side, uri in uris.items():
                await _in_thread(edits.change, side)
                await subscriber.until(UPDATED, uri)
                subscriber.notices.clear()
                path = await _in_thread(edits.create, side)
                is_listed = False
                while not is_listed:
                    await subscriber.until(LIST_CHANGED)
                    subscriber.notices.clear()
                    is_listed = path in await _listed(subscriber.client)


async def _in_thread(work: Callable[[str], Any], side: str) -> Any:
    return await anyio.to_thread.run_sync(partial(work, side))


async def _listed(client: Client) -> list[str]:
    return [entry.name for entry in (await client.list_resources()).resources]
