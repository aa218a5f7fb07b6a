"""Over HTTP every request shows a token, and only who knows the server's name is answered."""

import json
import select
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ElicitRequestParams, ElicitResult

from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring, issue_token, signing_key
from mirrord.config import Agents, Config
from mirrord.domain.entry import Actor
from mirrord.domain.scope import parse_scope
from mirrord.domain.trust import trust_levels
from mirrord.errors import UserError
from mirrord.mcp import http, page_notices
from mirrord.mcp.admission import Tenant
from mirrord.mcp.callers import Callers
from mirrord.mcp.served_resources import uri_of
from mirrord.mcp.server import Server, assemble_server
from tests.support.clients import Agent, process, tenant_in
from tests.support.harness import eventually
from tests.support.subscribers import LIST_CHANGED, UPDATED, subscribed

PAGES = {"Welcome.md": "# Welcome\n"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
PATIENCE_SECONDS = 60
HEADERS = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(mirror=tmp_path / "mirror", data=tmp_path / "data")


@pytest.fixture
def tenant(config: Config) -> Tenant:
    return tenant_in(config.mirror, pages=PAGES)


def token(config: Config, tenant: Tenant, *, actor: str = "tester", may_write: bool = True, hours: float = 1) -> str:
    return token_and_id(config, tenant, actor=actor, may_write=may_write, hours=hours)[0]


def token_and_id(
    config: Config, tenant: Tenant, *, actor: str = "tester", may_write: bool = True, hours: float = 1
) -> tuple[str, str]:
    private = signing_key(config.data, Keyring(config.mirror))
    expires = datetime.now(UTC) + timedelta(hours=hours)
    return issue_token(
        private, tenant.name, tenant.id, Actor("agent", actor), rights=Rights(may_write), expires=expires
    )


@asynccontextmanager
async def served(config: Config, tenant: Tenant, *, send_bytes: int | None = None) -> AsyncIterator[str]:
    """The URL of the server. send_bytes: that its sockets take before clients read; None: the system's default."""
    callers = Callers()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if send_bytes is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = http.create_app(config, tenant, callers, url, http.security_settings("127.0.0.1", ()))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: server.serve(sockets=[listener]))
            try:
                yield f"{url}/mcp"
            finally:
                server.should_exit = True
    callers.close()


@asynccontextmanager
async def connected(url: str, bearer: str, mode: str = "auto", **options: Any) -> AsyncIterator[Agent]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {bearer}"}, timeout=PATIENCE_SECONDS) as bare,
        Client(streamable_http_client(url, http_client=bare), mode=mode, **options) as client,
    ):
        yield Agent(client)


async def answer(url: str, **headers: str) -> int:
    async with httpx2.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        return (await client.post(url, json=HELLO, headers={**HEADERS, **headers})).status_code


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_token_lets_in(config: Config, tenant: Tenant, mode: str) -> None:
    async with served(config, tenant) as url, connected(url, token(config, tenant), mode) as agent:
        page = await agent.call("read_page", path="Welcome.md")
        assert page["content"] == PAGES["Welcome.md"]
        await agent.call("write_page", path="Welcome.md", content="# Hello\n", expectedDigest=page["digest"])


async def test_what_one_session_read_lets_no_other_session_of_the_token_write(config: Config, tenant: Tenant) -> None:
    bearer = token(config, tenant)
    async with served(config, tenant) as url, connected(url, bearer, "legacy") as first:
        await first.call("read_page", path="Welcome.md")
        (tenant.root / "Welcome.md").write_text("# A person's\n", encoding="utf-8")
        async with connected(url, bearer, "legacy") as other:
            await other.call("read_page", path="Welcome.md")
            assert (await first.refused("write_page", path="Welcome.md", content="# One\n"))["code"] == "CONFLICT"
            await other.call("write_page", path="Welcome.md", content="# Other\n")
    assert (tenant.root / "Welcome.md").read_text(encoding="utf-8") == "# Other\n"


async def test_without_sessions_the_digest_of_a_text_that_the_token_was_shown_counts(
    config: Config, tenant: Tenant
) -> None:
    bearer = token(config, tenant)
    async with served(config, tenant) as url, connected(url, bearer, "2026-07-28") as agent:
        page = await agent.call("read_page", path="Welcome.md")
        refused = await agent.refused("write_page", path="Welcome.md", content="# Mine\n")
        assert (refused["code"], "expectedDigest" in refused["instruction"]) == ("READ_FIRST", True)
        await agent.call("write_page", path="Welcome.md", content="# Mine\n", expectedDigest=page["digest"])


