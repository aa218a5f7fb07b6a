"""
Attacks on shared pages, against the real application: a share shows its pages and their pictures, and nothing else.

The attacker has an address that shows one page or one folder, knows the ids of others, and has no session; or has a
session of one tenant and wants to share what is another's.
"""

import http.client
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import orjson
import pytest

from tests.support.browsing import Answer, Browser
from tests.support.consoles import PICTURE, RIVAL, SECRET, Console, consoles
from tests.support.editors import save
from tests.support.harness import eventually
from tests.support.rows import are_rows_followed

HIDDEN = "Salaries"
UNKNOWN = UUID(int=7)  # the id of no page
VIEWS = ("", "p/{page}", "p/{page}/history", "p/{page}/file?src=./assets/plan.png", "search", "tags", "trash", "status")
APIS = (
    *("tree", "search?q=a", "titles", "recent", "tags", "trash", "live", "attention", "status", "completions?q=a"),
    *("pages/{page}", "pages/{page}/version", "pages/{page}/above", "pages/{page}/backlinks", "pages/{page}/history"),
    *("pages/{page}/shares", "reviews", "changes", "templates"),
)
METHODS = ("POST", "PUT", "PATCH", "DELETE")


@pytest.fixture(scope="module")
def console(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with consoles(tmp_path_factory.mktemp("sharing"), module_dsn) as served:
        text = f"# Handbook\n\n[[Alpha]] [[{HIDDEN}]] [pay](../{HIDDEN}.md)\n\n<!-- {SECRET} -->\n"
        save(served.mirrord.file("Projects/Handbook.md"), text)
        save(served.mirrord.file(f"{HIDDEN}.md"), f"# {HIDDEN}\n\n{SECRET}\n\n![own](./assets/own.png)\n")
        picture = served.mirrord.file("assets/own.png")
        picture.parent.mkdir()
        picture.write_bytes(PICTURE + b"own")
        for path in ("Projects/Handbook", HIDDEN):
            served.page(path)
        served.mirrord.flush()
        eventually(lambda: are_rows_followed(served.mirrord.app), "links that lead to the new pages and pictures")
        yield served


@pytest.fixture(scope="module")
def operator(console: Console) -> Browser:
    return console.browser(name="operator")


@pytest.fixture(scope="module")
def guest(console: Console) -> Browser:
    """A person who may see the tenant demo and nothing else."""
    return console.browser(only=True)


@pytest.fixture(scope="module")
def stranger(console: Console) -> Browser:
    """A browser without a session."""
    return Browser(console.url)


def ids(console: Console, path: str) -> str:
    return str(console.page(path)["id"])


def shared(browser: Browser, page: str, *, inside: bool = False, days: int = 1) -> str:
    """The address of a new share."""
    body = {"inside": inside, "days": days, "name": None, "indexed": False}
    return str(browser.send("POST", f"pages/{page}/shares", body, 201)["href"])


def share_ids(browser: Browser, page: str) -> list[str]:
    return [share["id"] for share in browser.get(f"pages/{page}/shares")["shares"]]


def end_shares(browser: Browser, page: str) -> None:
    for share in share_ids(browser, page):
        browser.send("DELETE", f"shares/{share}")


@pytest.fixture(scope="module")
def alpha(console: Console, guest: Browser) -> str:
    """The address of a link to the page Alpha alone."""
    return shared(guest, ids(console, "Projects/Alpha"))


@pytest.fixture(scope="module")
def projects(console: Console, guest: Browser) -> str:
    """The address of a link to the folder Projects, with all pages inside."""
    return shared(guest, ids(console, "Projects"), inside=True)


def is_refused(answer: Answer) -> bool:
    assert SECRET.encode() not in answer.data
    return answer.status in (303, 401, 403, 404, 405)


def test_a_share_shows_its_page_without_scripts_and_asks_not_to_be_indexed(stranger: Browser, alpha: str) -> None:
    answer = stranger.ask("GET", alpha)
    assert answer.status == 200
    assert "Details of 100% and a_b." in answer.text
    assert "<script" not in answer.text
    assert "csrf" not in answer.text
    assert "/t/" not in answer.text
    assert "noindex" in answer.headers["x-robots-tag"]
    assert 'name="robots" content="noindex' in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("other", ["Welcome", "Projects", "Projects/Beta", HIDDEN])
def test_a_link_to_a_page_shows_no_other_page(console: Console, stranger: Browser, alpha: str, other: str) -> None:
    assert is_refused(stranger.ask("GET", f"{alpha}/p/{ids(console, other)}"))


def test_a_link_to_a_page_tells_nothing_of_other_pages(stranger: Browser, alpha: str) -> None:
    text = stranger.ask("GET", alpha).text
    assert not [word for word in ("Beta", "Projects", "Handbook", HIDDEN, "demo", "Linked from") if word in text]
    assert re.findall("<a [^>]*>Welcome", text) == []


def test_a_folder_shows_the_pages_inside_and_leads_to_them_only(
    console: Console, stranger: Browser, projects: str
) -> None:
    inside = stranger.ask("GET", f"{projects}/p/{ids(console, 'Projects/Handbook')}").text
    assert f'href="{projects}/p/{ids(console, "Projects/Alpha")}"' in inside
    assert re.findall(f"<a [^>]*>(?:{HIDDEN}|pay)", inside) == []
    assert f"{HIDDEN}.md" not in inside
    assert SECRET not in inside


@pytest.mark.parametrize("other", ["Welcome", HIDDEN])
def test_a_folder_shows_no_page_beside_it(console: Console, stranger: Browser, projects: str, other: str) -> None:
    assert is_refused(stranger.ask("GET", f"{projects}/p/{ids(console, other)}"))


def test_a_page_that_leaves_the_folder_is_shown_no_more(
    console: Console, guest: Browser, stranger: Browser, projects: str
) -> None:
    page = guest.send("POST", "pages", {"parent": ids(console, "Projects"), "title": "Leaves"}, 201)["id"]
    assert stranger.ask("GET", f"{projects}/p/{page}").status == 200
    version = guest.get(f"pages/{page}/version")["version"]
    guest.send("POST", f"pages/{page}/move", {"version": version, "parent": None, "before": None})
    assert is_refused(stranger.ask("GET", f"{projects}/p/{page}"))


def test_a_page_in_the_trash_is_shown_no_more(console: Console, guest: Browser, stranger: Browser) -> None:
    page = guest.send("POST", "pages", {"parent": None, "title": "Goes"}, 201)["id"]
    address = shared(guest, page)
    assert stranger.ask("GET", address).status == 200
    guest.send("DELETE", f"pages/{page}", {"version": guest.get(f"pages/{page}/version")["version"]})
    assert is_refused(stranger.ask("GET", address))


def file_address(stranger: Browser, address: str) -> str:
    match = re.search('src="([^"]+)"', stranger.ask("GET", address).text)
    assert match is not None
    return match[1]


def test_a_share_shows_the_pictures_of_its_page(stranger: Browser, projects: str) -> None:
    answer = stranger.ask("GET", file_address(stranger, projects))
    assert (answer.status, answer.data, answer.headers["content-type"]) == (200, PICTURE, "image/png")


def test_a_picture_of_another_page_is_not_shown(
    console: Console, guest: Browser, stranger: Browser, alpha: str, projects: str
) -> None:
    hidden = ids(console, HIDDEN)
    picture = file_address(stranger, shared(guest, hidden))
    end_shares(guest, hidden)
    file, alpha_id = picture.rpartition("/")[2], ids(console, "Projects/Alpha")
    for address in (
        f"{alpha}/p/{alpha_id}",
        f"{alpha}/p/{hidden}",
        f"{projects}/p/{alpha_id}",
        f"{projects}/p/{hidden}",
    ):
        assert is_refused(stranger.ask("GET", f"{address}/file/{file}"))
    assert is_refused(stranger.ask("GET", picture))


@pytest.mark.parametrize("path", ["p/x", f"p/{UNKNOWN}", "p/%00", "p/{alpha}/file/x", f"p/{{alpha}}/file/{UNKNOWN}"])
def test_what_is_no_id_shows_nothing(console: Console, stranger: Browser, alpha: str, path: str) -> None:
    assert is_refused(stranger.ask("GET", f"{alpha}/{path.format(alpha=ids(console, 'Projects/Alpha'))}"))


@pytest.mark.parametrize("page", ["Secret"])
def test_a_share_shows_no_page_of_another_tenant(console: Console, stranger: Browser, projects: str, page: str) -> None:
    rival = console.browser(RIVAL)
    theirs = next(node["id"] for node in rival.get("tree")["nodes"] if node["title"] == page)
    assert is_refused(stranger.ask("GET", f"{projects}/p/{theirs}"))


@pytest.mark.parametrize("view", VIEWS)
def test_a_share_opens_no_view_of_the_console(console: Console, stranger: Browser, alpha: str, view: str) -> None:
    stranger.ask("GET", alpha)
    answer = stranger.ask("GET", f"/t/demo/{view.format(page=ids(console, 'Projects/Alpha'))}")
    assert (answer.status, answer.headers.get("location")) == (303, "/sign-in")


@pytest.mark.parametrize("path", APIS)
def test_a_share_answers_no_question_of_the_console(console: Console, stranger: Browser, alpha: str, path: str) -> None:
    token, page = alpha.rpartition("/")[2], ids(console, "Projects/Alpha")
    address = f"/t/demo/api/{path.format(page=page)}"
    assert is_refused(stranger.ask("GET", address, cookie=f"mirrord={token}", x_csrf_token=token))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["", "/p/{page}", "/p/{page}/file/{page}"])
