"""How commands write pages: only over the version that was seen, and never losing a concurrent save."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from mirrord.commands.core import command_events, page_paths
from mirrord.commands.core.failure import Failed, invalid_argument, page_modified, page_not_found, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages.plain_folders import find_plain_folder
from mirrord.domain.bound_page import BINDING_KEY, describe_bound_page
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId, digest_of, id_of_path, parse_id
from mirrord.domain.event import EventType
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.markdown.frontmatter.page_properties import with_keys
from mirrord.markdown.frontmatter.page_text import PageText, decode
from mirrord.markdown.frontmatter.summary_keys import Head, head_of
from mirrord.mirror.read.agreed_state import moved_entries
from mirrord.mirror.tree import contained_files
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.scoped_tree import check_writable
from mirrord.mirror.tree.tree_layout import parent_of
from mirrord.mirror.write import replace, written_copies
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label


@dataclass(frozen=True)
class Page:
    """A page as it is now."""

    path: str
    content: PageText
    digest: Digest
    stat: Stat

    @property
    def text(self) -> str:
        """All of its text."""
        return self.content.text

    @cached_property
    def head(self) -> Head:
        """Its front matter, parsed."""
        return head_of(self.content)


@dataclass(frozen=True, slots=True)
class Replacement:
    """
    The new content of a file, and what it replaces.

    label: of the write, with the digest that the file must have. seen_stat: its stat when it had that digest; None:
    unknown. has_copy: whether a copy tells the entry of these bytes, and keeps them for the daemon (decision 15).
    """

    path: str
    data: bytes
    label: Label
    seen_stat: Stat | None = None
    has_copy: bool = True


def find_page(session: Session, path: str) -> Page:
    """The page at *path*. Raises Failed if it is missing or unreadable."""
    page = look_up_page(session, path)
    if page is None:
        raise missing_page(session, path)
    return page


def look_up_page(session: Session, path: str, *, allow_open: bool = False) -> Page | None:
    """The page at *path*, or None. Raises Failed if it is unreadable. allow_open: as in read()."""
    location = page_paths.find_page_with_stat(session, path)
    return read_page_file(session, *location, allow_open=allow_open) if location is not None else None


def missing_page(session: Session, path: str) -> Failed:
    """Failure for a missing page or a folder without a page file, with the nearest existing pages."""
    if (folder := find_plain_folder(session, path)) is not None:
        sentence = f"{folder.path} is a folder without a page file."
        return Failed("PAGE_NOT_FOUND", "not_found", sentence, f"write_page at {folder.path} makes its page.")
    return page_not_found(path, session.catalogue.snapshot().similar_pages(path))


def read_page_file(session: Session, path: str, known_stat: Stat | None = None, *, allow_open: bool = False) -> Page:
    """
    Read the page whose file is at *path*.

    known_stat: its stat from a moment ago. allow_open: also read a file that a program has open for writing, to show
    it.
    """
    with translating_errors():
        try:
            with session.tree.open_file(path, known_stat) as descriptor:
                data, stat = _read_bytes(descriptor, path, allow_open=allow_open)
        except FileNotFoundError:
            raise page_not_found(path) from None
        return Page(path, PageText(decode(data), session.dialect), digest_of(data), stat)


def _read_bytes(descriptor: int, path: str, *, allow_open: bool) -> tuple[bytes, Stat]:
    try:
        return contained_files.read(descriptor, path, MAX_FILE_BYTES)
    except Busy:
        if not allow_open:
            raise
        return contained_files.read_held(descriptor, path, MAX_FILE_BYTES)


def id_of_page(session: Session, page: Page) -> EntryId:
    """
    The id of a page in Postgres.

    In order: the id the daemon noted for the unchanged file, the page's own `id:`, the id noted for the path, the id
    noted for the same file at another path, the id of a new file at this path.
    """
    agreed = session.catalogue.agreed.by_paths([page.path]).get(page.path)
    own_id = parse_id(page.head.id) if agreed is None or not agreed.matches(page.stat) else None
    return own_id or (agreed.entry if agreed is not None else _id_after_move(session, page.path, page))


def id_of_file(session: Session, path: str) -> EntryId:
    """The id in Postgres of a file that carries none: an attachment or a record."""
    agreed = session.catalogue.agreed.by_paths([path]).get(path)
    return agreed.entry if agreed is not None else _id_after_move(session, path)


def attachment_move(
    page: EntryId, attachment: EntryId, old_path: str, path: str
) -> tuple[EventType, Mapping[str, object]]:
    """The event of an attachment that goes to another folder with *page*."""
    facts = {"page_id": str(page), "attachment_id": str(attachment), "path": path, "old_path": old_path}
    return EventType.ATTACHMENT_MOVED, facts


def _id_after_move(session: Session, path: str, page: Page | None = None) -> EntryId:
    """page: what was read at *path*; None: nothing."""
    stat, digests = (None, {}) if page is None else (page.stat, {path: page.digest})
    with translating_errors():
        moved = moved_entries(session.tree, session.catalogue.agreed, {path: stat}, digests)
    return moved.get(path) or id_of_path(session.tenant_id, path)


def check_unchanged(session: Session, page: Page, expected: str | None) -> None:
    """
    Raises Failed, CONFLICT, unless *page* has the digest *expected*, or without one the digest last seen here.

    Before that it raises Failed, OUT_OF_SCOPE, for a page that may only be read, and READ_ONLY for the page of an app
    that is only read.
    """
    with translating_errors():
        check_writable(session.tree, page.path)
    refuse_bound(page)
    last_digest = _to_digest(expected) if expected is not None else session.last_digests.get(page.path)
    if last_digest is not None and last_digest != page.digest:
        raise page_modified(page.path)


def refuse_bound(page: Page) -> None:
    """Raises Failed, READ_ONLY, for the page of an app that is only read."""
    if BINDING_KEY not in page.content.source:
        return
    if (sentences := describe_bound_page(page.path, page.content.views.frontmatter or {})) is not None:
        raise Failed("READ_ONLY", "forbidden", *sentences, {"path": page.path})


def check_shown(session: Session, page: Page, expected: str | None) -> None:
    """As check_unchanged(); also raises Failed, READ_FIRST, unless this session was shown all of the current page."""
    check_unchanged(session, page, expected)
    memory = session.memory
    if memory.was_shown(page.path, page.digest) if expected is not None else memory.may_replace(page.path):
        return
    raise _read_first(page.path, is_known=expected is None and memory.was_shown(page.path, page.digest))


def _read_first(path: str, *, is_known: bool) -> Failed:
    """is_known: the current text was shown, but another client of this session may know an older one."""
    if is_known:
        sentence = f"{path} exists, and it is not sure that you know its newest text."
        instruction = "Give the expectedDigest that read_page or edit_page returned with the text that you change."
    else:
        sentence = f"{path} exists already and its whole text was not shown in this session."
        instruction = f"Read all of {path} first, or change a part of it with edit_page."
    return Failed("READ_FIRST", "conflict", sentence, instruction, {"path": path})


def overwrite_page(
    session: Session, journal: Journal, page: Page, data: bytes, *, part: bool = False
) -> tuple[EntryId, Digest]:
    """
    Replace *page* with *data* of `encode_rewrite`; return id and digest. Call it inside `writing()`.

    part: the session supplied only a part of the text.
    """
    entry, digest = id_of_page(session, page), digest_of(data)
    check_claimed_id(session, page, data, entry)
    if digest != page.digest:
        facts = {"page_id": str(entry), "path": page.path, "digest": digest.hex()}
        try:
            with _recording_write(session, page.path, facts) as record_event:
                is_known = session.draft is not None and parse_id(page.head.id) == entry  # no daemon reads a draft
                if session.draft is not None:  # applying it asks for the page's entry again
                    session.catalogue.note_claimed_id(page.digest, page.head.id)
                label = Label(entry, page.digest, digest)
                replacement = Replacement(page.path, data, label, page.stat, has_copy=not is_known)
                replace_file(session, journal, replacement, record_event)
        except Stale:
            raise concurrent_change(session, page.path) from None
    if part:
        session.memory.note_edit(page.path, digest)
    else:
        session.note_shown(page.path, digest)
    return entry, digest


def _recording_write(
    session: Session, path: str, facts: Mapping[str, object]
) -> AbstractContextManager[replace.AlsoSync]:
    """
    As recording_event() for a written page. A draft's claim says of its first text at *path* all that an event would:
    applying it compares both trees, and passes over the events of single writes.
    """
    if session.tree.lower is not None and session.tree.layer_of(path) is session.tree.lower:
        return nullcontext(replace.sync_nothing_else)
    return command_events.recording_event(session, EventType.PAGE_WRITTEN, facts)


def check_claimed_id(session: Session, page: Page, data: bytes, entry: EntryId) -> None:
    """Raises Failed for another id than the page's in a scope: what becomes of it would tell whether a page has it."""
    if session.tree.whole is session.tree:
        return
    claimed = parse_id(head_of(PageText(data.decode())).id)
    if claimed not in (None, entry, parse_id(page.head.id)):
        sentence = f"{page.path} has the id {entry}, and a token with patterns gives a page no other one."
        raise invalid_argument("INVALID_FRONT_MATTER", sentence, "Leave out the key id.")