async def test_what_was_shown_is_remembered_for_the_token_and_for_no_other(config: Config, tenant: Tenant) -> None:
    own_token, other = token(config, tenant, actor="one"), token(config, tenant, actor="other")
    async with served(config, tenant) as url:
        async with connected(url, own_token, "2026-07-28") as agent:
            digest = (await agent.call("read_page", path="Welcome.md"))["digest"]
        async with connected(url, other, "2026-07-28") as agent:
            written = {"path": "Welcome.md", "expectedDigest": digest}
            assert (await agent.refused("write_page", content="# Other\n", **written))["code"] == "READ_FIRST"
        async with connected(url, own_token, "2026-07-28") as agent:
            await agent.call("write_page", content="# One\n", **written)


async def test_who_begins_a_change_set_is_told_when_other_programs_share_it(config: Config, tenant: Tenant) -> None:
    shared = replace(config, agents=Agents(tools=("pages", "changes")))
    bearer = token(config, tenant)
    async with served(shared, tenant) as url:
        async with connected(url, bearer, "2026-07-28") as agent, connected(url, bearer, "2026-07-28") as other:
            answer_of_begin = await agent.call("begin_changes", title="Shared")
            await agent.call("create_page", title="Draft", content="text\n")
            assert "Draft.md" in str(await other.call("get_tree"))
            await agent.call("discard_changes")
        async with connected(url, bearer, "legacy") as alone:
            assert "note" not in await alone.call("begin_changes", title="Alone")
    assert "all programs with this token" in answer_of_begin["note"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_person_approves_a_deletion_in_the_client(config: Config, tenant: Tenant, mode: str) -> None:
    questions: list[str] = []

    async def accept(_: ClientRequestContext, question: ElicitRequestParams) -> ElicitResult:
        questions.append(question.message)
        return ElicitResult(action="accept", content={})

    asking = replace(config, agents=Agents(elicitation=True, trust=trust_levels({"delete_page": "REQUIRE"})))
    bearer = token(config, tenant)
    async with served(asking, tenant) as url, connected(url, bearer, mode, elicitation_callback=accept) as agent:
        assert (await agent.call("delete_page", path="Welcome.md"))["deleted"] is True
        (tenant.root / "Welcome.md").write_text("# Again\n", encoding="utf-8")
        async with connected(url, bearer, mode) as unable:
            assert (await unable.call("delete_page", path="Welcome.md"))["status"] == "pending_approval"
    assert [question.splitlines()[0] for question in questions] == ["The page Welcome.md would go to the trash."]


async def test_a_token_that_may_read_only_reads(config: Config, tenant: Tenant) -> None:
    async with served(config, tenant) as url, connected(url, token(config, tenant, may_write=False)) as agent:
        assert "write_page" not in [tool.name for tool in (await agent.client.list_tools()).tools]
        assert (await agent.refused("write_page", path="Welcome.md", content="x"))["code"] == "READ_ONLY"


async def test_without_a_token_of_this_tenant_nobody_is_answered(config: Config, tenant: Tenant) -> None:
    elsewhere = tenant_in(config.mirror, "elsewhere")
    wrong = ["nonsense", "a.b.c", token(config, elsewhere), token(config, tenant, hours=-1)]
    async with served(config, tenant) as url:
        assert await answer(url) == 401
        assert [await answer(url, authorization=f"Bearer {credential}") for credential in wrong] == [401] * len(wrong)
        assert await answer(url, authorization=f"Bearer {token(config, tenant)}") == 200


@pytest.mark.parametrize("is_declared", [True, False])
async def test_a_request_that_is_too_large_is_told_the_limit(config: Config, tenant: Tenant, is_declared: bool) -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "write_page"}}
    body = json.dumps({**call, "arguments": {"path": "A.md", "content": "x" * (5 << 20)}}).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 1 << 20):
            yield body[start : start + (1 << 20)]

    headers = {**HEADERS, "content-type": "application/json", "authorization": f"Bearer {token(config, tenant)}"}
    async with served(config, tenant) as url, httpx2.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        response = await client.post(url, content=body if is_declared else pieces(), headers=headers)
        nobody = await client.post(url, content=body, headers={**headers, "authorization": "Bearer no"})
    assert (response.status_code, response.headers["content-type"]) == (413, "application/json")
    error = response.json()["error"]
    assert (error["code"], error["data"]["code"], error["data"]["limitBytes"]) == (-32600, "TOO_LARGE", 4 << 20)
    assert "edit_page" in error["data"]["instruction"]
    assert nobody.status_code == 401


