"""Settle conflicts as an app does: write under the versions that were seen."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from starlette.exceptions import HTTPException

from mirrord.db import open_issues
from mirrord.db.content import entry_edits
from mirrord.db.content.entry_edits import CurrentEntry
from mirrord.db.content.record_rows import fault_in
from mirrord.db.database import Connection
from mirrord.domain.entry import Digest, Kind, TenantId
from mirrord.errors import Damaged, Refused, UserError
from mirrord.operations import conflict_resolution
from mirrord.operations.conflict_resolution import Choice, Content, Dispute
from mirrord.operations.three_way_diff import mark_conflicts
from mirrord.sync.writing.entry_bodies import media_type_of
from mirrord.web.media_types import is_picture
from mirrord.web.rows import file_rows, page_rows

CHOICES_BY_NAME: Mapping[str, Choice] = MappingProxyType(
    {"file": Choice.FILE, "row": Choice.ROW, "merged": Choice.MERGED}
)
SIDES = ("base", "file", "row")
_MAX_CONFLICTS = 50


async def load_conflicts(connection: Connection, tenant: TenantId) -> list[dict[str, Any]]:
    """Open conflicts with all their current texts, oldest first."""
    rows = await open_issues.list_conflicts(connection, tenant)
    return [_facts(await conflict_resolution.load_dispute(connection, tenant, row.id)) for row in rows[:_MAX_CONFLICTS]]


def _facts(dispute: Dispute) -> dict[str, Any]:
    conflict, entry = dispute.conflict, dispute.entry
    has_text = conflict.kind is not Kind.ATTACHMENT and entry is not None
    row = (entry.text if entry else None) or ""
    file = conflict_resolution.file_text(dispute) if conflict.kind is not Kind.ATTACHMENT else None
    sides = [side for side in SIDES if digest_of_side(dispute, side)] if conflict.kind is Kind.ATTACHMENT else []
    return {
        "number": conflict.id,
        "kind": conflict.kind,
        "page": conflict.entry,
        "sibling": conflict.sibling,
        "path": conflict.path,
        "at": conflict.created_at.isoformat() if conflict.created_at else None,
        "seen": dispute.versions,
        "base": conflict.base_text,
        "file": file,
        "row": row if conflict.kind is not Kind.ATTACHMENT else None,
        "sides": sides,
        "is_picture": is_picture(conflict.path),
        "marked": mark_conflicts(conflict.base_text, file or "", row) if has_text else None,
        "page_changed": dispute.entry_changed,
        "sibling_changed": dispute.sibling_changed,
        "can": [name for name, choice in CHOICES_BY_NAME.items() if _objection_to(dispute, choice) is None],
        "why_not": _objection_to(dispute, Choice.FILE),
    }


def _objection_to(dispute: Dispute, choice: Choice) -> str | None:
    """The reason why an app cannot carry out that choice; None: it can."""
    kind = dispute.conflict.kind
    if kind is Kind.RECORD and choice is Choice.FILE and (fault := _fault_in_file(dispute)) is not None:
        return f"The file's text cannot be parsed: {fault}. Correct it and take the merged text, or take the row's."
    if kind is Kind.ATTACHMENT and choice is Choice.MERGED:
        return "An attachment has no text to merge: take one of the two."
    if kind is Kind.ATTACHMENT and choice is Choice.FILE and digest_of_side(dispute, "file") is None:
        return "The file's bytes were deleted with the sibling; take the row's."
    return conflict_resolution.objection(dispute, choice, dispute.versions)


async def resolve_conflict(
    connection: Connection, tenant: TenantId, number: int, choice: Choice, seen_versions: str, text: str | None
) -> None:
    """
    Carry out a choice in the open transaction. text: the merged one.

    Raises UserError if the choice is impossible, 409 if something changed meanwhile.
    """
    dispute = await conflict_resolution.load_dispute(connection, tenant, number)
    if seen_versions != dispute.versions:
        raise HTTPException(
            409, f"{dispute.conflict.path!r} changed meanwhile. It is shown as it is now: choose again."
        )
    if objection := _objection_to(dispute, choice) or conflict_resolution.objection(dispute, choice, seen_versions):
        raise UserError(objection)
    if choice is Choice.MERGED and text is None:
        raise UserError("The merged text is missing.")
    try:
        content = conflict_resolution.choose_content(dispute, choice, (text or "").encode())
        is_written = await _write_choice(connection, tenant, dispute, choice, content)
    except (Refused, Damaged) as error:
        raise UserError(str(error)) from error
    if not is_written:
        raise HTTPException(409, f"{dispute.conflict.path!r} was just changed; review it, then try again.")


def _fault_in_file(dispute: Dispute) -> str | None:
    """The reason why the file's text of a record cannot be parsed; None: it can."""
    entry = dispute.entry
    return fault_in(entry.place.name, conflict_resolution.file_text(dispute)) if entry is not None else None


def digest_of_side(dispute: Dispute, side: str) -> Digest | None:
    """The digest of an attachment's current bytes on one of SIDES; None: unknown or deleted."""
    if side == "base":
        return dispute.conflict.base_digest
    entry = dispute.sibling if side == "file" else dispute.entry
    return entry.digest if entry is not None else None


async def _write_choice(
    connection: Connection, tenant: TenantId, dispute: Dispute, choice: Choice, content: Content | None
) -> bool:
    """False: another writer was faster."""
    conflict, entry, sibling = dispute.conflict, dispute.entry, dispute.sibling
    # first, so that no trigger takes the following writes for the resolution
    if conflict.kind is Kind.RECORD and not await file_rows.resolve_conflict(connection, conflict.id, choice):
        return False
    if content is not None:
        assert entry is not None  # _objection_to() checked it
        with conflict_resolution.refusing_used_names(entry):
            if not await _write_content(connection, entry, content):
                return False
    return sibling is None or sibling.deleted or await entry_edits.delete_entry(connection, tenant, sibling)


async def _write_content(connection: Connection, entry: CurrentEntry, content: Content) -> bool:
    if content.text is None:
        assert content.digest is not None  # as above
        size, media_type = content.size, media_type_of(entry.place.name)
        return await file_rows.replace_attachment(
            connection, entry.entry, entry.version, content.digest, size, media_type
        )
    if entry.kind is Kind.RECORD:
        is_current = entry.text == content.text and not entry.deleted
        return is_current or await file_rows.write_text(connection, entry.entry, entry.version, content.text)
    version = await page_rows.revive_page(connection, entry.entry) if entry.deleted else entry.version
    return (
        version is not None
        and await page_rows.write_markdown(connection, entry.entry, version, content.text) is not None
    )
