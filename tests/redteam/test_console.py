"""
Attacks on the console, each against the real application with a real daemon behind it: 0 get through.

The attacker is whoever has a browser: somebody without a way in, another site, a program beside the browser, and
somebody who may see one tenant and wants the other's.
"""

import json
import re
import socket
import stat
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import jwt
import pytest

from mirrord.auth.sign_in import Gate, Session
from mirrord.web.request_checks import RateLimit
from tests.console.bundle import built
from tests.support.browsing import Answer, Browser
from tests.support.consoles import PICTURE, RIVAL, SECRET, Console, consoles
from tests.support.editors import save
from tests.support.harness import eventually

EVIL = "https://evil.example"
SCRIPT = "<script>alert(1)</script>"
BREAKOUT = '"><img src=x onerror=alert(1)>'
WRITES: tuple[tuple[str, str, Any], ...] = (
    ("POST", "pages", {"parent": None, "title": "Forged"}),
    ("PATCH", "pages/{page}", {"version": 1, "title": "Forged"}),
    ("DELETE", "pages/{page}", {"version": 1}),
    ("PUT", "pages/{page}/content", {"version": 1, "content": {"type": "doc", "content": []}}),
    ("PUT", "pages/{page}/markdown", {"version": 1, "markdown": "forged"}),
    ("POST", "pages/{page}/move", {"version": 1, "parent": None, "before": None}),
    ("POST", "pages/{page}/revive", {}),
    ("POST", "pages/{page}/restore", {"version": 1, "then": 1}),
    ("POST", "pages/{page}/attachments", {}),
    ("PATCH", "pages/{page}", {"version": 1, "properties": {"tags": ["taken"]}}),
    ("POST", "pages/{page}/duplicate", {}),
    ("POST", "daily", {"date": "2026-01-31"}),
    ("POST", "local-tree/pause", {"paused": True}),
    ("PUT", "local-tree/ignore", {"ignore": "*.md", "digest": None}),
    ("POST", "approvals", {"ids": [], "approve": True, "reason": None}),
    ("POST", "notices", {"ids": []}),
    ("POST", "halts/1", {"decision": "apply"}),
    ("POST", "conflicts/1", {"choice": "row", "seen": "1/1", "text": None}),
)
READS = (
    "",
    "/version",
    "/above",
    "/backlinks",
    "/linking",
    "/unresolved",
    "/history",
    "/diff?before=0&after=1",
    "/blocks?after=1",
    "/blocks?before=0&after=1",
    "/resolve?target=Secret",
)
NAMES = [f"{method} {path}" for method, path, _ in WRITES]


