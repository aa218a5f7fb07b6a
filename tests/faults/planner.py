"""The pure decisions applied to a model: two mirrors and a database in memory, hundreds of histories a second."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from mirrord.domain.entry import Base, Digest, EntryId, File, Kind, Place, Row, State, digest_of
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove, Step, decide

Text = tuple[str, ...]  # tokens, one a line
NAMES = ("A", "B", "C")
ROUNDS = 30  # looks at everything after which two mirrors that still act are taken to act for ever


@dataclass(frozen=True, slots=True)
class Page:
    """A row of the model."""

    text: Text
    place: Place
    version: int = 1
    deleted: bool = False


@dataclass(slots=True)
class Mirror:
    """Files and bases by entry."""

    files: dict[EntryId, tuple[Text, Place]] = field(default_factory=dict)
    bases: dict[EntryId, Base] = field(default_factory=dict)


@dataclass(slots=True)
class Model:
    """
    What the sides hold, and what must not be lost.

    history: every text a row ever had, with its version. trashed: texts in a trash.
    owed: tokens that somebody wrote and nobody destroyed before they were read.
    """

    chance: random.Random
    rows: dict[EntryId, Page] = field(default_factory=dict)
    history: dict[EntryId, dict[Text, int]] = field(default_factory=dict)
    mirrors: tuple[Mirror, Mirror] = field(default_factory=lambda: (Mirror(), Mirror()))
    trashed: list[Text] = field(default_factory=list)
    owed: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def token(self) -> str:
        """A new one, owed from now on."""
        token = f"t{next(self.numbers)}"
        self.owed.add(token)
        return token

    def put(self, entry: EntryId, page: Page) -> None:
        """Write a row; its text is history."""
        self.rows[entry] = page
        self.history.setdefault(entry, {})[page.text] = page.version

    def known_tokens(self) -> set[str]:
        """Every token in the history of some row."""
        return {token for texts in self.history.values() for text in texts for token in text}

    def destroy(self, text: Text) -> None:
        """The user overwrites or deletes a file: what was never read is nobody's duty."""
        self.owed -= set(text) - self.known_tokens()

    def found(self) -> set[str]:
        """Every token that can be found again."""
        trees = {token for mirror in self.mirrors for text, _ in mirror.files.values() for token in text}
        return self.known_tokens() | trees | {token for text in self.trashed for token in text}


def _digest(text: Text) -> Digest:
    return digest_of("\n".join(("page", *text)).encode())


def _some(model: Model, entries: Sequence[EntryId]) -> EntryId | None:
    return model.chance.choice(entries) if entries else None


def make_file(model: Model, mirror: Mirror) -> None:
    mirror.files[_id(model)] = ((model.token(),), Place(None, model.chance.choice(NAMES)))


def edit_file(model: Model, mirror: Mirror) -> None:
    if entry := _some(model, list(mirror.files)):
        text, place = mirror.files[entry]
        mirror.files[entry] = ((*text, model.token()), place)


def replace_file(model: Model, mirror: Mirror) -> None:
    if entry := _some(model, list(mirror.files)):
        text, place = mirror.files[entry]
        model.destroy(text)
        mirror.files[entry] = ((model.token(),), place)


def move_file(model: Model, mirror: Mirror) -> None:
    if entry := _some(model, list(mirror.files)):
        mirror.files[entry] = (mirror.files[entry][0], Place(None, model.chance.choice(NAMES)))


def delete_file(model: Model, mirror: Mirror) -> None:
    if entry := _some(model, list(mirror.files)):
        model.destroy(mirror.files.pop(entry)[0])


def make_row(model: Model, _: Mirror) -> None:
    model.put(_id(model), Page((model.token(),), Place(None, model.chance.choice(NAMES))))


def edit_row(model: Model, _: Mirror) -> None:
    if entry := _some(model, [entry for entry, row in model.rows.items() if not row.deleted]):
        row = model.rows[entry]
        model.put(entry, replace(row, text=(*row.text, model.token()), version=row.version + 1))


