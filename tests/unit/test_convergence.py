"""
Content and place together: every small state of one entry, carried to its end in a model of both sides.

The model does with a decision what its step does in the tree and in Postgres, and remembers every text that can
be found again: in a version, a conflict sibling, the trash.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product

import pytest

from mirrord.domain.entry import NO_TEXT, Base, Digest, File, Place, Row, State, digest_of
from mirrord.sync.decisions.entry_decision import DELETIONS, Decision, Move, PlaceMove, Step, decide, is_same_place
from mirrord.sync.writing.row_statements import new_base
from tests.unit.states import ELSEWHERE, HERE, THERE, A, B, C, base, file, row, state

INDEX = Place(None, "Page", index=True)
OLD, RENDERED, MERGED = (digest_of(text) for text in (b"old", b"rendered", b"merged"))
PATHS = {HERE: "Page.md", THERE: "Folder/Page.md", ELSEWHERE: "Renamed.md", INDEX: "Page/_index.md"}
LONGEST = 6  # decisions until nothing is left to do


@dataclass(frozen=True)
class World:
    """history: the text of every version of the row. kept_texts: texts in siblings and in the trash."""

    state: State
    history: dict[int, Digest] = field(default_factory=dict)
    kept_texts: frozenset[Digest] = frozenset()
    adopting: bool = False

    @property
    def seen(self) -> int | None:
        """What `observe` asks the history: bytes that neither base nor row has."""
        current_file = self.state.file
        if not isinstance(current_file, File):
            return None
        if current_file.digest in {side.digest for side in (self.state.base, self.state.row) if side is not None}:
            return None
        return max((version for version, text in self.history.items() if text == current_file.digest), default=None)

    @property
    def texts(self) -> set[Digest]:
        """Everything that can be found again."""
        shown_digests = {self.state.file.digest} if isinstance(self.state.file, File) else set()
        return {*self.history.values(), *self.kept_texts, *shown_digests}

    def decide(self) -> Decision:
        return decide(self.state, seen_version=self.seen, adopting=self.adopting)

    def having(self, *, keeps: Digest | None = None, **sides: Base | File | Row | None) -> "World":
        """With other sides; a row's text becomes a version."""
        now = replace(self.state, **sides)  # type: ignore[arg-type]
        history = dict(self.history)
        if now.row is not None and now.row.digest is not None:
            history[now.row.version] = now.row.digest
        return replace(self, state=now, history=history, kept_texts=self.kept_texts | ({keeps} if keeps else set()))


def after(world: World, decision: Decision) -> World:
    """What the engine would find after carrying out *decision*."""
    was = world.state
    if decision.step is Step.PREPARE:
        return prepared(world, decision)
    if decision.place in (PlaceMove.TO_ROW, PlaceMove.TO_FILE):
        return moved(world, decision)
    if decision.step is Step.DELETE and decision.move in DELETIONS:  # few vanished rows are made again
        trashed = was.file.digest if decision.move is Move.TRASH and isinstance(was.file, File) else None
        dead = replace(was.row, deleted=True, version=was.row.version + 1) if was.row and not trashed else was.row
        return world.having(base=None, file=None, row=dead, keeps=trashed)
    return (to_file if decision.step is Step.FILE else to_row)(world, decision.move)


def prepared(world: World, decision: Decision) -> World:
    now = world.state.row
    assert now is not None
    if decision.place is PlaceMove.NAME:
        now = replace(now, placed=True)
    if not now.deleted and (now.ahead or now.digest is None):
        now = replace(now, digest=now.digest or RENDERED, ahead=frozenset())
    return world.having(row=now)


def moved(world: World, decision: Decision) -> World:
    agreed, file_side, row_side = sides(world)
    assert agreed is not None
    if decision.place is PlaceMove.TO_ROW:
        row_side = replace(row_side, place=file_side.place, version=row_side.version + 1)
        return world.having(
            base=replace(agreed, place=file_side.place, path=file_side.path, version=row_side.version), row=row_side
        )
    file_side = replace(file_side, place=row_side.place, path=PATHS[row_side.place])
    settled = row_side.digest == agreed.digest == file_side.digest
    version = row_side.version if settled else agreed.version
    return world.having(
        base=replace(agreed, place=row_side.place, path=file_side.path, version=version), file=file_side
    )


