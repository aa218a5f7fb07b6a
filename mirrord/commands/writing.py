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


def there(session: Session, path: str) -> Page | None:
    """The page *path* means; None if there is none. Raises Failed if it cannot be read."""
    found = paths.look(session, path)
    return read(session, *found) if found is not None else None


def not_found(session: Session, path: str) -> Failed:
    """There is no such page; the nearest that there are."""
    return page_not_found(path, session.catalogue.look().nearest(path))


def read(session: Session, path: str, looked: Stat | None = None) -> Page:
    """The page whose file is at *path*. looked: what was there just now."""
    with explained():
        try:
            with session.tree.file(path, looked) as descriptor:
                data, stat = contents.read(descriptor, path, LIMIT)
        except FileNotFoundError:
            raise page_not_found(path) from None
        return Page(path, decode(data), digest_of(data), stat)


def page_id(session: Session, page: Page) -> EntryId:
    """
    The id by which Postgres knows a page.

    What the daemon noted of the file as it is now, else its own `id:`, else what was noted of the path, else the id
    that a path has by itself.
    """
    seen = session.catalogue.agreed.of([page.path]).get(page.path)
    own = parse_id(page.head.id) if seen is None or not seen.matches(page.stat) else None
    return own or (seen.entry if seen is not None else id_of_path(session.tenant_id, page.path))


def file_id(session: Session, path: str) -> EntryId:
    """The id by which Postgres knows a file that carries none: an attachment, a record."""
    seen = session.catalogue.agreed.of([path]).get(path)
    return seen.entry if seen is not None else id_of_path(session.tenant_id, path)


def check_unchanged(session: Session, page: Page, expected: str | None) -> None:
    """Raises Failed, CONFLICT, unless *page* is as this session, or else whoever gave *expected*, last saw it."""
    seen = _digest(expected) if expected is not None else session.seen.get(page.path)
    if seen is not None and seen != page.digest:
        raise modified(page.path, page.digest)


def check_seen(session: Session, page: Page, expected: str | None) -> None:
    """The same, and Failed, READ_FIRST, if this session never saw all of *page*."""
    check_unchanged(session, page, expected)
    if expected is not None or session.has_seen(page.path):
        return
    if page.path not in session.seen and events.wrote_lately(session, page.path, page.digest):
        return
    raise Failed(
        "READ_FIRST",
        "conflict",
        f"{page.path} exists already and was not read before.",
        f"Read all of {page.path} first, or change a part of it with edit_page.",
        {"path": page.path, "digest": page.digest.hex()},
    )


def overwrite(session: Session, journal: Journal, page: Page, text: str) -> tuple[EntryId, Digest]:
    """Make *text*, which keeps the page's id, the whole of *page*; id and digest. Call it inside `writing()`."""
    text = kept_id(page, text)
    data = encoded(text)
    entry, digest = page_id(session, page), digest_of(data)
    if digest != page.digest:
        facts = {"page_id": str(entry), "path": page.path, "digest": digest.hex()}
        try:
            with events.recording(session, Type.PAGE_WRITTEN, facts) as told:
                put(session, journal, page.path, data, Label(entry, page.digest, digest), page.stat, told)
        except Stale:
            raise modified(page.path, digest_now(session, page.path)) from None
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
    raise modified(path, digest_of(save.data) if save.data is not None else None)


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


def digest_now(session: Session, path: str) -> Digest | None:
    """What a file holds at this moment; None: it is gone, or being written."""
    try:
        return session.tree.digest(path)[0]
    except (Busy, Refused, OSError):
        return None


def is_taken(error: Stale) -> Failed:
    """A page was to be made where one is."""
    return Failed("EXISTS", "conflict", str(error), "Read that page, or use another name.")