def test_nothing_is_written_by_a_share(console: Console, stranger: Browser, alpha: str, method: str, path: str) -> None:
    address = f"{alpha}{path.format(page=ids(console, 'Projects/Alpha'))}"
    assert is_refused(stranger.ask(method, address, {"version": 1, "markdown": "forged"}))


@pytest.mark.parametrize("site", ["https://evil.example"])
def test_no_other_site_reads_a_share_by_a_script(stranger: Browser, alpha: str, site: str) -> None:
    assert is_refused(stranger.ask("GET", alpha, origin=site, sec_fetch_site="cross-site", sec_fetch_mode="cors"))
    assert is_refused(stranger.ask("GET", alpha, sec_fetch_site="cross-site", sec_fetch_mode="no-cors"))


def test_a_share_that_was_ended_shows_nothing_from_that_moment(
    console: Console, guest: Browser, stranger: Browser
) -> None:
    page = ids(console, "Projects/Beta")
    address = shared(guest, page)
    assert stranger.ask("GET", address).status == 200
    end_shares(guest, page)
    assert is_refused(stranger.ask("GET", address))
    assert share_ids(guest, page) == []


def test_a_share_whose_time_is_over_shows_nothing(console: Console, guest: Browser, stranger: Browser) -> None:
    page = ids(console, "Projects/Beta")
    address = shared(guest, page)
    file = next((console.mirrord.data / "console" / "shares").glob(f"{share_ids(guest, page)[0]}*"))
    file.write_bytes(orjson.dumps(orjson.loads(file.read_bytes()) | {"until": 1.0}))
    assert is_refused(stranger.ask("GET", address))
    assert share_ids(guest, page) == []
    assert not file.exists()