@pytest.fixture(scope="module")
def console(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with consoles(tmp_path_factory.mktemp("console"), module_dsn) as served:
        yield served


@pytest.fixture(scope="module")
def gate(console: Console) -> Gate:
    """The installation's own: what an attacker does not have."""
    return Gate(console.mirrord.data)


@pytest.fixture(scope="module")
def ada(console: Console) -> Browser:
    """Somebody who may see the tenant demo and nothing else."""
    return console.browser(only=True)


@pytest.fixture(scope="module")
def operator(console: Console) -> Browser:
    return console.browser(name="operator")


@pytest.fixture(scope="module")
def mine(console: Console) -> str:
    """A page of the tenant demo."""
    return str(console.page("Projects/Alpha")["id"])


@pytest.fixture(scope="module")
def theirs(console: Console) -> str:
    """The rival's page."""
    rival = console.browser(RIVAL)
    return str(eventually(lambda: rival.get("tree")["nodes"], "the rival's page")[0]["id"])


def no_secret(answer: Answer) -> Answer:
    assert SECRET.encode() not in answer.data
    assert SECRET not in str(answer.headers)
    return answer


def version(browser: Browser, page: str) -> int:
    return int(browser.get(f"pages/{page}")["version"])


# Signing in


@pytest.mark.parametrize("path", ["/t/demo/", "/t/rival/", "/t/demo/p/{page}", "/t/demo/p/{page}/file?src=x", "/"])
def test_nobody_sees_a_page_without_signing_in(console: Console, mine: str, path: str) -> None:
    answer = Browser(console.url).ask("GET", path.format(page=mine))
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in")


@pytest.mark.parametrize("path", ["tree", "search?q=a", "live", "pages/{page}", "attention", "status"])
def test_nobody_reads_anything_without_signing_in(console: Console, mine: str, path: str) -> None:
    assert Browser(console.url).ask("GET", f"/t/demo/api/{path.format(page=mine)}").status == 401


def test_a_link_lets_somebody_in_once(console: Console) -> None:
    link = console.link()
    assert [Browser(console.url).follow(link).status for _ in range(3)] == [303, 403, 403]


def test_a_link_that_is_only_looked_at_is_not_used_up(console: Console) -> None:
    link = console.link().removeprefix(console.url)
    assert Browser(console.url).ask("HEAD", link).status == 401
    assert [Browser(console.url).ask("GET", link).status for _ in range(3)] == [200, 200, 200]
    assert Browser(console.url).follow(link).status == 303


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_another_site_signs_nobody_in(console: Console, origin: str) -> None:
    token = console.link().partition("token=")[2]
    form, kind = f"token={token}".encode(), "application/x-www-form-urlencoded"
    refused = Browser(console.url).ask("POST", "/sign-in", form, content_type=kind, origin=origin)
    assert (refused.status, "set-cookie" in refused.headers) == (403, False)
    assert Browser(console.url).follow(console.url + f"/sign-in?token={token}").status == 303


def test_a_link_whose_time_is_over_lets_nobody_in(console: Console, gate: Gate) -> None:
    assert Browser(console.url).ask("GET", f"/sign-in?token={gate.invite('ada', None, -1)}").status == 403


def test_a_session_whose_time_is_over_is_none(console: Console, gate: Gate) -> None:
    cookie = gate.admit(gate.invite("ada", None), -1)
    assert Browser(console.url, f"{gate.cookie}={cookie}").ask("GET", "/t/demo/api/tree").status == 401


def _unsigned(facts: dict[str, Any]) -> str:
    return jwt.encode(facts, "", algorithm="none")


def _facts(purpose: str) -> dict[str, Any]:
    return {"aud": purpose, "jti": uuid4().hex, "name": "x", "tenant": "*", "exp": int(time.time()) + 999}


def _tampered(token: str) -> str:
    head, body, signature = token.split(".")
    other = jwt.encode(_facts("session"), "k" * 32, algorithm="HS256").split(".")[1]
    assert other != body
    return f"{head}.{other}.{signature}"


@pytest.mark.parametrize(
    "kind", ["other key", "no key", "unsigned", "tampered", "invitation", "nothing", "long", "signs"]
)
def test_a_forged_cookie_opens_nothing(console: Console, gate: Gate, ada: Browser, kind: str) -> None:
    forged = {
        "other key": jwt.encode(_facts("session"), "k" * 32, algorithm="HS256"),
        "no key": _unsigned(_facts("session")).replace("none", "HS256"),
        "unsigned": _unsigned(_facts("session")),
        "tampered": _tampered(ada.cookie.partition("=")[2]),
        "invitation": gate.invite("ada", None),
        "nothing": "",
        "long": "e" * 7000,
        "signs": "\x7f..\xff",
    }[kind]
    assert Browser(console.url, f"{gate.cookie}={forged}").ask("GET", "/t/demo/api/tree").status == 401


@pytest.mark.parametrize("kind", ["other key", "unsigned", "session", "empty"])
def test_a_forged_link_lets_nobody_in(console: Console, ada: Browser, kind: str) -> None:
    forged = {
        "other key": jwt.encode(_facts("sign-in"), "k" * 32, algorithm="HS256"),
        "unsigned": _unsigned(_facts("sign-in")),
        "session": ada.cookie.partition("=")[2],
        "empty": "",
    }[kind]
    form, kind = urlencode({"token": forged}).encode(), "application/x-www-form-urlencoded"
    for answer in (
        Browser(console.url).ask("GET", f"/sign-in?token={forged}"),
        Browser(console.url).ask("POST", "/sign-in", form, content_type=kind),
    ):
        assert answer.status in (401, 403)
        assert "set-cookie" not in answer.headers


def test_a_cookie_of_somebody_who_signed_out_is_of_no_use_to_who_copied_it(console: Console) -> None:
    browser = console.browser(only=True)
    copied = Browser(console.url, browser.cookie, browser.mark)
    assert browser.ask("POST", "/sign-out", {}).status == 200
    assert copied.ask("GET", "/t/demo/api/tree").status == 401
    assert copied.ask("POST", "/t/demo/api/pages", {"parent": None, "title": "Replayed"}).status == 401


def test_a_cookie_is_kept_from_scripts_and_other_sites(console: Console) -> None:
    answer = Browser(console.url).follow(console.link())
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(answer.headers["set-cookie"].split("; "))


def test_nobody_else_on_the_machine_reads_the_key(console: Console) -> None:
    key = console.mirrord.data / "console" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700


def test_a_link_may_lead_nowhere_but_here(console: Console) -> None:
    link = f"{console.link()}&next={EVIL}&url=//evil.example"
    assert Browser(console.url).follow(link).headers["location"] == "/"


def test_the_key_and_links_are_in_no_log(console: Console) -> None:
    console.browser()
    assert "token=" not in console.mirrord.log.read_text()


# Other sites


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=NAMES)
def test_a_change_without_a_mark_is_not_made(ada: Browser, mine: str, method: str, path: str, body: Any) -> None:
    answer = ada.ask(method, f"/t/demo/api/{path.format(page=mine)}", body, x_csrf_token=None)
    assert answer.status == 403


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=NAMES)
def test_a_change_with_another_sessions_mark_is_not_made(
    ada: Browser, operator: Browser, mine: str, method: str, path: str, body: Any
) -> None:
    answer = ada.ask(method, f"/t/demo/api/{path.format(page=mine)}", body, x_csrf_token=operator.mark)
    assert answer.status == 403


