"""Events that commands appended to files: each is in the table once, and names who wrote a version."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from mirrord.domain.entry import Actor, digest_of, new_id
from mirrord.domain.event import Event, EventType, encode_event, event_file_path
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually
from tests.support.health import assert_over, assert_said, look_everywhere, problem
from tests.support.rows import Page

AGENT = Actor("agent", "researcher")
SOON = 1.0  # seconds until an event is in the table


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("events"), tenant="events", dsn=admin_dsn) as started:
        started.up()
        yield started


def _event(mirrord: Mirrord, kind: str = EventType.PAGE_CREATED, **data: object) -> Event:
    return Event(uuid4(), kind, datetime.now(UTC), mirrord.tenant, AGENT, data)


def _file(mirrord: Mirrord, host: str = "desk") -> Path:
    file = mirrord.file(event_file_path(datetime.now(UTC), host))
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _append(file: Path, *lines: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(b"".join(lines))


def _stored(mirrord: Mirrord, *ids: UUID) -> int:
    row = mirrord.app.execute("SELECT count(*) FROM event WHERE id = ANY (%s)", [list(ids)]).fetchone()
    assert row is not None
    return int(row[0])


def _await(mirrord: Mirrord, *events: Event, seconds: float = 20.0) -> None:
    ids = [event.event_id for event in events]
    eventually(lambda: _stored(mirrord, *ids) == len(ids), "the events in the table", seconds)


def _path(mirrord: Mirrord, file: Path) -> str:
    return str(file.relative_to(mirrord.root))


def test_an_appended_event_is_in_the_table_with_its_actor_and_channel(mirrord: Mirrord) -> None:
    event = _event(mirrord, page_id=str(uuid4()), path="A.md")
    _append(_file(mirrord), encode_event(event))
    _await(mirrord, event)
    row = mirrord.app.execute(
        "SELECT type, actor, channel, data, occurred_at, read_at FROM event WHERE id = %s", [event.event_id]
    ).fetchone()
    assert row == (event.type, {"kind": "agent", "name": "researcher"}, "file", event.data, event.occurred_at, None)


def test_an_event_is_in_the_table_within_a_second(mirrord: Mirrord) -> None:
    look_everywhere(mirrord)
    event = _event(mirrord)
    _append(_file(mirrord), encode_event(event))
    _await(mirrord, event, seconds=SOON)


def test_events_are_no_pages_and_reach_no_other_mirror(mirrord: Mirrord) -> None:
    event = _event(mirrord)
    _append(_file(mirrord, "laptop"), encode_event(event))
    _await(mirrord, event)
    look_everywhere(mirrord)
    path = _path(mirrord, _file(mirrord, "laptop"))
    assert mirrord.app.execute("SELECT 1 FROM mirror_base WHERE path = %s", [path]).fetchone() is None


def test_a_line_that_does_not_end_yet_waits_for_its_end(mirrord: Mirrord) -> None:
    complete, torn = _event(mirrord), _event(mirrord)
    line = encode_event(torn)
    file = _file(mirrord, "torn")
    _append(file, encode_event(complete), line[:40])
    _await(mirrord, complete)
    look_everywhere(mirrord)
    assert _stored(mirrord, torn.event_id) == 0
    _append(file, line[40:])
    _await(mirrord, torn)
    assert problem(mirrord, _path(mirrord, file)) is None


def test_a_bad_line_is_listed_with_its_number_and_passed_over(mirrord: Mirrord) -> None:
    first, last = _event(mirrord), _event(mirrord)
    file = _file(mirrord, "bad")
    _append(file, encode_event(first), b"not an event\n", encode_event(last))
    _await(mirrord, first, last)
    path = _path(mirrord, file)
    eventually(lambda: problem(mirrord, path), "the problem")
    assert_said(mirrord, path, path, "line 2")
    file.write_bytes(encode_event(first) + encode_event(last))
    assert_over(mirrord, path)


def test_the_problem_of_a_file_goes_with_it(mirrord: Mirrord) -> None:
    file = _file(mirrord, "going")
    _append(file, b"{}\n")
    path = _path(mirrord, file)
    eventually(lambda: problem(mirrord, path), "the problem")
    file.unlink()
    assert_over(mirrord, path)


def _line(mirrord: Mirrord, change: Mapping[str, object]) -> bytes:
    return json.dumps(json.loads(encode_event(_event(mirrord))) | change).encode() + b"\n"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tenant": "another"}, "another tenant"),
        ({"type": "ApprovalGranted"}, "approval"),
        ({"data": {"text": "\0"}}, "NUL"),
        ({"data": {"number": float("nan")}}, "number"),
        ({"occurred_at": "yesterday"}, "line 1"),
        ({"event_id": "x"}, "line 1"),
        ({"actor": None}, "line 1"),
    ],
    ids=["another tenant", "approval", "NUL", "NaN", "moment", "id", "actor"],
)
def test_an_event_that_a_file_may_not_tell_is_refused(mirrord: Mirrord, change: dict[str, object], why: str) -> None:
    file = _file(mirrord, f"refused{uuid4().hex[:8]}")
    good = _event(mirrord)
    _append(file, _line(mirrord, change), encode_event(good))
    _await(mirrord, good)
    path = _path(mirrord, file)
    eventually(lambda: problem(mirrord, path), "the problem")
    assert_said(mirrord, path, "line 1", why)
    types = mirrord.app.execute("SELECT count(*) FROM event WHERE type LIKE 'Approval%'").fetchone()
    assert types == (0,)
    file.unlink()


def test_a_replaced_or_cut_file_is_read_from_its_start_and_nothing_is_twice(mirrord: Mirrord) -> None:
    events = [_event(mirrord, number=number) for number in range(5)]
    file = _file(mirrord, "replaced")
    _append(file, *map(encode_event, events[:3]))
    _await(mirrord, *events[:3])
    save(file, b"".join(map(encode_event, events[1:4])))
    _await(mirrord, *events[:4])
    with file.open("r+b") as stream:  # in place, and longer than before: only the bytes tell
        stream.write(b"".join(map(encode_event, [events[4], *events[:4]])))
    _await(mirrord, *events)
    look_everywhere(mirrord)
    assert _stored(mirrord, *(event.event_id for event in events)) == 5


def test_whoever_reads_a_notification_does_not_get_it_again(mirrord: Mirrord) -> None:
    event = _event(mirrord)
    file = _file(mirrord, "notified")
    _append(file, encode_event(event))
    _await(mirrord, event)
    mirrord.app.execute("UPDATE event SET read_at = now() WHERE id = %s", [event.event_id])
    save(file, encode_event(event))
    look_everywhere(mirrord)
    row = mirrord.app.execute("SELECT read_at IS NOT NULL FROM event WHERE id = %s", [event.event_id]).fetchone()
    assert row == (True,)


def test_events_survive_a_kill_and_the_loss_of_the_cache(mirrord: Mirrord) -> None:
    before, meanwhile, after = (_event(mirrord) for _ in range(3))
    file = _file(mirrord, "killed")
    _append(file, encode_event(before))
    _await(mirrord, before)
    mirrord.kill()
    _append(file, encode_event(meanwhile))
    for path in (mirrord.root / ".mirrord").glob("state.db*"):
        path.unlink()
    mirrord.up()
    _append(file, encode_event(after))
    _await(mirrord, before, meanwhile, after)


def _written(mirrord: Mirrord, name: str, *texts: str) -> Page:
    """A page that was saved with each of *texts*, by hand."""
    for number, text in enumerate(texts, 1):
        save(mirrord.file(name), text)
        eventually(lambda: (page := mirrord.page(name)) and page.markdown == text, f"version {number}")  # noqa: B023
    page = mirrord.page(name)
    assert page is not None
    return page


def _actors(mirrord: Mirrord, page: str) -> list[str]:
    completed = mirrord.run("history", page, "--json", "--tenant", mirrord.tenant)
    assert completed.returncode == 0, completed.stderr
    return [version["actor"]["name"] for version in json.loads(completed.stdout)["versions"]]


def _updated_by(mirrord: Mirrord, page: UUID) -> dict[str, str]:
    with mirrord.app.cursor() as cursor:
        row = cursor.execute("SELECT updated_by FROM page WHERE id = %s", [page]).fetchone()
    assert row is not None
    actor: dict[str, str] = row[0]
    return actor


def test_the_history_names_the_tool_that_wrote_a_version(mirrord: Mirrord) -> None:
    page = _written(mirrord, "Told.md", "By hand.\n", "By a tool.\n", "By hand again.\n")
    digest = digest_of(b"By a tool.\n").hex()
    event = _event(mirrord, EventType.PAGE_WRITTEN, page_id=str(page.id), path="Told.md", digest=digest)
    _append(_file(mirrord), encode_event(event))
    _await(mirrord, event)
    eventually(lambda: _actors(mirrord, "Told.md") == ["file", "researcher", "file"], "the tool to be named")
    assert _updated_by(mirrord, page.id) == {"kind": "human", "name": "file"}


def test_a_row_names_the_tool_that_wrote_its_text_whatever_comes_first(mirrord: Mirrord) -> None:
    page = _written(mirrord, "Told first.md", "By hand.\n")
    digest = digest_of(b"By a tool.\n").hex()
    event = _event(mirrord, EventType.PAGE_WRITTEN, page_id=str(page.id), path="Told first.md", digest=digest)
    _append(_file(mirrord), encode_event(event))
    _await(mirrord, event)
    _written(mirrord, "Told first.md", "By a tool.\n")
    named = {"kind": "agent", "name": "researcher", "channel": "file"}
    eventually(lambda: _updated_by(mirrord, page.id) == named, "the tool to be named in the row")
    _written(mirrord, "Told first.md", "By hand again.\n")
    assert _updated_by(mirrord, page.id) == {"kind": "human", "name": "file"}


def test_a_row_names_the_tool_that_deleted_it(mirrord: Mirrord) -> None:
    page = _written(mirrord, "Told gone.md", "By hand.\n")
    event = _event(mirrord, EventType.PAGE_DELETED, page_id=str(page.id), path="Told gone.md", trash_id="t")
    _append(_file(mirrord), encode_event(event))
    mirrord.file("Told gone.md").unlink()
    eventually(lambda: _updated_by(mirrord, page.id)["name"] == "researcher", "the tool to be named in the tombstone")


def test_an_event_about_no_page_names_nobody_and_holds_up_nothing(mirrord: Mirrord) -> None:
    page = _written(mirrord, "Untold.md", "By hand.\n")
    events = [
        _event(mirrord, EventType.PAGE_WRITTEN, page_id=page_id, digest=digest)
        for page_id in (str(page.id), "no id", None, 7, str(new_id()))
        for digest in ("no digest", None, "00" * 32)
    ]
    _append(_file(mirrord), *map(encode_event, events))
    _await(mirrord, *events)
    assert _updated_by(mirrord, page.id) == {"kind": "human", "name": "file"}


def test_an_applied_draft_is_one_change_set_with_its_title(mirrord: Mirrord) -> None:
    change_set = str(uuid4())
    applied = _event(mirrord, EventType.CHANGES_APPLIED, change_set=change_set, title="Tidy up", message="Tidied")
    written = _event(mirrord, EventType.PAGE_WRITTEN, change_set=change_set, page_id=str(uuid4()), path="A.md")
    _append(_file(mirrord), encode_event(applied), encode_event(written))
    _await(mirrord, applied, written)
    query = "SELECT kind, title, message, actor ->> 'name', applied_at IS NOT NULL FROM change_set WHERE id = %s"
    row = mirrord.app.execute(query, [change_set]).fetchone()
    assert row == ("draft", "Tidy up", "Tidied", "researcher", True)