def test_a_damaged_share_shows_nothing_and_ends_nothing(console: Console, guest: Browser, stranger: Browser) -> None:
    page = ids(console, "Projects/Beta")
    address = shared(guest, page)
    file = next((console.mirrord.data / "console" / "shares").glob(f"{share_ids(guest, page)[0]}*"))
    for damage in (b"", b"[" * 100_000, b'{"id": 1}', b"null", b'{"place": 3}'):
        file.write_bytes(damage)
        assert is_refused(stranger.ask("GET", address))
        assert share_ids(guest, page) == []
    file.unlink()


def test_the_token_of_a_share_is_kept_nowhere_and_its_file_is_the_owners(console: Console, alpha: str) -> None:
    directory: Path = console.mirrord.data / "console" / "shares"
    token = alpha.rpartition("/")[2]
    assert len(token) >= 22
    assert directory.stat().st_mode & 0o777 == 0o700
    for file in directory.iterdir():
        assert token not in file.name
        assert token.encode() not in file.read_bytes()
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "body",
    [
        {"inside": False, "days": 0},
        {"inside": False, "days": 366},
        {"inside": False, "days": -1},
        {"inside": False, "days": None},
        {"inside": False, "days": True},
        {"inside": False, "days": 1e9},
        {"inside": "yes", "days": 1},
        {"days": 1},
        {},
    ],
    ids=str,
)
def test_a_link_without_an_end_or_with_wrong_fields_is_refused(
    console: Console, guest: Browser, body: dict[str, object]
) -> None:
    guest.send("POST", f"pages/{ids(console, 'Welcome')}/shares", {"indexed": False, **body}, 422)


