"""How commands write pages: only over what was seen, never over what somebody saved meanwhile, and never forgotten."""

from dataclasses import dataclass
from functools import cached_property

from mirrord.codec.fences import source_of
from mirrord.codec.frontmatter import with_keys
from mirrord.codec.heads import Head, head_of
from mirrord.codec.text import decode
from mirrord.codec.views import views_of
from mirrord.commands import events, paths
from mirrord.commands.failure import Failed, explained, invalid, modified, page_not_found
from mirrord.commands.plain_folders import find_plain_folder
from mirrord.commands.session import Session
from mirrord.domain.entry import Digest, EntryId, digest_of, id_of_path, parse_id
from mirrord.domain.event import Type
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.mirror import contents, copies, replace
from mirrord.mirror.card import LIMIT
from mirrord.mirror.journal import Journal
from mirrord.mirror.kernel import Stat
from mirrord.mirror.label import Label
from mirrord.mirror.layout import parent_of
from mirrord.mirror.moved import moved_entries


@dataclass(frozen=True)
class Page:
    """A page as it is now."""

    path: str
    text: str
    digest: Digest
    stat: Stat

    @cached_property
    def head(self) -> Head:
        """What its front matter names."""
        return head_of(self.text)


def find(session: Session, path: str) -> Page:
    """The page *path* means. Raises Failed if there is none, or it cannot be read."""
    page = there(session, path)
    if page is None:
        raise not_found(session, path)
    return page


def there(session: Session, path: str, *, held: bool = False) -> Page | None:
    """The page *path* means; None if there is none. Raises Failed if it cannot be read. held: as in read()."""
    found = paths.look(session, path)
    return read(session, *found, held=held) if found is not None else None


def not_found(session: Session, path: str) -> Failed:
    """There is no such page, or only a folder; the nearest that there are."""
    if (folder := find_plain_folder(session, path)) is not None:
        sentence = f"{folder.path} is a folder without a page file."
        return Failed("PAGE_NOT_FOUND", "not_found", sentence, f"write_page at {folder.path} makes its page.")
    return page_not_found(path, session.catalogue.look().nearest(path))


def read(session: Session, path: str, looked: Stat | None = None, *, held: bool = False) -> Page:
    """
    The page whose file is at *path*.

    looked: what was there just now. held: also one that some program has open for writing, as it is; to show it.
    """
    with explained():
        try:
            with session.tree.file(path, looked) as descriptor:
                data, stat = _bytes(descriptor, path, held=held)
        except FileNotFoundError:
            raise page_not_found(path) from None
        return Page(path, decode(data), digest_of(data), stat)


def _bytes(descriptor: int, path: str, *, held: bool) -> tuple[bytes, Stat]:
    try:
        return contents.read(descriptor, path, LIMIT)
    except Busy:
        if not held:
            raise
        return contents.read_held(descriptor, path, LIMIT)


def page_id(session: Session, page: Page) -> EntryId:
    """
    The id by which Postgres knows a page.

    What the daemon noted of the file as it is now, else its own `id:`, else what was noted of the path, else of the
    file at another path, else the id that a new file at that path gets.
    """
    seen = session.catalogue.agreed.of([page.path]).get(page.path)
    own = parse_id(page.head.id) if seen is None or not seen.matches(page.stat) else None
    return own or (seen.entry if seen is not None else _moved_id(session, page.path))


def file_id(session: Session, path: str) -> EntryId:
    """The id by which Postgres knows a file that carries none: an attachment, a record."""
    seen = session.catalogue.agreed.of([path]).get(path)
    return seen.entry if seen is not None else _moved_id(session, path)


def _moved_id(session: Session, path: str) -> EntryId:
    with explained():
        moved = moved_entries(session.tree, session.catalogue.agreed, [path])
    return moved.get(path) or id_of_path(session.tenant_id, path)


def check_unchanged(session: Session, page: Page, expected: str | None) -> None:
    """Raises Failed, CONFLICT, unless *page* is as this session, or else whoever gave *expected*, last saw it."""
    seen = _digest(expected) if expected is not None else session.seen.get(page.path)
    if seen is not None and seen != page.digest:
        raise modified(page.path)


def check_seen(session: Session, page: Page, expected: str | None) -> None:
    """The same, and Failed, READ_FIRST, unless this session was shown all of *page* as it is now."""
    check_unchanged(session, page, expected)
    memory = session.memory
    if memory.was_shown(page.path, page.digest) if expected is not None else memory.may_replace(page.path):
        return
    raise _unread(page.path, is_known=expected is None and memory.was_shown(page.path, page.digest))


def _unread(path: str, *, is_known: bool) -> Failed:
    """is_known: the text of now was shown, but another mind behind the same session may have an older one."""
    if is_known:
        sentence = f"{path} exists, and it is not sure that you know its newest text."
        instruction = "Give the expectedDigest that read_page or edit_page returned with the text that you change."
    else:
        sentence = f"{path} exists already and its whole text was not shown in this session."
        instruction = f"Read all of {path} first, or change a part of it with edit_page."
    return Failed("READ_FIRST", "conflict", sentence, instruction, {"path": path})