FOREIGN = (
    {"origin": EVIL},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "http://127.0.0.1.evil.example"},
    {"origin": "file://"},
    {"origin": None, "sec-fetch-site": "cross-site"},
    {"origin": None, "sec-fetch-site": "same-site"},
)


@pytest.mark.parametrize("headers", FOREIGN, ids=[str(list(headers.values())) for headers in FOREIGN])
def test_a_change_from_another_site_is_not_made_even_with_the_mark(ada: Browser, headers: dict[str, Any]) -> None:
    answer = ada.ask("POST", "/t/demo/api/pages", {"parent": None, "title": "Foreign"}, **headers)
    assert answer.status == 403


@pytest.mark.parametrize("mode", ["cors", "no-cors", "websocket"])
def test_another_site_reads_nothing_from_a_script_or_an_image(ada: Browser, mine: str, mode: str) -> None:
    answer = ada.ask("GET", f"/t/demo/api/pages/{mine}", sec_fetch_site="cross-site", sec_fetch_mode=mode)
    assert answer.status == 403


def test_another_site_shows_us_in_no_frame(ada: Browser, mine: str) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    assert ada.ask("GET", f"/t/demo/p/{mine}", None, **headers).status == 403
    answer = ada.ask("GET", f"/t/demo/p/{mine}")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_can_send_is_no_change(ada: Browser, kind: str) -> None:
    body = json.dumps({"parent": None, "title": "Form"}).encode()
    assert ada.ask("POST", "/t/demo/api/pages", body, content_type=kind).status == 415


def test_no_other_site_is_allowed_to_read(ada: Browser) -> None:
    answer = ada.ask("GET", "/t/demo/api/tree", origin=EVIL)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


HOSTS = (
    *("evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.evil.example", "0.0.0.0", "[::]"),
    *("127.0.0.1@evil.example", "127.0.0.1:80@evil.example", "", "2130706433", "127.1"),
)


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_somebody_else_made_mean_this_machine_is_not_ours(ada: Browser, host: str) -> None:
    assert ada.ask("GET", "/t/demo/api/tree", host=host).status == 421


def _raw(console: Console, *lines: str) -> str:
    host, _, port = console.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")


def test_two_names_are_none(console: Console, ada: Browser) -> None:
    host = f"Host: {ada.host}"
    answer = _raw(console, "GET /t/demo/api/tree HTTP/1.1", host, "Host: evil.example", f"Cookie: {ada.cookie}")
    assert answer.split()[1] in ("400", "421")


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "CONNECT", "PROPFIND", "get"])
def test_other_methods_are_not_known(ada: Browser, method: str) -> None:
    assert ada.ask(method, "/t/demo/api/tree").status in (400, 405)


def test_a_header_that_says_what_the_method_really_is_changes_nothing(ada: Browser, mine: str) -> None:
    before = version(ada, mine)
    ada.ask("GET", f"/t/demo/api/pages/{mine}?_method=DELETE", x_http_method_override="DELETE")
    assert version(ada, mine) == before


# The other tenant


