"""What became of writes: the outcome of decisions, and of rows that refused theirs."""

from dataclasses import dataclass, field, replace

import psycopg

from mirrord.db.content import entry_states
from mirrord.db.content.altered_rows import OMITTED, refusal_of
from mirrord.db.content.entry_writes import run_statements
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import Digest, EntryId, File, Row
from mirrord.errors import ContentLost, Damaged, UserError
from mirrord.mirror.tree.tree_layout import printable
from mirrord.mirror.write.replace import DisplacedSave
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.target_paths import directory_above, path_in


@dataclass(slots=True)
class Outcome:
    """
    The outcome of decisions.

    carried_out: the base is recorded. stale: look again now. later: look again in a while. refused: moves that would
    put a page below itself, because rows moved meanwhile. hindered_by: by entry that waits, the entries in its way, to
    be looked at together. barred: entries that wait for a mount, to be looked at with the whole tree. renamed: files
    and directories, (old, new). unsure: paths where a call failed, so that the tree there and below is unknown.
    reformed: paths of moved entries that are of another kind than their base. carried_along: entries whose files went
    along with the directory of another entry than their parent.
    """

    carried_out: list[Decision] = field(default_factory=list)
    stale: list[Decision] = field(default_factory=list)
    later: list[Decision] = field(default_factory=list)
    refused: list[Decision] = field(default_factory=list)
    hindered_by: dict[EntryId, set[EntryId]] = field(default_factory=dict)
    barred: set[EntryId] = field(default_factory=set)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
    reformed: set[str] = field(default_factory=set)
    carried_along: set[EntryId] = field(default_factory=set)
    troubles: list[Problem] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Add the outcome of further decisions."""
        self.carried_out += other.carried_out
        self.stale += other.stale
        self.later += other.later
        self.refused += other.refused
        self.hindered_by |= other.hindered_by
        self.barred |= other.barred
        self.renamed += other.renamed
        self.unsure |= other.unsure
        self.reformed |= other.reformed
        self.carried_along |= other.carried_along
        self.troubles += other.troubles


@dataclass(slots=True)
class FileOutcome(Outcome):
    """
    The outcome of writing files.

    written_paths: entry by path that holds its row's text, or is its folder.
    displaced_saves: saves between look and write, with row, path and expected digest.
    occupied_paths: entry that wants it by path that is occupied, perhaps by an own write whose base was never recorded.
    vacated_paths: the same by path that was occupied at an earlier attempt: its file may have been renamed.
    """

    written_paths: dict[str, EntryId] = field(default_factory=dict)
    displaced_saves: list[tuple[Row, str, Digest | None, DisplacedSave]] = field(default_factory=list)
    occupied_paths: dict[str, EntryId] = field(default_factory=dict)
    vacated_paths: dict[str, EntryId] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    Views that cannot be written as text without a loss; row and file stay as they are.

    code: of the problem that lists them.
    """

    entry: EntryId
    code: str
    sentence: str


def refusal_of_page(entry: EntryId, error: Damaged) -> Refusal:
    """The refusal of views of a page, with what a person may do about it."""
    if not isinstance(error, ContentLost):
        return Refusal(entry, "render", str(error))
    loss = str(error)
    sentence = (
        f"{loss[:1].upper()}{loss[1:]}. The file and `markdown` stay as they are. Write the document again with what "
        f"is missing, or, if it is to go, SELECT mirrord.confirm_content('{entry}')."
    )
    return Refusal(entry, "content-lost", sentence)


def concerns_rows(error: psycopg.Error | UserError) -> bool:
    """Whether *error* is about single rows, so that others can be written without them."""
    return isinstance(error, psycopg.errors.IntegrityError) or refusal_of(error) is not None


