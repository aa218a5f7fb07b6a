"""When a change goes the short way: one known page was saved, or an app wrote one, and nothing else is the matter."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from mirrord.db.content.entry_states import LoadedEntries
from mirrord.domain.entry import Base, Digest, Kind, Row, State, UnreadableFile, digest_of
from mirrord.sync.change_sources import is_lone_text, is_lone_write
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step, decide, is_plain_save
from tests.unit.states import ENTRY, FOLDER, THERE, A, B, C, all_states, base, file, row, state

PATH = "Page.md"


def read(digest: Digest = B, path: str = PATH) -> State:
    return state(base(A), replace(file(digest, path=path), data=b"text"), row(A))


def test_a_new_text_of_a_page_in_its_place_is_a_plain_save() -> None:
    assert is_plain_save(read())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(read(A), id="the same text"),
        pytest.param(read(path="Elsewhere.md"), id="another path"),
        pytest.param(state(base(A), file(B), row(C, version=3)), id="the row changed, too"),
        pytest.param(state(base(A), file(B, place=THERE), row(A)), id="the file moved"),
        pytest.param(state(base(A), file(B), row(A, place=THERE)), id="the row moved"),
        pytest.param(state(base(A), file(B), row(A, ahead=["title"])), id="an app wrote a view"),
        pytest.param(state(base(A), file(B), row(None)), id="an app wrote the text"),
        pytest.param(state(base(A), file(B), row(A, deleted=True)), id="the row is deleted"),
        pytest.param(state(base(A), file(B), row(A, placed=False)), id="the row is to be named"),
        pytest.param(state(base(A), file(B)), id="the row is lost"),
        pytest.param(state(base(A), replace(file(B), is_contested=True), row(A)), id="two bases at the path"),
        pytest.param(state(base(A), replace(file(B), succeeds=FOLDER), row(A)), id="it takes a folder over"),
        pytest.param(state(base(A), replace(file(B), is_held_open=True), row(A)), id="held open"),
        pytest.param(state(base(A), UnreadableFile(PATH, "It is open."), row(A)), id="unreadable"),
        pytest.param(state(base(A), file(digest_of(b"")), row(A)), id="emptied"),
        pytest.param(state(None, file(B), None), id="a new page"),
    ],
)
def test_everything_else_is_no_plain_save(changed: State) -> None:
    assert not is_plain_save(changed)


@pytest.mark.parametrize("seen_version", [None, 1, 2, 3])
@pytest.mark.parametrize("stale_places", [False, True])
def test_every_decision_on_a_plain_save_writes_the_row(seen_version: int | None, stale_places: bool) -> None:
    plain = [each for each in all_states() if is_plain_save(each)]
    assert plain
    for each in plain:
        decision = decide(each, seen_version=seen_version, adopting=False, stale_places=stale_places)
        assert decision == Decision(each, Step.ROW, Move.TO_ROW, PlaceMove.NOTHING)


def loaded(rows: Iterable[Row], bases: Iterable[Base] = (base(A),)) -> LoadedEntries:
    rows = list(rows)
    return LoadedEntries(frozenset(row.entry for row in rows), list(bases), {row.entry: row for row in rows})


WRITTEN = row(A, version=3, ahead=["markdown"])


@pytest.mark.parametrize("written", [WRITTEN, row(None, version=3)], ids=["a view", "the text"])
def test_a_lone_page_that_an_app_wrote_is_rendered_with_the_feed(written: Row) -> None:
    assert is_lone_write(loaded([replace(written, kind=Kind.PAGE)]), ())


@pytest.mark.parametrize(
    "read_entries",
    [
        pytest.param(loaded([]), id="nothing changed"),
        pytest.param(loaded([WRITTEN, replace(WRITTEN, entry=FOLDER)]), id="two entries"),
        pytest.param(loaded([WRITTEN], []), id="a new page"),
        pytest.param(loaded([row(B, version=3)]), id="nothing to render"),
        pytest.param(loaded([replace(WRITTEN, placed=False)]), id="to be named"),
        pytest.param(loaded([replace(WRITTEN, place=THERE)]), id="moved"),
        pytest.param(loaded([replace(WRITTEN, deleted=True)]), id="deleted"),
        pytest.param(loaded([replace(WRITTEN, kind=Kind.RECORD)]), id="a record"),
        pytest.param(loaded([WRITTEN], [base(A, path=None)]), id="without a file"),
    ],
)
def test_every_other_change_is_rendered_in_its_pass(read_entries: LoadedEntries) -> None:
    assert not is_lone_write(read_entries, ())


def test_an_entry_with_an_obstacle_is_rendered_in_its_pass() -> None:
    assert not is_lone_write(loaded([WRITTEN]), {ENTRY})


RENDERED = replace(row(B, version=3), kind=Kind.PAGE)


def test_the_text_of_a_lone_page_that_is_rendered_is_read_with_the_feed() -> None:
    assert is_lone_text(loaded([RENDERED]), ())
    assert not is_lone_text(loaded([RENDERED]), {ENTRY})


@pytest.mark.parametrize(
    "read_entries",
    [
        pytest.param(loaded([replace(WRITTEN, kind=Kind.PAGE)]), id="to be rendered"),
        pytest.param(loaded([replace(row(A, version=3), kind=Kind.PAGE)]), id="the text of the file"),
        pytest.param(loaded([replace(RENDERED, place=THERE)]), id="moved"),
        pytest.param(loaded([RENDERED], []), id="a new page"),
        pytest.param(loaded([RENDERED, replace(RENDERED, entry=FOLDER)]), id="two entries"),
    ],
)
def test_no_text_is_read_with_the_feed_for_any_other_change(read_entries: LoadedEntries) -> None:
    assert not is_lone_text(read_entries, ())