@pytest.mark.parametrize("path", READS, ids=[path.partition("?")[0] or "/" for path in READS])
def test_a_rivals_page_is_not_there(ada: Browser, theirs: str, path: str) -> None:
    nothing = ada.ask("GET", f"/t/nobody/api/pages/{uuid4()}{path}")
    in_theirs = no_secret(ada.ask("GET", f"/t/rival/api/pages/{theirs}{path}"))
    in_mine = no_secret(ada.ask("GET", f"/t/demo/api/pages/{theirs}{path}"))
    assert (in_theirs.status, in_theirs.data) == (nothing.status, nothing.data) == (404, nothing.data)
    assert in_mine.status in (404, 422) or in_mine.json == []


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=NAMES)
def test_nothing_of_a_rival_is_changed(
    console: Console, ada: Browser, theirs: str, method: str, path: str, body: Any
) -> None:
    for tenant in ("rival", "demo"):
        where = path.format(page=theirs)
        if tenant == "demo" and "{page}" not in path:
            continue
        answer = no_secret(ada.ask(method, f"/t/{tenant}/api/{where}", body))
        assert answer.status in (404, 409, 415, 422), answer.text
    assert console.mirrord.file("../rival/Secret.md").read_text() == f"# Secret\n\n{SECRET}\n"


@pytest.mark.parametrize(
    "path",
    [
        "tree",
        "search?q=secret",
        "completions?q=se",
        "trash",
        "attention",
        "status",
        "live",
        "recent",
        "tags",
        "templates",
    ],
)
def test_a_rivals_lists_are_not_there(ada: Browser, path: str) -> None:
    assert no_secret(ada.ask("GET", f"/t/rival/api/{path}")).status == 404


@pytest.mark.parametrize("view", ["", "p/{page}", "p/{page}/history", "p/{page}/file?src=assets/secret.png", "status"])
def test_a_rivals_views_are_not_there(ada: Browser, theirs: str, view: str) -> None:
    assert no_secret(ada.ask("GET", f"/t/rival/{view.format(page=theirs)}")).status == 404


SPELLINGS = ("RIVAL", "rival%00", "rival%20", "%72ival", "demo%2f..%2frival", "demo/../rival", "..%2frival", "rival;")


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_rival_has_no_other_spelling(ada: Browser, name: str) -> None:
    assert no_secret(ada.ask("GET", f"/t/{name}/api/tree")).status in (404, 400)


def test_search_and_completion_find_nothing_of_a_rival(ada: Browser) -> None:
    assert ada.get(f"search?q={SECRET}")["results"] == []
    assert ada.get("completions?q=Secret") == []
    assert ada.get("titles?q=Secret")["pages"] == []


def test_a_link_from_a_rivals_page_means_nothing(ada: Browser, theirs: str) -> None:
    assert ada.ask("GET", f"/t/demo/api/preview?target=Secret&from={theirs}").status == 404


def test_a_page_cannot_be_put_into_a_rivals_tree(ada: Browser, mine: str, theirs: str) -> None:
    where = {"version": version(ada, mine), "parent": theirs, "before": None}
    assert ada.ask("POST", f"/t/demo/api/pages/{mine}/move", where).status == 404
    assert ada.ask("POST", "/t/demo/api/pages", {"parent": theirs, "title": "Planted"}).status == 404


def test_a_stream_tells_nothing_of_a_rival(console: Console, ada: Browser, theirs: str, mine: str) -> None:
    with ada.live(since="0") as stream:
        save(console.mirrord.mirror / RIVAL / "Secret.md", f"# Secret\n\n{SECRET}\n\nagain\n")
        rival = console.browser(RIVAL)
        eventually(lambda: "again" in rival.get(f"pages/{theirs}")["markdown"], "the rival's change")
        ada.send("PATCH", f"pages/{mine}", {"version": version(ada, mine), "icon": "🔔"})
        messages = []
        for name, data in stream.events():
            messages.append(json.dumps(data))
            if name == "page" and data["id"] == mine and (data["by"] or {}).get("name") == "ada":
                break
    assert theirs not in "".join(messages)
    save(console.mirrord.mirror / RIVAL / "Secret.md", f"# Secret\n\n{SECRET}\n")


@pytest.mark.parametrize("since", ["-1", "9" * 30, "1; DROP", "1\t2", "9223372036854775807"])
def test_a_forged_place_in_the_stream_is_harmless(ada: Browser, since: str) -> None:
    with ada.live(since=since) as stream:
        assert stream.response.status == 200


def test_who_sees_one_tenant_decides_about_no_requests_and_halts(ada: Browser) -> None:
    request = {"ids": [str(uuid4())], "approve": True, "reason": None}
    assert ada.ask("POST", "/t/demo/api/approvals", request).status == 403
    assert ada.ask("POST", "/t/demo/api/halts/1", {"decision": "apply"}).status == 403


