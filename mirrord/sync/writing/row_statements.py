"""The statements that write one decision to rows, and the base that both sides agree on afterwards."""

from dataclasses import dataclass, replace

from mirrord.db.content import stored_bytes
from mirrord.db.content.entry_writes import AttachmentContent, Body, Statement, StatementBuilder
from mirrord.db.database import Connection
from mirrord.domain.entry import Base, File, Row, State, operation_id
from mirrord.domain.place import name_key
from mirrord.sync.decisions.entry_decision import Decision, Move, PlaceMove
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.writing.target_paths import agreed_base, moved_base


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """A decision for a row with the content of its file. data: b"" if the content stays as it is."""

    decision: Decision
    data: bytes
    body: Body


async def statements_for(
    connection: Connection, sides: Sides, prepared: PreparedWrite, name: str | None
) -> list[Statement]:
    """
    The statements for one decision; the result of the last shows whether it took effect.

    name: of a single row that may not have its file's name. Attachments' bytes are stored at once.
    """
    state, writer = prepared.decision.state, sides.writer
    if prepared.decision.move is Move.FORGET:
        return [writer.delete_base(state.entry)]
    file, row = state.file, state.row
    assert isinstance(file, File)
    if prepared.decision.place is PlaceMove.TO_ROW:
        assert row is not None
        assert state.base is not None
        agreed = moved_base(agreed_base(state.base, file, row), file.kind, file.path, file.place)
        place = file.place if name is None else replace(file.place, name=name)
        return [*_make_room(writer, agreed, file), writer.move(agreed, row.version, place, name_key(place.name))]
    base = new_base(state, file)
    if isinstance(prepared.body, AttachmentContent):
        await stored_bytes.store_blob(connection, sides.tenant, base.digest, prepared.data)
    return [*_make_room(writer, base, file), _content_statement(sides, prepared, base, row, name)]


def _make_room(writer: StatementBuilder, base: Base, file: File) -> list[Statement]:
    """The statement that frees the path of *base*, if another base may have it."""
    return [writer.clear_path_of_others(base)] if file.is_contested or base.path != file.path else []


def _content_statement(
    sides: Sides, prepared: PreparedWrite, base: Base, row: Row | None, name: str | None
) -> Statement:
    writer, move = sides.writer, prepared.decision.move
    place = base.place if name is None else replace(base.place, name=name)
    if move is Move.REINSERT:
        return writer.reinsert(base, place, name_key(place.name), prepared.body)
    if move is Move.INSERT:
        return writer.insert(base, place, name_key(place.name), prepared.body)
    assert row is not None
    if move is Move.REVIVE:
        return writer.revive(base, row.version, place, name_key(place.name), prepared.body)
    if move is Move.TO_ROW:
        return update_statement(sides, prepared, base)
    return writer.store_base(_without_deletion(base, prepared.decision.state))


def _without_deletion(base: Base, state: State) -> Base:
    """*base* with the version before the row's deletion, which the file has yet to follow."""
    if state.row is None or not state.row.deleted or state.base is None:
        return base
    return replace(base, version=state.base.version)


def update_statement(sides: Sides, prepared: PreparedWrite, base: Base) -> Statement:
    """The statement that gives the row of a known entry the content of its file."""
    state = prepared.decision.state
    assert state.row is not None
    parent_version = state.base.version if state.base is not None else state.row.version
    operation = operation_id(sides.mirror, base.entry, parent_version, base.digest)
    return sides.writer.update(base, state.row, prepared.body, operation)


def new_base(state: State, file: File) -> Base:
    """The base once *file*'s content is in the row. A differing place is kept from the old base: it is moved later."""
    row, base = state.row, state.base
    place = file.place
    if base is not None and row is not None and not row.deleted and file.place != row.place:
        place = replace(base.place, index=file.place.index)
    return Base(state.entry, file.kind, file.path, place, row.version if row else 0, file.digest, file.claimed)