async def test_a_stream_of_the_handshake_era_ends_with_its_token(config: Config, tenant: Tenant) -> None:
    bearer, number = token_and_id(config, tenant)
    headers = {**HEADERS, "authorization": f"Bearer {bearer}"}
    async with served(config, tenant) as url, httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as client:
        greeting = await client.post(url, json=HELLO)
        session = {"mcp-session-id": greeting.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        await client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        async with client.stream("GET", url, headers=session) as stream:
            assert stream.status_code == 200
            Keyring(config.mirror).revoke(number)
            with anyio.fail_after(PATIENCE_SECONDS):
                assert [line async for line in stream.aiter_lines() if line.startswith("data: {")] == []
        assert (await client.get(url, headers=session)).status_code == 401


async def test_a_subscription_of_the_newest_protocol_ends_with_its_token(config: Config, tenant: Tenant) -> None:
    bearer, number = token_and_id(config, tenant)
    uri = "page:///Welcome.md"
    with anyio.fail_after(PATIENCE_SECONDS):
        async with (
            served(config, tenant) as url,
            connected(url, bearer, "2026-07-28") as agent,
            agent.client.listen(resource_subscriptions=[uri]) as events,
        ):
            (tenant.root / "Welcome.md").write_text("# Told\n", encoding="utf-8")
            assert await anext(events) == ResourceUpdated(uri=uri)
            Keyring(config.mirror).revoke(number)
            with suppress(SubscriptionLost):
                assert [event async for event in events if event != ResourceUpdated(uri=uri)] == []


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_sessions_that_ended_are_notified_no_more(
    config: Config, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[Server] = []

    def assemble(*arguments: Any, **options: Any) -> Server:
        servers.append(assemble_server(*arguments, **options))
        return servers[-1]

    monkeypatch.setattr(http, "assemble_server", assemble)
    bearer = token(config, tenant)
    async with served(config, tenant) as url:
        for mode in ("legacy", "legacy", "2026-07-28"):
            async with connected(url, bearer, mode) as agent:
                await agent.client.list_resources()
                if mode == "legacy":
                    await agent.client.subscribe_resource("page:///Welcome.md")
                    assert servers[0].notices.listener_count == 1
        await anyio.to_thread.run_sync(
            lambda: eventually(lambda: servers[0].notices.listener_count == 0, "no session to be notified")
        )


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_a_client_that_does_not_read_its_stream_delays_no_other(
    config: Config, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_notices, "SEND_SECONDS", 0.5)
    names = [f"{'Long name ' * 20}{number}" for number in range(100)]
    (tenant.root / "Many").mkdir()
    for name in names:
        (tenant.root / "Many" / f"{name}.md").touch()
    headers = {**HEADERS, "authorization": f"Bearer {token(config, tenant)}"}
    async with served(config, tenant, send_bytes=4096) as url:
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as stalled:
            greeting = await stalled.post(url, json=HELLO)
            session = {"mcp-session-id": greeting.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
            await stalled.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)

            async def subscribe(number: int, name: str) -> None:
                params = {"uri": uri_of(f"Many/{name}.md")}
                call = {"jsonrpc": "2.0", "id": number, "method": "resources/subscribe", "params": params}
                assert (await stalled.post(url, json=call, headers=session)).status_code == 200

            async with anyio.create_task_group() as tasks:
                for number, name in enumerate(names):
                    tasks.start_soon(subscribe, number, name)
        parts = urlsplit(url)
        with socket.socket() as unread:
            unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            unread.connect((parts.hostname, parts.port))
            lines = [f"GET /mcp HTTP/1.1\r\nHost: {parts.netloc}"]
            lines += [f"{key}: {value}" for key, value in {**headers, **session, "accept": "text/event-stream"}.items()]
            unread.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            async with connected(url, token(config, tenant, actor="reader"), "2026-07-28") as agent:
                with anyio.fail_after(PATIENCE_SECONDS):
                    async with agent.client.listen(resource_subscriptions=["page:///Welcome.md"]) as events:
                        for turn in range(5):
                            source, target = ("Many", "Other") if turn % 2 == 0 else ("Other", "Many")
                            (tenant.root / source).rename(tenant.root / target)
                            (tenant.root / "Welcome.md").write_text(f"# {turn}\n", encoding="utf-8")
                            assert await anext(events) == ResourceUpdated(uri="page:///Welcome.md")


async def test_other_hosts_and_origins_are_refused(config: Config, tenant: Tenant) -> None:
    async with served(config, tenant) as url:
        authorization = f"Bearer {token(config, tenant)}"
        assert await answer(url, authorization=authorization, host="evil.example") == 421
        assert await answer(url, authorization=authorization, origin="http://evil.example") == 403
        assert await answer(url, authorization=authorization, origin="http://localhost:1234") == 200


@pytest.mark.parametrize(
    ("address", "parsed"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:8765", ("[::1]", 8765)), ("8765", ("127.0.0.1", 8765))],
)
def test_addresses_are_host_and_port(address: str, parsed: tuple[str, int]) -> None:
    assert http.parse_address(address) == parsed


@pytest.mark.parametrize("address", ["", "host", "host:", "host:0", "host:99999", "host:http"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(UserError, match="no address to serve at"):
        http.parse_address(address)


def read_metadata(address: str) -> dict[str, Any] | None:
    """The metadata of the resource; None: the server does not listen yet."""
    with suppress(httpx2.ConnectError):
        metadata_address = f"http://{address}/.well-known/oauth-protected-resource/mcp"
        answer = httpx2.get(metadata_address, headers={"host": "pages.example"}, timeout=PATIENCE_SECONDS)
        metadata: dict[str, Any] = answer.json()
        return metadata
    return None


def test_it_prints_where_agents_and_people_reach_it(tmp_path: Path) -> None:
    tenant_in(tmp_path / "mirror", pages=PAGES)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = process(tmp_path / "mirror", None, "--http", address, "--oauth", "https://pages.example")
    with subprocess.Popen(
        [started.command, *started.args], env=started.env, cwd=started.cwd, stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            assert select.select([server.stdout], [], [], PATIENCE_SECONDS)[0]
            assert server.stdout.readline().decode() == f"Agents of demo reach mirrord at http://{address}/mcp\n"
            metadata = eventually(lambda: read_metadata(address), "the server listens")
            assert metadata["resource"] == "https://pages.example/mcp"
        finally:
            server.terminate()


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_two_tokens_see_two_parts_of_the_tree_and_each_hears_of_its_part(
    config: Config, tenant: Tenant, mode: str
) -> None:
    private = signing_key(config.data, Keyring(config.mirror))
    rights = Rights(paths=parse_scope(["Inbox"], deny=["Inbox/Shut"]))
    scoped, _ = issue_token(private, tenant.name, tenant.id, Actor("agent", "narrow"), rights=rights, expires=None)
    uris = [f"page:///{path}" for path in ("Inbox/Mine.md", "Inbox/Shut/Page.md", "Welcome.md")]
    (tenant.root / "Inbox/Shut").mkdir(parents=True)
    async with served(config, tenant) as url, connected(url, scoped, "legacy") as narrow:
        await narrow.call("write_page", path="Inbox/Mine.md", content="# Mine\n")
        assert [page["path"] for page in (await narrow.call("list_pages"))["pages"]] == ["Inbox"]
        assert (await narrow.refused("read_page", path="Welcome.md"))["code"] == "PAGE_NOT_FOUND"
        async with (
            subscribed(url, mode, uris, scoped) as narrow_ears,
            subscribed(url, mode, uris, token(config, tenant)) as wide_ears,
        ):
            with anyio.fail_after(PATIENCE_SECONDS):
                for path in ("Welcome.md", "Other.md", "Inbox/Shut/Page.md", "Inbox/Shut/Other.md"):
                    (tenant.root / path).write_text("# Changed\n", encoding="utf-8")
                await wide_ears.until(UPDATED, uris[1])
                await wide_ears.until(LIST_CHANGED)
                assert {*narrow_ears.notices} <= {(UPDATED, uris[0])}
                (tenant.root / "Inbox/Mine.md").write_text("# Changed\n", encoding="utf-8")
                await narrow_ears.until(UPDATED, uris[0])
                (tenant.root / "Inbox/More.md").write_text("# More\n", encoding="utf-8")
                await narrow_ears.until(LIST_CHANGED)
            assert {uri for _, uri in narrow_ears.notices} == {uris[0], None}