def test_who_sees_one_tenant_neither_sees_nor_settles_what_is_of_its_tree(ada: Browser, console: Console) -> None:
    tree = "/t/demo/api/local-tree"
    assert ada.ask("GET", tree).status == 403
    assert ada.ask("POST", f"{tree}/pause", {"paused": True}).status == 403
    assert ada.ask("PUT", f"{tree}/ignore", {"ignore": "*", "digest": None}).status == 403
    assert not console.mirrord.file("PAUSE").exists()


@pytest.mark.parametrize("after", ["", "?after=", "?after=demo", "?after=a&tenant=rival", "?after=%00"])
def test_who_sees_one_tenant_is_not_told_what_waits_in_others(console: Console, ada: Browser, after: str) -> None:
    assert no_secret(ada.ask("GET", f"/api/waiting{after}")).status == 404
    assert Browser(console.url).ask("GET", f"/api/waiting{after}").status == 401


def test_who_sees_one_tenant_sees_no_list_of_them_and_no_machine(console: Console, ada: Browser) -> None:
    assert no_secret(ada.ask("GET", "/")).headers["location"] == "/t/demo/"
    answer = ada.ask("GET", "/t/demo/api/status")
    assert str(console.mirrord.mirror) not in answer.text


def test_a_change_is_made_in_the_name_of_who_signed_in(ada: Browser, mine: str) -> None:
    forged = {"kind": "agent", "name": "somebody else"}
    body = {"version": version(ada, mine), "icon": "🎭", "actor": forged, "by": forged, "updated_by": forged}
    ada.send("PATCH", f"pages/{mine}", body)
    assert ada.get(f"pages/{mine}")["updated_by"] == {"kind": "human", "name": "ada", "channel": "console"}


def test_a_session_that_names_a_tenant_that_is_gone_sees_nothing(console: Console, gate: Gate) -> None:
    cookie = gate.admit(gate.invite("ada", uuid4()))
    browser = Browser(console.url, f"{gate.cookie}={cookie}")
    assert [browser.ask("GET", f"/t/{name}/").status for name in ("demo", "rival")] == [404, 404]


# Files

PATHS = (
    *("../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..\\..\\etc\\passwd"),
    *("./assets/../../.mirrord/id", ".mirrord/state.db", "../.records/events", "assets/\0plan.png", "./assets/%00"),
    *("../../rival/assets/secret.png", "/rival/assets/secret.png", "javascript:alert(1)", "data:text/html,x"),
    *("http://127.0.0.1/", "//evil.example/x.png", "", ".", "..", "assets", "Alpha.md", "~/.ssh/id_rsa", "%s%s%n"),
)


@pytest.mark.parametrize("src", PATHS)
def test_a_src_leads_to_attachments_of_the_tenant_and_nowhere_else(ada: Browser, mine: str, src: str) -> None:
    assert no_secret(ada.file(mine, src)).status == 404


def test_a_picture_is_served_as_one_and_as_no_document(ada: Browser, mine: str) -> None:
    answer = eventually(lambda: _found(ada, mine, "./assets/plan.png"), "the picture")
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


HOSTILE = {
    "page.html": b"<script>alert(1)</script>",
    "drawing.svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>',
    "code.js": b"alert(1)",
    "not.png": b"<!doctype html><script>alert(1)</script>",
    "page.xhtml": b'<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>',
    "note.pdf": b"<script>alert(1)</script>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_of_the_tree_is_no_document_of_ours(
    console: Console, ada: Browser, mine: str, name: str
) -> None:
    file = console.mirrord.file(f"Projects/assets/{name}")
    file.write_bytes(HOSTILE[name])
    answer = eventually(lambda: _found(ada, mine, f"assets/{name}"), "the file to be there")
    assert answer.headers["content-type"].partition(";")[0] in ("application/octet-stream", "image/svg+xml")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sandbox" in answer.headers["content-security-policy"]


def _found(browser: Browser, page: str, src: str) -> Answer | None:
    answer = browser.file(page, src)
    return answer if answer.status == 200 else None


UPLOADS = {
    **HOSTILE,
    "no ending": PICTURE,
    "double.png.html": PICTURE,
    "shot.PNG.exe": PICTURE,
    "gif.jpg": b"GIF89a",
    ".htaccess": b"x",
    "shell.php": b"<?php",
}
UPLOADS.pop("note.pdf")
UPLOADS.pop("drawing.svg")  # it is accepted, and served as above