async def judge_failure(sides: Sides, decision: Decision, error: psycopg.Error | UserError) -> Outcome | None:
    """The outcome of a write that failed with *error*; None: a sibling has the name, and another one is to be tried."""
    if (refusal := refusal_of(error)) is not None:
        return refused_outcome(decision, refusal)
    if isinstance(error, psycopg.errors.CheckViolation):
        return Outcome(refused=[decision])
    if not isinstance(error, psycopg.errors.UniqueViolation):
        return Outcome(stale=[decision])  # the parent was deleted meanwhile
    constraint = error.diag.constraint_name or ""
    if constraint == "record_key_is_free":
        return await _retry_or_report_namesake(sides, decision)
    is_name = "name_is_free" in constraint and isinstance(decision.state.file, File)
    return None if is_name else Outcome(stale=[decision])


def refused_outcome(decision: Decision, refusal: str, *, is_joint: bool = False) -> Outcome:
    """
    The outcome for a row that a trigger of an app refuses: both sides stay as they are, and it is tried again.

    is_joint: it may also be a row with which this one exchanges its name.
    """
    file, base = decision.state.file, decision.state.base
    path = file.path if file is not None else (base.path if base is not None else None) or str(decision.state.entry)
    sentence = refusal_sentence(path, refusal, is_joint=is_joint)
    problem = Problem(printable(path), "trigger", sentence, decision.state.entry)
    return Outcome(later=[decision], troubles=[problem])


def refusal_sentence(path: str, refusal: str, *, is_joint: bool = False) -> str:
    """What a problem says of a row that a trigger of an app refuses. is_joint: or one that exchanges names with it."""
    others = ", or of a page with which it exchanges its name" if is_joint else ""
    return (
        f"A trigger of an app refuses the row of {path!r}{others}: {refusal.rstrip('.')}. Both sides stay as they are."
    )


async def _retry_or_report_namesake(sides: Sides, decision: Decision) -> Outcome:
    """
    The outcome for a record whose name another row has: in that spelling, look again; in another case, a problem.

    In the first case the file may belong to the new row, and a deleted row gives it up: a record is what it is called.
    """
    file = decision.state.file
    assert isinstance(file, File)
    async with sides.database.transaction(sides.tenant, sides.fence) as connection:
        if not await entry_states.is_record_name(connection, sides.tenant, file.place.name):
            return Outcome(later=[decision], troubles=[_namesake_problem(decision, file)])
        if decision.move in (Move.REVIVE, Move.REINSERT):
            await run_statements(connection, [sides.writer.delete_base(decision.state.entry)])
    return Outcome(stale=[decision])


def _namesake_problem(decision: Decision, file: File) -> Problem:
    """The problem of two records whose names differ in case; a record's name cannot get a number."""
    sentence = f"{file.path!r} has the name of another record but for case; rename one of them, or delete it."
    return Problem(file.path, "in-the-way", sentence, decision.state.entry)


def twin_problem(decision: Decision, file: File, name: str) -> Problem:
    above = directory_above(file.path, file.kind, index=file.place.index)
    path = path_in(above, file.kind, replace(file.place, name=name))
    sentence = f"{path!r} was {file.path!r}: a sibling has the same name but for case or spelling, so it got a number."
    return Problem(path, "twin", sentence, decision.state.entry)


async def judge_unwritten(connection: Connection, sides: Sides, decision: Decision) -> Outcome:
    """The outcome of a write that matched no row: the row changed meanwhile, or a trigger of an app left it out."""
    rows = await entry_states.load_rows(connection, sides.tenant, [decision.state.entry])
    row, expected = rows.get(decision.state.entry), decision.state.row
    is_new = decision.move in (Move.INSERT, Move.REINSERT)
    is_write = decision.move in (Move.TO_ROW, Move.REVIVE, Move.ENTOMB) or decision.place is PlaceMove.TO_ROW
    is_as_expected = row is None if is_new else row is not None and expected is not None and is_write
    if is_as_expected and (row is None or expected is None or row.version == expected.version):
        return refused_outcome(decision, OMITTED)
    return Outcome(stale=[decision])