def to_file(world: World, move: Move) -> World:
    row_side, file_side = world.state.row, world.state.file
    assert row_side is not None
    assert row_side.digest is not None
    path, where = PATHS[row_side.place], row_side.place
    lost = None
    if isinstance(file_side, File) and file_side.digest != NO_TEXT:
        path, where, lost = file_side.path, file_side.place, file_side.digest
    new_file = file(row_side.digest, place=where, path=path)
    agreed = base(row_side.digest, version=row_side.version, place=row_side.place, path=path)
    return world.having(base=agreed, file=new_file, keeps=lost)


def to_row(world: World, move: Move) -> World:
    was = world.state
    if move is Move.FORGET:
        return world.having(base=None)
    assert isinstance(was.file, File)
    file_side = was.file
    agreed = new_base(was, file_side)
    if move in (Move.INSERT, Move.REINSERT):
        new_row = row(file_side.digest, version=max(world.history, default=0) + 1, place=file_side.place)
        return world.having(base=replace(agreed, version=new_row.version), row=new_row)
    row_side = was.row
    assert row_side is not None
    if move is Move.REVIVE:
        alive = row(file_side.digest, version=row_side.version + 1, place=file_side.place)
        return world.having(base=replace(agreed, version=alive.version), row=alive)
    if move is Move.TO_ROW:
        new = replace(row_side, kind=file_side.kind, digest=file_side.digest, version=row_side.version + 1)
        return world.having(base=replace(agreed, version=new.version), row=new)
    if move is Move.MERGE:
        saved = world.having(row=replace(row_side, digest=file_side.digest, version=row_side.version + 1))
        joined = replace(row_side, digest=MERGED, version=row_side.version + 2)
        return saved.having(base=replace(agreed, version=row_side.version), row=joined)
    keeps = file_side.digest if move is Move.SIBLING else None
    return world.having(base=agreed, keeps=keeps)


def sides(world: World) -> tuple[Base | None, File, Row]:
    file_side, row_side = world.state.file, world.state.row
    assert isinstance(file_side, File)
    assert row_side is not None
    return world.state.base, file_side, row_side


def worlds() -> Iterator[World]:
    """Every combination of contents and places that can come to be, under the usual and the adoption rules."""
    texts = (A, B, C, OLD, NO_TEXT)
    places = (HERE, THERE, ELSEWHERE, INDEX)
    bases = [None, base(A), base(NO_TEXT), base(A, path=None), base(A, place=INDEX, path=PATHS[INDEX])]
    files = [None, *(file(text, place=place, path=PATHS[place]) for text, place in product(texts, places))]
    for agreed, file_side, row_side, adopting in product(bases, files, [None, *rows()], (False, True)):
        if row_side is not None and agreed is not None and _impossible(agreed, row_side):
            continue
        history = {1: OLD, **({agreed.version: agreed.digest} if agreed else {})}
        yield World(state(agreed, file_side, None), history, adopting=adopting).having(row=row_side)


def rows() -> Iterator[Row]:
    for text, place, (placed, ahead), deleted in product(
        (A, B, NO_TEXT, None), (HERE, THERE, INDEX), ((True, ()), (False, ()), (True, ("title",))), (False, True)
    ):
        for version in (2, 3):
            yield row(text, version=version, place=place, placed=placed, deleted=deleted, ahead=ahead)


def _impossible(agreed: Base, row_side: Row) -> bool:
    """A version is one text, one place."""
    changed = (row_side.digest, row_side.place, row_side.placed, row_side.ahead, row_side.deleted) != (
        agreed.digest,
        agreed.place,
        True,
        frozenset(),
        False,
    )
    return changed == (row_side.version == agreed.version)


def course(world: World) -> list[tuple[World, Decision]]:
    """What the engine does until it has nothing to do, but at most twice as long as it should."""
    steps_taken: list[tuple[World, Decision]] = []
    while (decision := world.decide()).step is not Step.NOTHING and len(steps_taken) < 2 * LONGEST:
        steps_taken.append((world, decision))
        world = after(world, decision)
    return [*steps_taken, (world, decision)]


@pytest.fixture(scope="module")
def courses() -> list[list[tuple[World, Decision]]]:
    return [course(world) for world in worlds()]


def test_every_course_comes_to_rest_in_a_few_steps(courses: list[list[tuple[World, Decision]]]) -> None:
    assert len(courses) > 10_000
    assert [steps_taken for steps_taken in courses if len(steps_taken) - 1 > LONGEST] == []