def move_row(model: Model, _: Mirror) -> None:
    if entry := _some(model, [entry for entry, row in model.rows.items() if not row.deleted]):
        row = model.rows[entry]
        model.put(entry, replace(row, place=Place(None, model.chance.choice(NAMES)), version=row.version + 1))


def delete_row(model: Model, _: Mirror) -> None:
    if entry := _some(model, [entry for entry, row in model.rows.items() if not row.deleted]):
        row = model.rows[entry]
        model.put(entry, replace(row, deleted=True, version=row.version + 1))


def restore_row(model: Model, _: Mirror) -> None:
    if entry := _some(model, [entry for entry, row in model.rows.items() if row.deleted]):
        row = model.rows[entry]
        model.put(entry, replace(row, deleted=False, version=row.version + 1))


def step(model: Model, mirror: Mirror) -> None:
    """The daemon of one mirror carries out one decision."""
    if entry := _some(model, list(_entries(model, mirror))):
        carry_out(model, mirror, entry)


def step_and_die(model: Model, mirror: Mirror) -> None:
    """It is killed after the file is written and before the base is."""
    if entry := _some(model, list(_entries(model, mirror))):
        before = mirror.bases.get(entry)
        if carry_out(model, mirror, entry).step is Step.FILE:
            mirror.bases.pop(entry, None)
            if before is not None:
                mirror.bases[entry] = before


ACTS: tuple[Callable[[Model, Mirror], None], ...] = (
    *(make_file, edit_file, replace_file, move_file, delete_file),
    *(make_row, edit_row, move_row, delete_row, restore_row, step, step_and_die),
)


def carry_out(model: Model, mirror: Mirror, entry: EntryId) -> Decision:
    """Decide on one entry of one mirror, and do it."""
    state = _state(model, mirror, entry)
    base_version = model.history.get(entry, {}).get(mirror.files[entry][0]) if entry in mirror.files else None
    decision = decide(state, seen_version=base_version, adopting=False)
    if decision.step is Step.ROW:
        _to_row(model, mirror, decision)
    elif decision.step is Step.FILE:
        _to_file(model, mirror, decision)
    elif decision.step is Step.DELETE:
        _delete(model, mirror, decision)
    return decision


def _to_row(model: Model, mirror: Mirror, decision: Decision) -> None:
    entry = decision.state.entry
    row = model.rows.get(entry)
    if decision.move is Move.FORGET:
        del mirror.bases[entry]
        return
    text, place = mirror.files[entry]
    if decision.place is PlaceMove.TO_ROW:
        assert row is not None
        moved = replace(row, place=place, version=row.version + 1)
        model.put(entry, moved)
        mirror.bases[entry] = replace(mirror.bases[entry], place=place, version=moved.version)
    elif decision.move in (Move.INSERT, Move.REINSERT):
        model.put(entry, Page(text, place))
        mirror.bases[entry] = _base(entry, model.rows[entry], text)
    elif decision.move in (Move.MERGE, Move.SIBLING):
        _settle(model, mirror, decision)
    else:
        assert row is not None
        if decision.move is not Move.ADOPT:
            row = replace(row, text=text, version=row.version + 1, deleted=False)
            row = replace(row, place=place) if decision.move is Move.REVIVE else row
            model.put(entry, row)
        mirror.bases[entry] = _base(entry, row, text)


def _settle(model: Model, mirror: Mirror, decision: Decision) -> None:
    """A merge where chance lets one be possible, else a sibling; the file follows in the next step."""
    entry, row = decision.state.entry, model.rows[decision.state.entry]
    text, _ = mirror.files[entry]
    ancestor = _ancestor(model, mirror, entry)
    if decision.move is Move.MERGE and ancestor is not None and model.chance.random() < 0.5:
        missing_words = set(ancestor) - set(text)
        joined = tuple(dict.fromkeys([token for token in row.text if token not in missing_words] + list(text)))
        model.put(entry, replace(row, text=text, version=row.version + 1))
        model.put(entry, replace(row, text=joined, version=row.version + 2))
    else:
        model.put(_id(model), Page(text, Place(None, f"{row.place.name} (conflict {next(model.numbers)})")))
    mirror.bases[entry] = _base(entry, row, text)