@pytest.mark.parametrize("name", UPLOADS)
def test_a_file_that_is_not_what_it_says_or_not_taken_is_refused(ada: Browser, mine: str, name: str) -> None:
    assert ada.upload(mine, name, UPLOADS[name]).status == 415


def test_an_svg_that_was_uploaded_is_a_picture_and_no_document(ada: Browser, mine: str) -> None:
    src = ada.upload(mine, "drawing.svg", HOSTILE["drawing.svg"]).json["src"]
    answer = eventually(lambda: _found(ada, mine, src), "the picture")
    assert answer.headers["content-type"].partition(";")[0] == "image/svg+xml"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["../../out.png", "/etc/out.png", "..\\\\out.png", "a/b/out.png", ".mirrord/out.png"])
def test_a_name_with_a_path_is_only_a_name(console: Console, ada: Browser, mine: str, name: str) -> None:
    answer = ada.upload(mine, name, PICTURE + name.encode())
    assert re.fullmatch(r"\./assets/out(%20%28\d+%29)?\.png", answer.json["src"])


@pytest.mark.parametrize("name", ['x\r\nSet-Cookie: a=b\r\n".png', "x%0d%0aX-Evil: 1.png"])
def test_a_name_writes_no_header(ada: Browser, mine: str, name: str) -> None:
    answer = ada.upload(mine, name, PICTURE)
    assert answer.status in (201, 400, 415, 422)
    assert not {"set-cookie", "x-evil"} & set(answer.headers)
    if answer.status == 201:
        picture = eventually(lambda: _found(ada, mine, answer.json["src"]), "the picture")
        assert not {"set-cookie", "x-evil"} & set(picture.headers)


def test_too_much_is_refused_before_it_is_read(console: Console, ada: Browser, mine: str) -> None:
    lines = [f"POST /t/demo/api/pages/{mine}/attachments HTTP/1.1", f"Host: {ada.host}", f"Cookie: {ada.cookie}"]
    lines += [
        f"X-CSRF-Token: {ada.mark}",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {1 << 40}",
    ]
    assert _raw(console, *lines).split()[1] == "413"


@pytest.mark.parametrize("size", ["-1", "1e9", "٣", "0x10"])
def test_a_size_that_is_none_is_refused(console: Console, ada: Browser, size: str) -> None:
    lines = ["POST /t/demo/api/pages HTTP/1.1", f"Host: {ada.host}", f"Cookie: {ada.cookie}"]
    encoded = size.encode().decode("latin-1")
    answer = _raw(console, *lines, f"X-CSRF-Token: {ada.mark}", f"Content-Length: {encoded}")
    assert answer.split()[1] in ("400", "413")


def test_a_body_that_does_not_say_how_long_it_is_ends_at_the_limit(console: Console, ada: Browser) -> None:
    host, _, port = ada.host.partition(":")
    head = (
        f"POST /t/demo/api/pages HTTP/1.1\r\nHost: {ada.host}\r\nCookie: {ada.cookie}\r\nX-CSRF-Token: {ada.mark}\r\n"
    )
    part = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        try:
            for _ in range(60):
                connection.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            return
        assert connection.recv(65536).split()[1] == b"413"


# Hostile words