def test_at_rest_both_sides_and_the_base_are_equal(courses: list[list[tuple[World, Decision]]]) -> None:
    for steps_taken in courses:
        end = steps_taken[-1][0].state
        if end.row is None or end.row.deleted:
            assert (end.file, end.base) == (None, None)
        else:
            assert end.base is not None
            assert isinstance(end.file, File)
            assert end.file.digest == end.row.digest == end.base.digest
            assert end.row.version == end.base.version
            assert is_same_place(end, end.file.place, end.row.place)
            assert is_same_place(end, end.base.place, end.row.place)
            assert end.base.path == end.file.path


def test_no_text_is_ever_lost_on_the_way(courses: list[list[tuple[World, Decision]]]) -> None:
    for steps_taken in courses:
        first, last = steps_taken[0][0], steps_taken[-1][0]
        assert first.texts - {NO_TEXT} <= last.texts


def test_a_place_never_costs_an_edit_and_an_edit_never_a_place(courses: list[list[tuple[World, Decision]]]) -> None:
    """L10: where both sides live, the text at the end is what it would be had nothing moved."""
    still = {
        _unmoved(steps_taken[0][0]): steps_taken[-1][0].state for steps_taken in courses if _lives(steps_taken[0][0])
    }
    for steps_taken in courses:
        first = steps_taken[0][0]
        if _lives(first) and _unmoved(first) in still:
            assert _text(steps_taken[-1][0].state) == _text(still[_unmoved(first)])


def _lives(world: World) -> bool:
    is_in_both = world.state.base is not None and isinstance(world.state.file, File)
    return is_in_both and world.state.row is not None and not world.state.row.deleted


def _unmoved(world: World) -> tuple[object, ...]:
    agreed, file_side, row_side = sides(world)
    assert agreed is not None
    return agreed.digest, file_side.digest, row_side.digest, row_side.ahead, world.adopting


def _text(end: State) -> Digest | None:
    return end.row.digest if end.row is not None else None


LOCATIONS = {
    "L1 same, same": (HERE, HERE, HERE, PlaceMove.NOTHING, HERE),
    "L2 moved, same": (HERE, THERE, HERE, PlaceMove.TO_ROW, THERE),
    "L3 same, moved": (HERE, HERE, THERE, PlaceMove.TO_FILE, THERE),
    "L4 moved, moved, equal": (HERE, THERE, THERE, PlaceMove.ADOPT, THERE),
    "L5 moved, moved, different": (HERE, THERE, ELSEWHERE, PlaceMove.TO_FILE, ELSEWHERE),
    "L8 another spelling in files": (HERE, Place(None, "page"), HERE, PlaceMove.TO_ROW, Place(None, "page")),
    "L8 another spelling in rows": (HERE, HERE, Place(None, "PAGE"), PlaceMove.TO_FILE, Place(None, "PAGE")),
    "promoted in files": (HERE, INDEX, HERE, PlaceMove.TO_ROW, INDEX),
    "promoted in rows": (HERE, HERE, INDEX, PlaceMove.TO_FILE, INDEX),
}
PATHS |= {place: f"{place.name}.md" for place in (Place(None, "page"), Place(None, "PAGE"))}
EDITS = {
    "unedited": (A, A, A),
    "edited in files": (B, A, B),
    "edited in rows": (A, C, C),
    "edited in both": (B, C, MERGED),
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("location", LOCATIONS.values(), ids=LOCATIONS)
def test_the_places_table_holds_whatever_is_edited(
    location: tuple[Place, Place, Place, PlaceMove, Place], edits: tuple[Digest, Digest, Digest]
) -> None:
    was, file_place, row_place, move, end = location
    saved, written, text = edits
    version = 2 + (row_place != was) + (written != A)
    world = World(
        state(
            base(A, place=was),
            file(saved, place=file_place, path=PATHS[file_place]),
            row(written, place=row_place, version=version),
        ),
        {1: OLD, 2: A, version: written},
    )
    first = world.decide()
    if move is not PlaceMove.ADOPT:
        assert first.place is move
    last = course(world)[-1][0].state
    assert last.row is not None
    assert isinstance(last.file, File)
    assert (last.row.place, last.file.place) == (end, end)
    assert (last.row.digest, last.file.digest) == (text, text)
