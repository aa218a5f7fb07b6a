"""A person resolves a conflict: which text the page has, and that the sibling goes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from psycopg.errors import UniqueViolation

from mirrord.db import open_issues
from mirrord.db.content import entry_edits, entry_versions, stored_bytes
from mirrord.db.content.entry_edits import CurrentEntry
from mirrord.db.content.entry_writes import AttachmentContent
from mirrord.db.content.record_rows import fault_in, record_text
from mirrord.db.database import Connection, Database
from mirrord.db.open_issues import ConflictRow
from mirrord.domain.entry import MAX_FILE_BYTES, Actor, Digest, Kind, TenantId, digest_of, parse_id
from mirrord.domain.place import record_path
from mirrord.errors import Damaged, Refused, Stale, UserError
from mirrord.markdown.frontmatter.page_properties import REMOVED, with_keys
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.operations.three_way_diff import has_markers
from mirrord.sync.writing.entry_bodies import media_type_of, text_of, with_id


class Choice(StrEnum):
    """The content that wins."""

    FILE = "took-file"
    ROW = "took-row"
    MERGED = "took-merged"


@dataclass(frozen=True, slots=True)
class Dispute:
    """
    A conflict with both entries as they are now; None: purged, or the sibling of a record, which never exists.

    sibling_changed: its content is no longer the file's. nested_conflicts: numbers of conflicts about the sibling.
    """

    conflict: ConflictRow
    entry: CurrentEntry | None
    sibling: CurrentEntry | None
    sibling_changed: bool
    has_children: bool
    nested_conflicts: tuple[int, ...]

    @property
    def versions(self) -> str:
        """The versions shown to a person: `5/2`."""
        return f"{self.entry.version if self.entry else 0}/{self.sibling.version if self.sibling else 0}"

    @property
    def entry_changed(self) -> bool:
        """Whether the page or attachment changed since the conflict arose."""
        conflict, entry = self.conflict, self.entry
        if entry is None or entry.version == conflict.row_version:
            return False
        if entry.deleted or entry.is_unrendered:
            return True
        if conflict.kind is Kind.ATTACHMENT:
            return entry.digest != conflict.row_digest
        return entry.text != conflict.row_text


@dataclass(frozen=True, slots=True)
class Resolution:
    """
    A person's choice about an open conflict.

    data: the merged content, if that is the choice. seen_versions: the versions the person looked at, as
    Dispute.versions spells them; None: those at the time when the conflict arose.
    """

    number: int
    choice: Choice
    data: bytes | None = None
    seen_versions: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """
    The chosen content. text: of a page or record; None: of an attachment.

    digest, size: of an attachment's bytes. data: bytes that are not stored yet.
    """

    text: str | None = None
    digest: Digest | None = None
    size: int = 0
    data: bytes | None = None


async def load_dispute(connection: Connection, tenant: TenantId, number: int) -> Dispute:
    """An open conflict as it is now. Raises UserError if there is none of that number."""
    conflict = await open_issues.load_conflict(connection, tenant, number)
    if conflict is None:
        raise UserError(f"There is no open conflict {number}; `mirrord conflicts` lists them.")
    siblings = [conflict.sibling] if conflict.sibling is not None else []
    current = await entry_edits.load_entries(connection, tenant, [conflict.entry, *siblings])
    sibling = current.get(conflict.sibling) if conflict.sibling is not None else None
    return Dispute(
        conflict,
        current.get(conflict.entry),
        sibling,
        await _is_sibling_changed(connection, tenant, conflict, sibling),
        any([await entry_edits.has_children(connection, tenant, entry) for entry in siblings]),
        tuple(
            [
                number
                for entry in siblings
                for number in await open_issues.load_numbers_of_entry(connection, tenant, entry)
            ]
        ),
    )


async def resolve_conflict(database: Database, tenant: TenantId, actor: Actor, resolution: Resolution) -> Dispute:
    """
    Carry out a person's choice, all or nothing; returns the conflict as it was before.

    Raises:
        UserError: there is no such open conflict.
        Refused: there are changes that the person has not seen, or another conflict must be resolved first.
        Stale: an entry changed at this very moment.
        Damaged: the merged content is not text.
    """
    number, choice = resolution.number, resolution.choice
    async with database.transaction(tenant, actor=actor) as connection:
        dispute = await load_dispute(connection, tenant, number)
        if (why := objection(dispute, choice, resolution.seen_versions)) is not None:
            raise Refused(why)
        content = choose_content(dispute, choice, resolution.data)
        # first, so that no trigger takes the deletion of the sibling for the person's choice
        written = await open_issues.resolve_conflict(connection, tenant, number, choice)
        if content is not None:
            assert dispute.entry is not None  # objection() checked it
            with refusing_used_names(dispute.entry):
                written = written and await _store_content(connection, tenant, dispute.entry, content)
        if dispute.sibling is not None and not dispute.sibling.deleted:
            written = written and await entry_edits.delete_entry(connection, tenant, dispute.sibling)
        if not written:
            raise Stale(f"Conflict {number} was changed at this moment; look at it, then try again.")
    return dispute


def objection(dispute: Dispute, choice: Choice, seen_versions: str | None) -> str | None:
    """Why *choice* is not carried out, as a sentence; None: it can be."""
    number, path = dispute.conflict.id, dispute.conflict.path
    hint = f"`mirrord conflicts show {number}` shows how it is now"
    if dispute.nested_conflicts:
        listed = ", ".join(map(str, dispute.nested_conflicts))
        return f"The sibling of {path!r} is in a conflict itself: settle {listed} first."
    if dispute.has_children:
        return f"There are pages below the sibling of {path!r}; move them away first, or they would be deleted with it."
    if choice is not Choice.ROW and dispute.entry is None and dispute.conflict.kind is Kind.RECORD:
        return f"{path!r} is gone for good; {hint}, and you may save the text there as a new file."
    if choice is not Choice.ROW and dispute.entry is None:
        return f"{path!r} is gone for good. Rename the sibling: then it is a page of its own, and this is settled."
    if seen_versions is not None:
        is_current = seen_versions == dispute.versions
        return (
            None
            if is_current
            else f"{path!r} or its sibling changed since {seen_versions} (now {dispute.versions}); {hint}."
        )
    retry_hint = f"{hint}; if you still mean it, add `--seen {dispute.versions}`."
    if choice is not Choice.ROW and dispute.entry_changed:
        return f"{path!r} changed since the conflict arose; {retry_hint}"
    if dispute.sibling_changed:
        return f"The sibling of {path!r} changed since the conflict arose; {retry_hint}"
    return None


def file_text(dispute: Dispute) -> str:
    """The text that `take-file` gives the page: the file's, or the sibling's if that was edited since."""
    conflict, sibling = dispute.conflict, dispute.sibling
    if not dispute.sibling_changed or sibling is None or sibling.text is None:
        return conflict.file_text or ""
    shown_id = PageText(conflict.file_text or "").views.id
    return _restore_id(PageText(sibling.text), conflict, shown_id).text


def choose_content(dispute: Dispute, choice: Choice, merged: bytes | None) -> Content | None:
    """
    The content that *choice* gives the entry; None: it keeps its own.

    Raises:
        Refused: the merged content is too large, has conflict markers or cannot be read.
        Damaged: the merged content is not text.
    """
    if choice is Choice.ROW:
        return None
    if choice is Choice.FILE:
        return _sibling_bytes(dispute) if dispute.conflict.kind is Kind.ATTACHMENT else Content(file_text(dispute))
    assert merged is not None
    if len(merged) > MAX_FILE_BYTES:
        raise Refused(f"The content has {len(merged)} bytes; more than {MAX_FILE_BYTES} are not synced.")
    if dispute.conflict.kind is Kind.ATTACHMENT:
        return Content(digest=digest_of(merged), size=len(merged), data=merged)
    return Content(_merged_text(dispute, decode(merged)))


def _sibling_bytes(dispute: Dispute) -> Content:
    sibling = dispute.sibling
    if sibling is None:
        return Content(digest=dispute.conflict.file_digest)
    return Content(digest=sibling.digest, size=sibling.size or 0)


@contextmanager
def refusing_used_names(entry: CurrentEntry) -> Iterator[None]:
    """Raise Refused where a write within the `with` block restores a record whose name another one has."""
    try:
        yield
    except UniqueViolation as error:
        path = record_path(entry.place.name)
        raise Refused(f"Meanwhile there is another record called {path!r}; delete or rename that first.") from error


def _merged_text(dispute: Dispute, text: str) -> str:
    """
    A merged text as the entry's; it keeps the id that the page's text shows if the person dropped it.

    Raises Refused for a text with conflict markers.
    """
    if has_markers(text):
        raise Refused("There are conflict markers left in the text; nothing was written.")
    conflict = dispute.conflict
    if conflict.kind is Kind.RECORD:
        if why := _fault_of(dispute, text):
            raise Refused(f"The text cannot be read: {why}; nothing was written.")
        return text
    shown_id = PageText(conflict.row_text or "").views.id
    page = _restore_id(PageText(text), conflict, shown_id)
    has_id = parse_id(shown_id) == conflict.entry
    return (with_id(page, conflict.entry) if has_id and page.views.id is None else page).text


def _fault_of(dispute: Dispute, text: str) -> str | None:
    return fault_in(dispute.entry.place.name, text) if dispute.entry is not None else None


def _restore_id(page: PageText, conflict: ConflictRow, shown_id: str | None) -> PageText:
    """*page* with the id that the page shows, or none, in place of the sibling's id."""
    if parse_id(page.views.id) != conflict.sibling:
        return page
    try:
        return with_keys(page, {"id": REMOVED if shown_id is None else shown_id})
    except Damaged:
        return page


async def _store_content(connection: Connection, tenant: TenantId, entry: CurrentEntry, content: Content) -> bool:
    if content.text is not None and entry.kind is Kind.RECORD:
        body = record_text(entry.place.name, content.text)
        return await entry_edits.write_record(connection, tenant, entry, body) is not None
    if content.text is not None:
        return await entry_edits.write_text(connection, tenant, entry, text_of(PageText(content.text))) is not None
    assert content.digest is not None
    if content.data is not None:
        await stored_bytes.store_blob(connection, tenant, content.digest, content.data)
    attachment = AttachmentContent(content.size, media_type_of(entry.place.name))
    return await entry_edits.write_bytes(connection, tenant, entry, content.digest, attachment) is not None


async def _is_sibling_changed(
    connection: Connection, tenant: TenantId, conflict: ConflictRow, sibling: CurrentEntry | None
) -> bool:
    """Whether the sibling was edited since it was made; at first its text differs from the file's by the id only."""
    if sibling is None:
        return False
    if conflict.kind is Kind.ATTACHMENT:
        return sibling.digest != conflict.file_digest
    return sibling.is_unrendered or sibling.text != await entry_versions.load_text(connection, tenant, sibling.entry, 1)