def test_a_page_of_another_tenant_is_not_shared(console: Console, guest: Browser) -> None:
    theirs = console.browser(RIVAL).get("tree")["nodes"][0]["id"]
    guest.send("POST", f"pages/{theirs}/shares", {"inside": True, "days": 1, "indexed": False}, 404)
    guest.send("POST", f"pages/{uuid4()}/shares", {"inside": True, "days": 1, "indexed": False}, 404)


def test_a_share_of_another_tenant_is_neither_seen_nor_ended(console: Console, alpha: str, guest: Browser) -> None:
    page = ids(console, "Projects/Alpha")
    rival = console.browser(RIVAL, only=True)
    for share in share_ids(guest, page):
        rival.send("DELETE", f"shares/{share}", None, 404)
    assert rival.get(f"pages/{page}/shares")["shares"] == []
    assert Browser(console.url).ask("GET", alpha).status == 200


@pytest.mark.parametrize("missing", ["cookie", "x_csrf_token"])
def test_sharing_needs_a_session_and_its_own_pages(console: Console, guest: Browser, missing: str) -> None:
    path = f"/t/demo/api/pages/{ids(console, 'Welcome')}/shares"
    assert guest.ask("POST", path, {"inside": True, "days": 1, "indexed": False}, **{missing: None}).status in (
        401,
        403,
    )


def publication(name: object) -> dict[str, object]:
    return {"inside": True, "days": None, "name": name, "indexed": False}


def test_only_operators_publish_and_end_what_is_published(
    console: Console, guest: Browser, operator: Browser, stranger: Browser
) -> None:
    page = ids(console, "Projects")
    guest.send("POST", f"pages/{page}/shares", publication("by-a-guest"), 403)
    share = operator.send("POST", f"pages/{page}/shares", publication("projects-of-demo"), 201)
    assert stranger.ask("GET", "/s/projects-of-demo").status == 200
    guest.send("DELETE", f"shares/{share['id']}", None, 403)
    operator.send("POST", f"pages/{page}/shares", publication("projects-of-demo"), 422)
    operator.send("DELETE", f"shares/{share['id']}")
    assert is_refused(stranger.ask("GET", "/s/projects-of-demo"))


@pytest.mark.parametrize(
    "name", ["", "a", "../key", "Name", "a b c", "-abc", "abc-", "a" * 41, "ключ", "a\0bc", "a/b/c"]
)
def test_a_public_name_that_is_no_name_is_refused(console: Console, operator: Browser, name: str) -> None:
    operator.send("POST", f"pages/{ids(console, 'Projects')}/shares", publication(name), 422)


@pytest.mark.parametrize("token", ["..%2f..%2fkey", "%2e%2e", "..", ".", "%00", "x" * 5000, "*", "key"])
def test_a_made_up_token_shows_nothing(stranger: Browser, token: str) -> None:
    answer = stranger.ask("GET", f"/s/{token}")
    assert answer.status in (404, 400), answer.status


def test_the_commands_share_publish_list_and_end(console: Console, stranger: Browser) -> None:
    def run(*arguments: str) -> str:
        completed = console.mirrord.run("console", *arguments, "--tenant", "demo")
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    link = run("share", "Projects/Beta", "--days", "2").strip().removeprefix(console.url)
    site = run("publish", "Projects", "--name", "by-command").strip().removeprefix(console.url)
    assert [stranger.ask("GET", address).status for address in (link, site)] == [200, 200]
    lines = [line for line in run("shares").splitlines() if "Beta" in line or "by-command" in line]
    assert len(lines) == 2
    run("unshare", lines[0].split()[0])
    run("unshare", lines[1].split()[0])
    assert [stranger.ask("GET", address).status for address in (link, site)] == [404, 404]
    assert console.mirrord.run("console", "unshare", "by-command", "--tenant", "demo").returncode == 2


def test_a_slow_reader_of_a_share_keeps_no_session_waiting(console: Console, guest: Browser, projects: str) -> None:
    host = console.url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=60)) as slow:
        for _ in range(3):
            slow.request("GET", projects)
            slow.getresponse().read()
        slow.putrequest("GET", projects)
        slow.endheaders()
        assert guest.get("tree")["nodes"]


def test_an_address_that_tries_many_tokens_is_refused_and_shares_are_read_on(stranger: Browser, projects: str) -> None:
    answers = (stranger.ask("GET", f"/s/{uuid4()}").status for _ in range(400))
    eventually(lambda: next(answers) == 429, "the refusal of more tokens")
    assert stranger.ask("GET", projects).status == 200
