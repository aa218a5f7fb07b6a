"""The tree that rows make: names of those that have none yet, and rows that no tree can hold."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mirrord.db.snapshot_rows import LiveEntry
from mirrord.domain.entry import NO_TEXT, Digest, EntryId, Kind, Place, Row, digest_of
from mirrord.domain.place import name_key
from mirrord.operations.tenant_export import Outline, outline_of
from mirrord.sync.observation import row_names

BEGINNING = datetime(2026, 1, 31, tzinfo=UTC)


def entry(number: int) -> EntryId:
    return EntryId(UUID(int=number))


def living(
    number: int,
    name: str,
    parent: int | None = None,
    *,
    kind: Kind = Kind.PAGE,
    placed: bool = True,
    ahead: tuple[str, ...] = (),
    age: int = 0,
) -> LiveEntry:
    """age: how many seconds before others it was made."""
    digest: Digest | None = NO_TEXT if kind is Kind.FOLDER else digest_of(b"x")
    place = Place(entry(parent) if parent is not None else None, name)
    row = Row(entry(number), kind, place, placed, 1, digest, False, frozenset(ahead))
    return LiveEntry(row, 1, BEGINNING - timedelta(seconds=age) if not placed else None)


def paths(outline: Outline) -> dict[str, int]:
    return {item.path: item.entry.int for item in outline.files}


def test_of_equal_names_the_later_gets_a_number_and_placed_ones_keep_theirs() -> None:
    outline = outline_of(
        [
            living(1, "page", placed=False),
            living(2, "Page", placed=False, age=1),
            living(3, "PAGE"),
            living(4, "Page", 3, placed=False),
            living(5, "Page", kind=Kind.ATTACHMENT, placed=False),
        ]
    )

    assert paths(outline) == {"PAGE.md": 3, "Page (2).md": 2, "page (3).md": 1, "PAGE/Page.md": 4, "assets/Page": 5}
    assert [item.path for item in outline.files] == sorted(paths(outline))
    assert outline.counts == {"page": 4, "attachment": 1}


def test_a_folder_of_which_an_app_wrote_views_is_a_page_with_an_index_file() -> None:
    outline = outline_of(
        [living(1, "Box", kind=Kind.FOLDER, ahead=("title",)), living(2, "Empty", kind=Kind.FOLDER), living(3, "A", 1)]
    )

    assert paths(outline) == {"Box/_index.md": 1, "Box/A.md": 3}
    assert [item.digest for item in outline.files] == [digest_of(b"x"), None]
    assert outline.folders == ["Empty"]


def test_what_lies_below_a_deleted_page_or_has_no_name_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_names, "MAX_TWINS", 9)
    alike = [living(number, "Same", placed=False, age=-number) for number in range(10)]
    outline = outline_of([living(5000, "Orphan", 4711), living(5001, ".hidden"), *alike])

    assert {omission.path for omission in outline.omissions} == {"Orphan", ".hidden", "Same"}
    assert [omission.path for omission in outline.omissions if str(entry(9)) in omission.sentence] == ["Same"]
    assert len({name_key(item.path) for item in outline.files}) == len(outline.files) == 9
