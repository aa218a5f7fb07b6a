"""A person admits a hosted client in a real browser, which applies policies and sends headers as browsers do."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.async_api import Browser, expect

from mirrord.config import Config
from tests.console import chromium
from tests.support.clients import tenant_in
from tests.support.oauth_clients import OAuthServer, Program, oauth_server

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not chromium.PROGRAM.exists(), reason="Debian's chromium is needed: apt-get install chromium"),
]


class Callback(BaseHTTPRequestHandler):
    """Where the program waits for its code, on another origin than the server."""

    def do_GET(self) -> None:
        """Accept any answer."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Connected")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def callback() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Callback) as listener:
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listener.server_port}/callback"
        listener.shutdown()
        thread.join()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OAuthServer]:
    config = Config(mirror=tmp_path / "mirror", data=tmp_path / "data")
    with oauth_server(config, tenant_in(config.mirror)) as serving:
        yield serving


async def test_a_person_signs_in_with_a_link_and_allows_a_program(
    server: OAuthServer, browser: Browser, callback: str
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if "Refused" in message.text else None)
    with httpx2.Client(timeout=60) as http:
        program = Program(server, http)
        program.register(redirect_uris=[callback])
        await page.goto(program.authorize_url(redirect_uri=callback))
        await page.get_by_label("Link").fill(f"http://console/sign-in?token={server.provider.gate.invite('Ada', None)}")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading")).to_have_text("Allow access?")
        await page.get_by_label("read and change all pages").check()
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(f"{callback}?*")
        code = parse_qs(urlsplit(page.url).query)["code"][0]
        assert program.exchange(code, redirect_uri=callback).json()["scope"] == "read write"
    assert errors == []
    await context.close()