def overwrite(
    session: Session, journal: Journal, page: Page, text: str, *, part: bool = False
) -> tuple[EntryId, Digest]:
    """
    Make *text*, which keeps the page's id, the whole of *page*; id and digest. Call it inside `writing()`.

    part: the session gave a part of the text only.
    """
    text = kept_id(page, text)
    data = encoded(text)
    entry, digest = page_id(session, page), digest_of(data)
    if digest != page.digest:
        facts = {"page_id": str(entry), "path": page.path, "digest": digest.hex()}
        try:
            with events.recording(session, Type.PAGE_WRITTEN, facts) as told:
                put(session, journal, page.path, data, Label(entry, page.digest, digest), page.stat, told)
        except Stale:
            raise changed_now(session, page.path) from None
    if part:
        session.memory.note_edit(page.path, digest)
    else:
        session.saw(page.path, digest)
    return entry, digest


def make(session: Session, journal: Journal, path: str, text: str, entry: EntryId) -> Digest:
    """
    A new page at *path*; the digest. Call it inside `writing()`, and record what happened.

    Raises Stale if something is there by now.
    """
    data = encoded(text)
    digest = digest_of(data)
    put(session, journal, path, data, Label(entry, None, digest))
    session.saw(path, digest)
    return digest


def encoded(text: str) -> bytes:
    """The bytes of a page. Raises Failed for what no page can hold."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise invalid("INVALID_PAGE", f"Character {error.start} of the text is half a character.", _MEND) from None
    if "\0" in text:
        raise invalid("INVALID_PAGE", f"Character {text.index(chr(0))} of the text is NUL.", _MEND)
    if len(data) > LIMIT:
        raise invalid("TOO_LARGE", f"The text has {len(data)} bytes; a page has at most {LIMIT}.", "Split the page.")
    return data


_MEND = "Write the text without it."


def check_front_matter(text: str, before: str = "") -> None:
    """Raises Failed if the front matter of *text* cannot be read, unless that was so *before*."""
    source = source_of(text)
    if not source or source == source_of(before):
        return
    error = views_of(text).error
    if error is not None and views_of(before).error is None:
        raise invalid("INVALID_FRONT_MATTER", f"{error[:1].upper()}{error[1:]}.", "Mend the front matter.")


def put(
    session: Session,
    journal: Journal,
    path: str,
    data: bytes,
    label: Label,
    seen: Stat | None = None,
    told: replace.Beside = replace.nothing,
) -> None:
    """
    Make *data*, which *label* tells of, the whole of a file, and keep a copy of it. Call it inside `writing()`.

    seen, told: `seen` and `beside` of replace.write().

    Raises Stale if the file is not what was to be replaced, and Failed, CONFLICT, if somebody saved at that moment.
    """
    with explained(), copies.kept(journal, label, data):
        if label.expected is None:
            session.tree.make_directories(parent_of(path))
        written = replace.write(
            session.tree, journal, path, data, entry=label.entry, over=label.expected, seen=seen, beside=told
        )
        if written.displaced is not None:
            _give_way(session, journal, path, written.displaced, label)


def _give_way(session: Session, journal: Journal, path: str, save: replace.Displaced, label: Label) -> None:
    """Somebody's save came between: it gets its place back; if that fails it is in the journal, and taken in."""
    assert label.new is not None
    replace.retract(session.tree, journal, path, save, ours=label.new)
    raise modified(path, is_gone=save.data is None)


def kept_id(page: Page, text: str) -> str:
    """*text* with the UUID in `id:` that the page has; a key of the user's own is the text's."""
    if source_of(text) == source_of(page.text):
        return text
    shown = page.head.id
    if parse_id(shown) is None or head_of(text).id == shown:
        return text
    try:
        return with_keys(text, {"id": shown})
    except Damaged as error:
        raise invalid("INVALID_FRONT_MATTER", f"{str(error)[:1].upper()}{str(error)[1:]}.", "Mend it.") from error


def _digest(expected: str) -> Digest:
    try:
        found = bytes.fromhex(expected)
    except ValueError:
        found = b""
    if len(found) != 32:
        raise invalid("INVALID_DIGEST", f"{expected!r} is no digest.", "Use the digest that a read or write returned.")
    return Digest(found)


def changed_now(session: Session, path: str) -> Failed:
    """The page was changed, or went, at this very moment."""
    return modified(path, is_gone=digest_now(session, path) is None)


def digest_now(session: Session, path: str) -> Digest | None:
    """What a file holds at this moment; None: it is gone, or being written."""
    try:
        return session.tree.digest(path)[0]
    except (Busy, Refused, OSError):
        return None


def is_taken(error: Stale) -> Failed:
    """A page was to be made where one is."""
    return Failed("EXISTS", "conflict", str(error), "Read that page, or use another name.")
