"""Who is on a page is told to people of the tenant only, as text, and to no reader of a share."""

from collections.abc import Iterator

import pytest

from mirrord.auth.accounts import AccountStore
from mirrord.auth.roles import Role
from tests.redteam.test_roles import of_account, tenants_of
from tests.support.browsing import Browser
from tests.support.consoles import RIVAL, Console, consoles

LONG = "<img src=x onerror=alert(1)>" * 10


@pytest.fixture(scope="module")
def console(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with consoles(tmp_path_factory.mktemp("presence"), module_dsn) as served:
        yield served


@pytest.fixture
def page(console: Console) -> str:
    return str(console.page("Projects/Alpha")["id"])


def live_of(tenant: str, page: str) -> str:
    return f"/t/{tenant}/api/live?page={page}"


def test_people_of_another_tenant_learn_no_name_though_they_name_the_page(console: Console, page: str) -> None:
    ada = console.browser(only=True, name="ada")
    bo = console.browser(only=True, name="bo")
    spy = console.browser(RIVAL, only=True, name="spy")
    peer = console.browser(RIVAL, only=True, name="peer")
    assert spy.ask("GET", live_of("demo", page)).status == 404
    with ada.live(path=live_of("demo", page)) as of_ada, spy.live(path=live_of(RIVAL, page)) as of_spy:
        assert of_spy.until("people") == {"page": page, "people": [], "more": 0}
        with bo.live(path=live_of("demo", page)), peer.live(path=live_of(RIVAL, page)):
            assert next(data for data in map(of_ada.until, ["people"] * 2) if data["people"])["people"] == ["bo"]
            assert of_spy.until("people")["people"] == ["peer"]
        assert of_ada.until("people")["people"] == []
        assert of_spy.until("people")["people"] == []


def test_who_has_no_session_or_only_a_share_learns_nothing_and_is_not_shown(console: Console, page: str) -> None:
    ada = console.browser(only=True)
    share = ada.send("POST", f"pages/{page}/shares", {"inside": False, "days": 1, "name": None, "indexed": False}, 201)
    reader = Browser(console.url)
    with ada.live(path=live_of("demo", page)) as stream:
        assert stream.until("people")["people"] == []
        assert reader.ask("GET", live_of("demo", page)).status == 401
        shared = reader.ask("GET", share["href"])
        assert shared.status == 200
        assert "people" not in shared.text
        with console.browser(only=True, name="bo").live(path=live_of("demo", page)):
            assert stream.until("people")["people"] == ["bo"]


def test_an_account_in_two_browsers_counts_once_and_is_gone_when_it_is_taken_out(console: Console, page: str) -> None:
    demo, store = tenants_of(console)["demo"], AccountStore(console.mirrord.data)
    store.set_role("p@example.org", demo, Role.READER)
    first, second = of_account(console, "p@example.org"), of_account(console, "p@example.org")
    ada = console.browser(only=True)
    with ada.live(path=live_of("demo", page)) as stream, first.live(path=live_of("demo", page)) as of_first:
        assert of_first.until("people")["people"] == ["ada"]
        with second.live(path=live_of("demo", page)) as of_second:
            assert of_second.until("people")["people"] == ["ada"]
            assert next(data for data in map(stream.until, ["people"] * 2) if data["people"])["people"] == ["Name"]
            store.remove("p@example.org")
            ada.send("POST", "pages", {"parent": None, "title": "After the removal"}, 201)
            assert stream.until("people") == {"page": page, "people": [], "more": 0}


def test_a_name_is_cut_and_sent_as_text(console: Console, page: str) -> None:
    ada, long = console.browser(only=True), console.browser(only=True, name=LONG)
    with ada.live(path=live_of("demo", page)) as stream:
        assert stream.until("people")["people"] == []
        with long.live(path=live_of("demo", page)):
            assert stream.until("people")["people"] == [f"{LONG[:59]}…"]


@pytest.mark.parametrize("wrong", ["", "none", "%00", "../x", "1" * 3000])
def test_a_page_that_is_no_id_has_no_people_and_a_stream_all_the_same(console: Console, wrong: str) -> None:
    ada = console.browser(only=True)
    with ada.live(path=live_of("demo", wrong)) as stream:
        title = f"Beside {len(wrong)} {wrong[:1].isalpha()}"
        ada.send("POST", "pages", {"parent": None, "title": title}, 201)
        assert next(name for name, _ in stream.events() if name in ("page", "people")) == "page"