class _Markup(HTMLParser):
    """What in a page of ours could run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "script" and not (attributes.get("src") or "").startswith("/static/"):
            self.found.append("script")
        if tag in ("iframe", "object", "embed", "base", "style", "img"):
            self.found.append(tag)
        self.found += [name for name in attributes if name.startswith("on") or name == "style"]
        links = [attributes.get(name) or "" for name in ("href", "src", "action")]
        self.found += [link for link in links if re.match(r"\s*(javascript|data|vbscript):", link, re.IGNORECASE)]


WORDS = {
    "script": SCRIPT,
    "breakout": BREAKOUT,
    "template": "{{ 7 * 7 }}{% raw %}",
    "link": "[x](javascript:alert(1))",
    "comment": "--><script>alert(1)</script><!--",
    "attribute": "' onmouseover='alert(1)",
    "entity": "&lt;script&gt;&#x3c;script&#62;",
    "bidi": "\u202egnp.exe",
}


@pytest.mark.parametrize("kind", WORDS)
def test_a_hostile_title_and_icon_are_shown_as_words(ada: Browser, kind: str) -> None:
    page = ada.send("POST", "pages", {"parent": None, "title": WORDS[kind]}, 201)["id"]
    ada.ask("PATCH", f"/t/demo/api/pages/{page}", {"version": version(ada, page), "icon": WORDS[kind][:16]})
    for path in (f"/t/demo/p/{page}", f"/t/demo/p/{page}/history", "/t/demo/", "/t/demo/trash"):
        markup = _Markup()
        answer = ada.ask("GET", path)
        markup.feed(answer.text)
        assert markup.found == []
        assert "49" not in answer.text.split("<title>")[1].split("</title>")[0]
    ada.ask("DELETE", f"/t/demo/api/pages/{page}", {"version": version(ada, page)})


@pytest.mark.parametrize("kind", WORDS)
def test_hostile_markdown_leaves_the_server_as_json_only(ada: Browser, mine: str, kind: str) -> None:
    text = f"# Alpha\n\n{WORDS[kind]}\n\n<svg onload=alert(1)>\n\n![x](data:image/svg+xml,<svg/onload=alert(1)>)\n"
    ada.send("PUT", f"pages/{mine}/markdown", {"version": version(ada, mine), "markdown": text})
    for path in (f"pages/{mine}", "search?q=svg", f"pages/{mine}/history", f"preview?target=Alpha&from={mine}"):
        answer = ada.ask("GET", f"/t/demo/api/{path}")
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert SCRIPT not in ada.ask("GET", f"/t/demo/p/{mine}").text


def test_what_is_searched_for_is_not_written_into_the_page(ada: Browser) -> None:
    answer = ada.ask("GET", f"/t/demo/search?q={'%3Cscript%3Ealert(1)%3C/script%3E'}")
    assert "alert(1)" not in answer.text


@pytest.mark.parametrize("path", ["/", "/sign-in", "/t/demo/", "/nowhere", "/static/console.js", "/t/demo/api/tree"])
def test_every_answer_forbids_what_was_not_meant(ada: Browser, path: str) -> None:
    answer = ada.ask("GET", path)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "server" not in answer.headers


def test_the_program_of_diagrams_has_no_origin_and_runs_its_own_script_only(ada: Browser) -> None:
    built()
    answer = ada.ask("GET", "/static/built/diagrams.html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "; sandbox allow-scripts; frame-ancestors 'self'" in policy
    assert answer.text.count("<script>") == 1
    assert re.search(
        r'<meta http-equiv="Content-Security-Policy" content="script-src \'sha256-[\w+/]+=*\'">', answer.text
    )


@pytest.mark.parametrize(
    "path", ["/static/../gate.py", "/static/%2e%2e/gate.py", "/static/..%2fgate.py", "/static//etc/passwd"]
)
def test_only_static_files_are_static(ada: Browser, path: str) -> None:
    assert ada.ask("GET", path).status == 404


def test_an_address_with_line_breaks_writes_no_header(ada: Browser) -> None:
    answer = ada.ask("GET", "/t/demo%0d%0aSet-Cookie:%20a=b/")
    assert answer.status == 404
    assert "set-cookie" not in answer.headers


# Bodies


BODIES = (
    *(b"", b"null", b"[]", b'"text"', b"{", b"\xff\xfe", b'{"version": NaN}', b"[" * 100_000, b'{"a":' * 5000),
    *(
        b'{"version": "1", "markdown": "x"}',
        b'{"version": true, "markdown": "x"}',
        b'{"version": 1.5, "markdown": "x"}',
    ),
    *(b'{"version": 1}', b'{"version": 1, "markdown": 7}', b'{"version": 1, "markdown": null}'),
    *(b'{"version": 99999999999999999999999, "markdown": "x"}', b'{"version": 9223372036854775808, "markdown": "x"}'),
    *(b'{"version": {VERSION}, "markdown": "a\\u0000b"}', b'{"version": {VERSION}, "markdown": "\\ud800"}'),
)


@pytest.mark.parametrize("body", BODIES, ids=[str(number) for number in range(len(BODIES))])
def test_a_body_that_is_not_what_was_asked_for_is_refused(ada: Browser, mine: str, body: bytes) -> None:
    before = ada.get(f"pages/{mine}")
    sent = body.replace(b"{VERSION}", str(before["version"]).encode())
    answer = ada.ask("PUT", f"/t/demo/api/pages/{mine}/markdown", sent, content_type="application/json")
    assert answer.status in (409, 422), answer.text  # 409: a number that no version has
    assert answer.json["sentence"]
    assert ada.get(f"pages/{mine}")["markdown"] == before["markdown"]


def _deep(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "paragraph"}
    for _ in range(levels):
        inner = {"type": "blockquote", "content": [inner]}
    return {"type": "doc", "content": [inner]}


CONTENTS: tuple[Any, ...] = (
    *({}, {"type": "page"}, {"type": "doc", "content": "text"}, {"type": "doc", "content": {"a": 1}}, _deep(300)),
    *({"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "\0"}]}]}, [], "doc"),
)


@pytest.mark.parametrize("content", CONTENTS, ids=[str(number) for number in range(len(CONTENTS))])
def test_a_document_that_is_none_is_refused(ada: Browser, mine: str, content: Any) -> None:
    body = {"version": version(ada, mine), "content": content}
    assert ada.ask("PUT", f"/t/demo/api/pages/{mine}/content", body).status == 422


@pytest.mark.parametrize("title", ["", "  ", "x" * 501, "a\0b"])
def test_a_title_that_is_none_is_refused(ada: Browser, title: str) -> None:
    assert ada.ask("POST", "/t/demo/api/pages", {"parent": None, "title": title}).status == 422


@pytest.mark.parametrize("title", ["../../../etc/passwd", "/etc/passwd", ".mirrord", "assets", "a/../../b", "CON"])
def test_a_title_is_no_path(console: Console, ada: Browser, title: str) -> None:
    answer = ada.ask("POST", "/t/demo/api/pages", {"parent": None, "title": title})
    if answer.status == 422:
        return
    page = answer.json["id"]
    path = eventually(lambda: _on_disk(ada, page), "the page to be on disk")
    assert console.mirrord.file(path).resolve().is_relative_to(console.mirrord.root.resolve())
    assert "/" not in path
    assert not path.startswith(".")


def _on_disk(browser: Browser, page: str) -> str | None:
    stored = browser.get(f"pages/{page}")
    return str(stored["path"]) if stored["on_disk"] else None


QUERIES = ("' OR '1'='1", "%", "_", "\\", "%%' --", "'; DROP TABLE mirrord.page; --", "%(part)s", "\x00", "{0}", "$1")


@pytest.mark.parametrize("text", QUERIES)
def test_a_search_is_for_words_whatever_they_look_like(ada: Browser, text: str) -> None:
    answer = ada.ask("GET", f"/t/demo/api/search?q={''.join(f'%{byte:02x}' for byte in text.encode())}")
    assert answer.status == 200
    assert all(part for result in answer.json["results"] for part, is_word in result["snippet"] if is_word)
    assert ada.ask("GET", f"/t/demo/api/titles?q={''.join(f'%{byte:02x}' for byte in text.encode())}").status == 200


IDS = ("' OR 1=1 --", "00000000-0000-0000-0000-000000000000", "1", "null", "%00", "{x}", "../trash", "urn:uuid:1")


@pytest.mark.parametrize("page", IDS)
def test_an_id_is_an_id(ada: Browser, page: str) -> None:
    quoted = "".join(f"%{byte:02x}" for byte in page.encode())
    assert ada.ask("GET", f"/t/demo/api/pages/{quoted}").status == 404
    assert ada.ask("GET", f"/t/demo/api/tree?parent={quoted}").status in (200, 404)
    assert ada.ask("GET", f"/t/demo/p/{quoted}").status == 404


@pytest.mark.parametrize("number", ["-1", "1e3", "9" * 40, "1;", "%00", "x"])
def test_a_number_is_a_number(operator: Browser, mine: str, number: str) -> None:
    assert operator.ask("GET", f"/t/demo/api/pages/{mine}/diff?before=0&after={number}").status == 422
    decision = operator.ask("POST", f"/t/demo/api/halts/{number}", {"decision": "apply"})
    assert decision.status in (409, 422)


# How often


def test_links_are_not_guessed_and_who_guesses_is_let_wait(console: Console) -> None:
    began = time.monotonic()
    tries = [Browser(console.url).ask("GET", f"/sign-in?token={number}").status for number in range(60)]
    refilled = (time.monotonic() - began) / 3
    assert set(tries) == {403, 429}
    assert tries.count(403) <= 20 + refilled + 1


def test_a_session_writes_no_faster_than_people_do(gate: Gate) -> None:
    rate = RateLimit(3)
    assert [rate.allows("one") for _ in range(4)] == [True, True, True, False]
    assert rate.allows("another")
    assert gate.csrf_token(Session("a", "ada", None)) != gate.csrf_token(Session("b", "ada", None))