def create_page_file(session: Session, journal: Journal, path: str, data: bytes, entry: EntryId) -> Digest:
    """
    Create a page at *path* and return its digest. Call it inside `writing()`, and record the event.

    Raises Stale if a file exists there.
    """
    digest = digest_of(data)
    replace_file(session, journal, Replacement(path, data, Label(entry, None, digest)))
    session.note_shown(path, digest)
    return digest


def encode_rewrite(page: Page, new: PageText) -> bytes:
    """Encode another text of *page*, keeping its id. Raises Failed as encode_page()."""
    return encode_page(_with_page_id(page, new).text)


def encode_page(text: str) -> bytes:
    """Encode a page. Raises Failed for half characters, NUL and excessive size."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise invalid_argument(
            "INVALID_PAGE", f"Character {error.start} of the text is half a character.", _OMIT_CHARACTER
        ) from None
    if "\0" in text:
        raise invalid_argument("INVALID_PAGE", f"Character {text.index(chr(0))} of the text is NUL.", _OMIT_CHARACTER)
    if len(data) > MAX_FILE_BYTES:
        raise invalid_argument(
            "TOO_LARGE", f"The text has {len(data)} bytes; a page has at most {MAX_FILE_BYTES}.", "Split the page."
        )
    return data


_OMIT_CHARACTER = "Write the text without it."


def check_front_matter(new: PageText, before: PageText | None = None) -> None:
    """Raises Failed if the front matter of *new* is unreadable and that of *before* was not."""
    if not new.source or (before is not None and new.source == before.source):
        return
    error = new.views.error
    if error is not None and (before is None or before.views.error is None):
        raise invalid_argument("INVALID_FRONT_MATTER", f"{error[:1].upper()}{error[1:]}.", "Mend the front matter.")


def replace_file(
    session: Session,
    journal: Journal,
    new: Replacement,
    record_event: replace.AlsoSync = replace.sync_nothing_else,
) -> None:
    """
    Replace a file as *new* says, and keep a copy if it says so. Call it inside `writing()`.

    record_event: `also_sync` of replace.write().

    Raises Stale if the file is not the expected one, and Failed, CONFLICT, after a save at the same moment.
    """
    label = new.label
    copying = written_copies.copy_during_write(journal, label, new.data) if new.has_copy else nullcontext()
    with translating_errors(), copying:
        if label.expected is None:
            session.tree.make_directories(parent_of(new.path))
        written = replace.write(
            session.tree,
            journal,
            new.path,
            new.data,
            replace.ExpectedFile(label.entry, label.expected, new.seen_stat),
            also_sync=record_event,
        )
        if written.displaced is not None:
            _give_way(session, journal, new.path, written.displaced, label)


def _give_way(session: Session, journal: Journal, path: str, save: replace.DisplacedSave, label: Label) -> None:
    """Put a concurrent save back in place and raise; if that fails, the journal holds it and the daemon imports it."""
    assert label.new is not None
    replace.retract(session.tree, journal, path, save, ours=label.new)
    raise page_modified(path, is_gone=save.data is None)


def _with_page_id(page: Page, new: PageText) -> PageText:
    """*new* with the UUID in `id:` of the page; a key of the user's own stays as in *new*."""
    if new.source == page.content.source:
        return new
    page_key = page.head.id
    if parse_id(page_key) is None or head_of(new).id == page_key:
        return new
    try:
        return with_keys(new, {"id": page_key})
    except Damaged as error:
        raise invalid_argument(
            "INVALID_FRONT_MATTER", f"{str(error)[:1].upper()}{str(error)[1:]}.", "Mend it."
        ) from error


def _to_digest(expected: str) -> Digest:
    try:
        digest = bytes.fromhex(expected)
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise invalid_argument(
            "INVALID_DIGEST", f"{expected!r} is no digest.", "Use the digest that a read or write returned."
        )
    return Digest(digest)


def concurrent_change(session: Session, path: str) -> Failed:
    """Failure for a page that was changed or removed at this moment."""
    return page_modified(path, is_gone=current_digest(session, path) is None)


def current_digest(session: Session, path: str) -> Digest | None:
    """Digest of a file at this moment; None if it is missing or being written."""
    try:
        return session.tree.digest(path)[0]
    except (Busy, Refused, OSError):
        return None


def page_exists(error: Stale) -> Failed:
    """Failure for the creation of a page where one exists."""
    return Failed("EXISTS", "conflict", str(error), "Read that page, or use another name.")
