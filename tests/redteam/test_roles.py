"""
Every route of the console with each role: readers change nothing, writers decide nothing, no role reaches further.

The roles come from links of `mirrord console link --role` and from accounts; both are weighed in one place.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from uuid import UUID

import psycopg
import pytest

from mirrord.auth import signed_tokens
from mirrord.auth.accounts import AccountStore
from mirrord.auth.roles import Role
from mirrord.auth.sign_in import Gate
from mirrord.auth.signed_tokens import Keyring
from tests.redteam.test_console import WRITES
from tests.support.browsing import Browser
from tests.support.consoles import RIVAL, Console, consoles
from tests.support.harness import eventually

MORE_WRITES: tuple[tuple[str, str, Any], ...] = (
    ("POST", "document", {"markdown": "text"}),
    ("POST", "pages/{page}/saved", {"version": 1, "markdown": "text"}),
    ("POST", "pages/{page}/shares", {"inside": False, "days": 1, "name": None, "indexed": False}),
    ("DELETE", "shares/0123456789abcdef", {}),
)
DECISIONS: tuple[tuple[str, str, Any], ...] = (
    ("POST", "approvals", {"ids": [], "approve": True, "reason": None}),
    ("POST", "halts/1", {"decision": "apply"}),
    ("POST", "reviews/none/page", {}),
    ("POST", "reviews/none", {}),
    ("POST", "changes/none/undo", {}),
    ("POST", "tokens", {"actor": "agent", "scope": "write", "days": 1}),
    ("DELETE", "tokens/0123456789abcdef", {}),
    ("POST", "backups", {}),
    ("POST", "local-tree/rescan", {}),
    ("POST", "local-tree/pause", {"paused": True}),
    ("PUT", "local-tree/ignore", {"ignore": "*", "digest": None}),
    ("POST", "pages/{page}/shares", {"inside": True, "days": None, "name": "roles-of-demo", "indexed": False}),
)
READS = (
    *("tree", "recent", "tags", "templates", "trash", "search?q=a", "titles?q=a", "completions?q=a", "attention"),
    *("status", "reviews", "changes", "pages/{page}", "pages/{page}/version", "pages/{page}/above"),
    *("pages/{page}/unresolved", "pages/{page}/backlinks", "pages/{page}/linking", "pages/{page}/history"),
    *("pages/{page}/diff?before=0&after=1", "pages/{page}/blocks?after=1", "pages/{page}/shares"),
)
_REQUEST = """
INSERT INTO mirrord.approval (id, mirror_id, command, arguments, arguments_digest, actor, preview, level, expires_at)
VALUES (gen_random_uuid(), gen_random_uuid(), 'delete_page', '{}', 'x', '{"kind": "agent", "name": "a"}',
        '{"summary": "delete a page"}', 'REQUIRE', 'infinity')"""
VIEWS = ("", "p/{page}", "p/{page}/history", "tags", "trash", "search", "attention", "review", "status")


def named(cases: tuple[tuple[str, str, Any], ...]) -> list[str]:
    return [f"{method} {path} {sorted(body)}" for method, path, body in cases]


@pytest.fixture(scope="module")
def console(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with consoles(tmp_path_factory.mktemp("roles"), module_dsn) as served:
        yield served


def by_link(console: Console, role: Role) -> Browser:
    completed = console.mirrord.run("console", "link", "--tenant", "demo", "--role", role.value, "--name", role.value)
    assert completed.returncode == 0, completed.stderr
    return Browser(console.url).sign_in(completed.stdout.strip())


@pytest.fixture(scope="module")
def reader(console: Console) -> Browser:
    return by_link(console, Role.READER)


@pytest.fixture(scope="module")
def writer(console: Console) -> Browser:
    return by_link(console, Role.WRITER)


@pytest.fixture(scope="module")
def operator(console: Console) -> Browser:
    """An operator of the tenant demo alone."""
    return by_link(console, Role.OPERATOR)


@pytest.fixture(scope="module")
def mine(console: Console) -> str:
    return str(console.page("Projects/Alpha")["id"])


@pytest.mark.parametrize(
    ("method", "path", "body"), [*WRITES, *MORE_WRITES, *DECISIONS], ids=named((*WRITES, *MORE_WRITES, *DECISIONS))
)
def test_a_reader_changes_nothing(reader: Browser, mine: str, method: str, path: str, body: Any) -> None:
    before = reader.get(f"pages/{mine}/version")
    answer = reader.ask(method, f"/t/demo/api/{path.format(page=mine)}", body)
    assert answer.status == 403, answer.text
    assert reader.get(f"pages/{mine}/version") == before


@pytest.mark.parametrize(("method", "path", "body"), DECISIONS, ids=named(DECISIONS))
def test_a_writer_decides_nothing(writer: Browser, mine: str, method: str, path: str, body: Any) -> None:
    assert writer.ask(method, f"/t/demo/api/{path.format(page=mine)}", body).status == 403


@pytest.mark.parametrize("path", READS)
def test_a_reader_reads_what_a_writer_reads(reader: Browser, writer: Browser, mine: str, path: str) -> None:
    answers = [browser.ask("GET", f"/t/demo/api/{path.format(page=mine)}") for browser in (reader, writer)]
    assert [answer.status for answer in answers] == [200, 200]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_says_the_role_and_no_more(reader: Browser, operator: Browser, mine: str, view: str) -> None:
    for browser, role in ((reader, "reader"), (operator, "operator")):
        answer = browser.ask("GET", f"/t/demo/{view.format(page=mine)}")
        assert answer.status == 200
        assert f'data-role="{role}"' in answer.text
        assert f"/t/{RIVAL}/" not in answer.text


@pytest.mark.parametrize("path", READS)
def test_an_operator_of_one_tenant_sees_no_other(operator: Browser, mine: str, path: str) -> None:
    assert operator.ask("GET", f"/t/{RIVAL}/api/{path.format(page=mine)}").status == 404


@pytest.mark.parametrize(("method", "path", "body"), DECISIONS, ids=named(DECISIONS))
def test_an_operator_of_one_tenant_decides_in_no_other(
    operator: Browser, mine: str, method: str, path: str, body: Any
) -> None:
    assert operator.ask(method, f"/t/{RIVAL}/api/{path.format(page=mine)}", body).status == 404


def test_an_operator_of_one_tenant_sees_no_list_of_tenants_and_no_machine(console: Console, operator: Browser) -> None:
    assert operator.ask("GET", "/api/waiting").status == 404
    assert operator.ask("GET", "/").headers["location"] == "/t/demo/"
    mirrors = eventually(lambda: operator.get("status")["mirrors"], "the mirror")
    assert {mirror[key] for mirror in mirrors for key in ("host", "root", "holder")} == {None}
    assert str(console.mirrord.root) not in operator.ask("GET", "/t/demo/api/status").text


@pytest.mark.parametrize("path", ["tokens", "local-tree", "backups", "backups/run", "decisions"])
def test_only_operators_of_a_tenant_see_its_tokens_its_backups_and_its_tree(
    reader: Browser, writer: Browser, operator: Browser, path: str
) -> None:
    assert [browser.ask("GET", f"/t/demo/api/{path}").status for browser in (reader, writer, operator)] == [
        403,
        403,
        200,
    ]
    assert operator.ask("GET", f"/t/{RIVAL}/api/{path}").status == 404


def test_an_operator_of_one_tenant_makes_backups_and_is_told_no_place_on_the_machine(
    console: Console, operator: Browser
) -> None:
    def over() -> dict[str, Any] | None:
        run: dict[str, Any] = operator.get("backups/run")["run"]
        return run if run["is_over"] else None

    directory = console.mirrord.data / "backup"
    directory.write_text("in the way")
    operator.send("POST", "backups", status=202)
    sentence = eventually(over, "the end of a backup that cannot be made")["sentence"]
    assert sentence.startswith("the directory of the backups")
    directory.unlink()
    operator.send("POST", "backups", status=202)
    assert eventually(over, "the end of the backup")["number"] == 1

    answer = operator.ask("GET", "/t/demo/api/backups")
    assert [backup["restore"] for backup in answer.json["backups"]] == [None]
    assert str(console.mirrord.directory) not in answer.text + sentence


def test_only_operators_see_events_of_requests(
    module_dsn: str, reader: Browser, writer: Browser, operator: Browser, mine: str
) -> None:
    with psycopg.connect(module_dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT set_config('mirrord.tenant', tenant_id::text, false) FROM mirrord.page WHERE id = %s", [mine]
        )
        connection.execute("SET ROLE mirrord_daemon")
        connection.execute(_REQUEST.encode())
    types = [{event["type"] for event in browser.get("status")["events"]} for browser in (reader, writer, operator)]
    assert ["ApprovalRequested" in kinds for kinds in types] == [False, False, True]


def test_an_operator_of_one_tenant_ends_no_token_of_another(console: Console, operator: Browser) -> None:
    printed = console.mirrord.run("tenant", "token", RIVAL, "--actor", "rival's agent")
    (token_id,) = re.findall(r"Token ([0-9a-f]{16}) of", printed.stderr)
    assert operator.ask("DELETE", f"/t/demo/api/tokens/{token_id}").status == 404
    assert "rival" not in operator.ask("GET", "/t/demo/api/tokens").text
    grant = signed_tokens.verify_token(Keyring(console.mirrord.mirror), printed.stdout.strip())
    assert grant.actor.name == "rival's agent"


@pytest.mark.parametrize(
    "order",
    [
        {"actor": "", "scope": "write", "days": 1},
        {"actor": "a\nb", "scope": "write", "days": 1},
        {"actor": "a" * 61, "scope": "write", "days": 1},
        {"actor": "agent", "scope": "admin", "days": 1},
        {"actor": "agent", "scope": "write", "days": 0},
        {"actor": "agent", "scope": "write", "days": 366},
        {"actor": "agent", "scope": "write", "days": True},
        {"actor": "agent", "scope": "write"},
    ],
)
def test_an_order_of_a_token_that_is_not_one_is_refused(operator: Browser, order: dict[str, Any]) -> None:
    assert operator.ask("POST", "/t/demo/api/tokens", order).status == 422


def test_a_token_of_an_operator_is_of_that_tenant_alone(console: Console, operator: Browser) -> None:
    issued = operator.send("POST", "tokens", {"actor": "reader of demo", "scope": "read", "days": 7}, 201)
    grant = signed_tokens.verify_token(Keyring(console.mirrord.mirror), issued["token"])
    assert (grant.tenant, grant.may_write, grant.actor.name) == ("demo", False, "reader of demo")
    assert issued["token"] not in operator.ask("GET", "/t/demo/api/tokens").text


@pytest.mark.parametrize("name", ["8b492a45-ff63-4671-8e82-accd835523e2", "1", "x' OR true --"])
def test_a_change_set_that_the_tenant_does_not_have_shows_nothing(reader: Browser, name: str) -> None:
    assert reader.ask("GET", f"/t/demo/api/changes/{quote(name)}").status == 404


def test_an_operator_of_one_tenant_publishes_there(operator: Browser, mine: str) -> None:
    share = operator.send("POST", f"pages/{mine}/shares", DECISIONS[-1][2], 201)
    operator.send("DELETE", f"shares/{share['id']}")


# Accounts


def tenants_of(console: Console) -> dict[str, UUID]:
    """The ids of both tenants."""
    ids = {name: console.mirrord.run("console", "link", "--tenant", name).stdout for name in ("demo", RIVAL)}
    gate = Gate(console.mirrord.data)
    tenants: dict[str, UUID] = {}
    for name, link in ids.items():
        session = gate.session(gate.admit(link.strip().partition("token=")[2]) or "")
        assert session is not None
        assert session.roles is not None
        tenants[name] = next(iter(session.roles))
    return tenants


def of_account(console: Console, person: str) -> Browser:
    """The browser of a person who came back from the identity provider."""
    gate = Gate(console.mirrord.data)
    account = gate.accounts.find(person)
    assert account is not None
    browser = Browser(console.url, cookie=f"{gate.cookie}={gate.admit_account(account, 'Name')}")
    session = gate.session(browser.cookie.partition("=")[2])
    assert session is not None
    browser.mark = gate.csrf_token(session)
    return browser


def status_of(browser: Browser, tenant: str = "demo") -> int:
    return browser.ask("GET", f"/t/{tenant}/api/tree").status


def test_a_role_that_changes_counts_from_the_next_request(console: Console, mine: str) -> None:
    demo, store = tenants_of(console)["demo"], AccountStore(console.mirrord.data)
    store.set_role("a@example.org", demo, Role.WRITER)
    person = of_account(console, "a@example.org")
    change = {"version": -1, "title": "Forged"}
    assert person.ask("PATCH", f"/t/demo/api/pages/{mine}", change).status == 409
    store.set_role("a@example.org", demo, Role.READER)
    assert person.ask("PATCH", f"/t/demo/api/pages/{mine}", change).status == 403
    assert store.remove("a@example.org")
    assert status_of(person) == 401


def test_an_account_has_a_role_of_its_own_in_each_tenant(console: Console) -> None:
    ids, store = tenants_of(console), AccountStore(console.mirrord.data)
    store.set_role("b@example.org", ids["demo"], Role.OPERATOR)
    person = of_account(console, "b@example.org")
    assert (status_of(person), status_of(person, RIVAL)) == (200, 404)
    store.set_role("b@example.org", ids[RIVAL], Role.READER)
    assert (status_of(person), status_of(person, RIVAL)) == (200, 200)
    forged = {"parent": None, "title": "Forged"}
    assert person.ask("POST", f"/t/{RIVAL}/api/pages", forged).status == 403
    store.remove("b@example.org", ids["demo"])
    assert (status_of(person), status_of(person, RIVAL)) == (404, 200)


def test_a_stream_ends_when_its_person_is_taken_out(console: Console) -> None:
    demo, store = tenants_of(console)["demo"], AccountStore(console.mirrord.data)
    store.set_role("c@example.org", demo, Role.READER)
    person = of_account(console, "c@example.org")
    other = console.browser(only=True)
    with person.live() as stream:
        store.remove("c@example.org")
        other.send("POST", "pages", {"parent": None, "title": "After the removal"}, 201)
        assert list(stream.events()) == []


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"null", b'{"person": "d@example.org", "mark": "", "roles": 3}'])
def test_a_damaged_account_gives_no_access(console: Console, damage: bytes) -> None:
    demo, store = tenants_of(console)["demo"], AccountStore(console.mirrord.data)
    store.set_role("d@example.org", demo, Role.OPERATOR)
    person = of_account(console, "d@example.org")
    directory = console.mirrord.data / "console" / "accounts"
    file = next(file for file in directory.iterdir() if b"d@example.org" in file.read_bytes())
    file.write_bytes(damage)
    assert status_of(person) == 401
    file.unlink()


@pytest.mark.parametrize(
    "path", ["/sign-in/account", "/sign-in/account/return", "/sign-in/account/return?code=a&state=b"]
)
def test_without_an_identity_provider_there_is_no_way_in_by_accounts(console: Console, path: str) -> None:
    answer = Browser(console.url).ask("GET", path)
    assert (answer.status, "set-cookie" in answer.headers) == (404, False)
