"""The line of an event file and what it says are one and the same."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import Actor, new_id
from mirrord.domain.event import Event, EventType, decode_event, encode_event, event_file_path
from mirrord.mirror.tree.tree_layout import spot_of_file

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
DATA = st.dictionaries(TEXTS, TEXTS | st.integers() | st.none() | st.booleans() | st.lists(TEXTS), max_size=4)
MOMENT = datetime(2026, 11, 22, 23, 30, 0, 5, UTC)


def event(data: dict[str, object], actor: str = "writer") -> Event:
    return Event(new_id(), EventType.PAGE_WRITTEN, MOMENT, "acme", Actor("agent", actor), data)


@given(DATA, TEXTS)
def test_a_line_says_the_event_it_was_made_of(data: dict[str, object], actor: str) -> None:
    original = event(data, actor)
    assert decode_event(encode_event(original)) == original


@given(DATA, TEXTS)
def test_an_event_is_one_line(data: dict[str, object], actor: str) -> None:
    line = encode_event(event(data, actor))
    assert len(line.splitlines()) == 1
    assert line.endswith(b"\n")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "Expecting value"),
        (b'{"event_id": "', "Unterminated"),
        (b"[1]", "is not a JSON object"),
        (b'{"event_id": "x"}', "lacks 'actor'"),
        (encode_event(event({})).replace(b'"type":"PageWritten"', b'"type":7'), "wrong kind"),
        (encode_event(event({})).replace(b"+00:00", b""), "wrong kind"),
        (encode_event(event({})).replace(b'"data":{}', b'"data":[]'), "wrong kind"),
        (encode_event(event({})).replace(b'{"kind":"agent","name":"writer"}', b'"writer"'), "wrong kind"),
    ],
)
def test_a_line_that_is_no_event_says_why(line: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode_event(line)


def test_days_are_counted_in_utc_and_a_host_cannot_leave_the_folder() -> None:
    local_moment = MOMENT.astimezone(timezone(timedelta(hours=5)))
    assert event_file_path(local_moment, "../a b") == ".records/events/2026-11-22.---a-b.jsonl"
    assert spot_of_file(event_file_path(local_moment, "host")) is None
