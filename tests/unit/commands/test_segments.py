"""Segments of pages as records: read, merged with what is there, removed with their page."""

import fcntl
import json
import os
from pathlib import Path
from uuid import UUID

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.entry import new_id
from mirrord.research.segments import segment_records
from mirrord.research.segments.segment import Segment

PAGE = UUID(str(new_id()))


def made(id: str, start: int, end: int, label: str = "Ana", kind: str = "code") -> Segment:
    return Segment(id, start, end, label, kind, "agent:writer")


def record(root: Path, data: object, page: UUID = PAGE) -> Path:
    """What somebody saved as the segments of a page."""
    file = root / f".records/segments/{page}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


def add(session: Session, *new: Segment) -> bool:
    with session.writing() as journal:
        return segment_records.rewrite_segments(session, journal, PAGE, lambda old: [*old, *new])


def test_what_is_added_joins_what_is_there_in_the_order_of_the_text(session: Session) -> None:
    add(session, made("b", 5, 9))
    add(session, made("a", 0, 4))

    assert [segment.id for segment in segment_records.segments_of(session, PAGE)] == ["a", "b"]
    assert segment_records.count_segments(session, PAGE) == 2


def test_a_page_without_a_record_has_no_segments(session: Session) -> None:
    assert segment_records.segments_of(session, PAGE) == []


def test_keys_of_somebody_elses_stay(session: Session, root: Path) -> None:
    file = record(root, {"x": {"start": 0, "end": 1, "memo": "mine"}, "colours": [1]})

    add(session, made("y", 2, 3))

    stored = json.loads(file.read_text())
    assert stored["x"]["memo"] == "mine"
    assert stored["colours"] == [1]


def test_nothing_is_written_where_nothing_changes(session: Session, root: Path) -> None:
    add(session, made("a", 0, 4))
    before = (root / f".records/segments/{PAGE}.json").stat().st_ctime_ns

    assert not add(session)
    assert (root / f".records/segments/{PAGE}.json").stat().st_ctime_ns == before


def test_a_broken_record_is_not_overwritten_and_its_line_is_named(session: Session, root: Path) -> None:
    file = record(root, '{\n"a": }')

    with pytest.raises(Failed, match="line 2") as failed:
        add(session, made("b", 0, 1))

    assert failed.value.code == "SEGMENTS_UNREADABLE"
    assert file.read_text() == '{\n"a": }'


def test_a_save_that_comes_between_is_kept(session: Session, root: Path) -> None:
    add(session, made("a", 0, 4))
    saves = [{"hers": {"start": 7, "end": 8}}]

    def change(old: object) -> list[Segment]:
        if saves:
            record(root, saves.pop())
        return [*segment_records.segments_of(session, PAGE), made("b", 5, 6)]

    with session.writing() as journal:
        segment_records.rewrite_segments(session, journal, PAGE, change)

    assert [segment.id for segment in segment_records.segments_of(session, PAGE)] == ["b", "hers"]


def test_whoever_holds_the_records_is_waited_for_two_seconds_at_most(session: Session, root: Path) -> None:
    (root / ".records").mkdir()
    descriptor = os.open(root / ".records", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    with pytest.raises(Failed) as failed:
        add(session, made("a", 0, 4))

    os.close(descriptor)
    assert failed.value.code == "BUSY"