def _ancestor(model: Model, mirror: Mirror, entry: EntryId) -> Text | None:
    """None: what was agreed on last is the text of a sibling, not of the row."""
    base = mirror.bases.get(entry)
    return next((text for text in model.history[entry] if base and _digest(text) == base.digest), None)


def _to_file(model: Model, mirror: Mirror, decision: Decision) -> None:
    entry, row = decision.state.entry, model.rows[decision.state.entry]
    if decision.place is PlaceMove.TO_FILE:
        mirror.files[entry] = (mirror.files[entry][0], row.place)
        mirror.bases[entry] = replace(mirror.bases[entry], place=row.place)
        return
    if entry in mirror.files:
        model.trashed.append(mirror.files[entry][0])
    mirror.files[entry] = (row.text, row.place)
    mirror.bases[entry] = _base(entry, row, row.text)


def _delete(model: Model, mirror: Mirror, decision: Decision) -> None:
    entry = decision.state.entry
    if decision.move is Move.ENTOMB:
        row = model.rows[entry]
        model.put(entry, replace(row, deleted=True, version=row.version + 1))
    else:
        model.trashed.append(mirror.files.pop(entry)[0])
    del mirror.bases[entry]


def _base(entry: EntryId, row: Page, text: Text) -> Base:
    return Base(entry, Kind.PAGE, str(entry), row.place, row.version, _digest(text), None)


def _state(model: Model, mirror: Mirror, entry: EntryId) -> State:
    page, text_and_place = model.rows.get(entry), mirror.files.get(entry)
    file = None
    if text_and_place is not None:
        file = File(Kind.PAGE, str(entry), text_and_place[1], _digest(text_and_place[0]))
    row = Row(entry, Kind.PAGE, page.place, True, page.version, _digest(page.text), page.deleted) if page else None
    return State(entry, mirror.bases.get(entry), file, row)


def _entries(model: Model, mirror: Mirror) -> dict[EntryId, None]:
    return dict.fromkeys([*model.rows, *mirror.files, *mirror.bases])


def _id(model: Model) -> EntryId:
    return EntryId(UUID(int=model.chance.getrandbits(128)))


def live(seed: int, acts: Sequence[Callable[[Model, Mirror], None]] | None = None, length: int = 20) -> list[str]:
    """One history, then quiet; sentences about what does not hold. acts: None: chosen by the seed."""
    model = Model(random.Random(seed))
    for act in acts if acts is not None else model.chance.choices(ACTS, k=length):
        act(model, model.chance.choice(model.mirrors))
    return _settled(model) or [*_lost(model), *_unequal(model)]


def _settled(model: Model) -> list[str]:
    for _ in range(ROUNDS):
        steps = [carry_out(model, mirror, entry).step for mirror in model.mirrors for entry in _entries(model, mirror)]
        if set(steps) <= {Step.NOTHING}:
            return []
    return [f"RESTLESS after {ROUNDS} rounds"]


def _lost(model: Model) -> Iterator[str]:
    yield from (f"LOST {token}" for token in sorted(model.owed - model.found()))


def _unequal(model: Model) -> Iterator[str]:
    living = {entry: (row.text, row.place) for entry, row in model.rows.items() if not row.deleted}
    for mirror in model.mirrors:
        if mirror.files != living:
            yield f"UNEQUAL files {mirror.files} and rows {living}"
        versions = {entry: row.version for entry, row in model.rows.items() if not row.deleted}
        if {entry: base.version for entry, base in mirror.bases.items()} != versions:
            yield f"UNEQUAL bases {mirror.bases} and versions {versions}"
