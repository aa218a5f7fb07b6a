"""Segments follow their page: its text, wherever that is edited, to the trash, and back."""

import json
from collections.abc import Iterator
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from mirrord.domain.entry import new_id
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

TEXT = "Ana: How was it?\n\nBen: The river came at night.\n\nAna: And then?\n"
QUOTE = "The river came at night."

Said = dict[str, dict[str, object]]


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("segments"), tenant="segments", dsn=admin_dsn) as started:
        started.up()
        yield started


def _page(mirrord: Mirrord, name: str, text: str = TEXT) -> UUID:
    save(mirrord.file(f"{name}.md"), text)
    page = eventually(lambda: mirrord.page(f"{name}.md"), "the page's row")
    return page.id


def _insert(mirrord: Mirrord, page: UUID, start: int, end: int) -> None:
    """An app marks a span, without saying what is there."""
    data = {"s": {"start": start, "end": end, "label": "flood", "kind": "code", "created_by": "app:coder"}}
    mirrord.app.execute("INSERT INTO record (kind, key, data) VALUES ('segment', %s, %s)", [str(page), Jsonb(data)])


def _marked(mirrord: Mirrord, name: str) -> UUID:
    """A page with one segment that knows what it says, in file and row."""
    page = _page(mirrord, name)
    _insert(mirrord, page, TEXT.index(QUOTE), TEXT.index(QUOTE) + len(QUOTE))
    _await(mirrord, page, quote=QUOTE, detached=False)
    return page


def _file(mirrord: Mirrord, page: UUID) -> Said | None:
    text = mirrord.text(f".records/segments/{page}.json")
    return None if text is None else json.loads(text)


def _await(mirrord: Mirrord, page: UUID, **expected: object) -> None:
    """Until the view and the file say so."""
    columns = ", ".join(expected)

    def says() -> bool:
        row = mirrord.app.execute(f"SELECT {columns} FROM segment WHERE page_id = %s", [page]).fetchone()
        segment = (_file(mirrord, page) or {}).get("s", {})
        names = {"first": "start", "behind": "end"}
        in_file = tuple(segment.get(names.get(key, key), False) for key in expected)
        return row == tuple(expected.values()) == in_file

    eventually(says, f"a segment with {expected}, in {_file(mirrord, page)}")


def test_a_span_that_an_app_marked_is_told_what_it_says(mirrord: Mirrord) -> None:
    page = _marked(mirrord, "Marked")
    segments = _file(mirrord, page)
    assert segments is not None
    assert segments["s"]["prefix"] == TEXT[: TEXT.index(QUOTE)]
    assert segments["s"]["label"] == "flood"


def test_a_segment_follows_an_edit_of_the_file_and_one_of_the_row(mirrord: Mirrord) -> None:
    page = _marked(mirrord, "Followed")
    save(mirrord.file("Followed.md"), "---\ntitle: T\n---\n" + TEXT.replace("How was it?", "What happened that night?"))
    _await(mirrord, page, first=TEXT.index(QUOTE) + 14, quote=QUOTE)
    mirrord.app.execute("UPDATE page SET markdown = %s WHERE id = %s", [TEXT.replace("at night", "in the night"), page])
    _await(mirrord, page, first=TEXT.index(QUOTE), quote="The river came in the night.")


def test_what_is_deleted_is_detached_and_comes_back_with_its_text(mirrord: Mirrord) -> None:
    page = _marked(mirrord, "Passing")
    save(mirrord.file("Passing.md"), TEXT.replace(QUOTE, "Nothing."))
    _await(mirrord, page, detached=True, quote=QUOTE)
    save(mirrord.file("Passing.md"), "# Again\n\n" + TEXT)
    _await(mirrord, page, detached=False, quote=QUOTE, first=TEXT.index(QUOTE) + 9)


def test_segments_go_with_their_page_and_come_back_with_it(mirrord: Mirrord) -> None:
    page = _marked(mirrord, "Going")
    mirrord.file("Going.md").unlink()
    eventually(lambda: _file(mirrord, page) is None, "the segments to go")
    assert mirrord.app.execute("SELECT FROM segment WHERE page_id = %s", [page]).fetchone() is None

    mirrord.app.execute("UPDATE page SET deleted_at = NULL WHERE id = %s", [page])
    _await(mirrord, page, quote=QUOTE, detached=False)


def test_segments_that_a_command_removed_with_their_page_come_back_too(mirrord: Mirrord) -> None:
    page = _marked(mirrord, "Removed")
    with mirrord.frozen():
        mirrord.file("Removed.md").unlink()
        mirrord.file(f".records/segments/{page}.json").unlink()
    query = (
        "SELECT count(*) FROM (SELECT FROM page WHERE id = %s AND deleted_at IS NULL "
        "UNION ALL SELECT FROM segment WHERE page_id = %s)"
    )
    eventually(lambda: mirrord.app.execute(query, [page, page]).fetchone() == (0,), "both rows to end")
    save(mirrord.file("Removed.md"), TEXT)
    _await(mirrord, page, quote=QUOTE, detached=False)


def test_every_turn_of_a_source_is_a_segment_in_postgres_once_speakers_were_detected(mirrord: Mirrord) -> None:
    entry = new_id()
    save(mirrord.file("Sources/Talk.md"), f"---\nid: {entry}\ntype: source\n---\n{TEXT}")
    eventually(lambda: mirrord.page("Sources/Talk.md"), "the source's row")
    assert mirrord.run("sources", "speakers", "Talk", "--tenant", mirrord.tenant).returncode == 0

    turns_query = "SELECT label, quote, kind FROM segment WHERE page_id = %s ORDER BY first"
    expected = [("Ana", "How was it?", "speaker"), ("Ben", QUOTE, "speaker"), ("Ana", "And then?", "speaker")]
    eventually(lambda: mirrord.app.execute(turns_query, [entry]).fetchall() == expected, "the turns in Postgres")
    event_query = "SELECT data -> 'speakers' FROM event WHERE type = 'SpeakersDetected'"
    eventually(lambda: mirrord.app.execute(event_query).fetchall() == [(["Ana", "Ben"],)], "the event in Postgres")


def test_segments_are_not_counted_among_deletions_that_may_be_an_accident(mirrord: Mirrord) -> None:
    _page(mirrord, "Unmarked")  # that all pages of a tenant go is an accident in any case
    pages = [_page(mirrord, f"Many {number}") for number in range(20)]
    for page in pages:
        _insert(mirrord, page, 0, 3)
    eventually(lambda: all(_file(mirrord, page) for page in pages), "their segments' files")

    mirrord.app.execute("UPDATE page SET deleted_at = now() WHERE id = ANY (%s)", [pages])

    eventually(lambda: not any(_file(mirrord, page) for page in pages), "pages and segments to go")
    assert mirrord.app.execute("SELECT FROM halt").fetchone() is None
