"""The agent reads, writes and creates pages."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from mirrord.codec.editing import section_of
from mirrord.codec.frontmatter import Json, split, with_keys
from mirrord.codec.missed import Missed
from mirrord.codec.text import newline
from mirrord.codec.views import views_of
from mirrord.commands import events, paths, promotion, siblings, writing
from mirrord.commands.difference import diff_lines
from mirrord.commands.failure import Failed, invalid, missed, modified
from mirrord.commands.plain_folders import NO_TEXT, find_plain_folder
from mirrord.commands.session import Session
from mirrord.domain.approval import ABSENT, Preview
from mirrord.domain.entry import EntryId, Kind, id_of_path, parse_id
from mirrord.domain.event import Type
from mirrord.errors import Damaged, Stale
from mirrord.mirror.journal import Journal
from mirrord.mirror.layout import directory_of

_TRIES = 20  # names somebody else may take at the same moment


@dataclass(frozen=True, slots=True)
class Shown:
    """
    A page, or a part of it.

    content: of the whole file, front matter included, what was asked for. path: of its file, with `.md`.
    digest: of all of its bytes, in hex. start, total_chars: characters of the whole. next_offset: where to go on;
    None: this was the end, or a section. folder: what a folder without a page file is shown as, an empty page, says
    beside that.
    """

    content: str
    frontmatter: dict[str, Json]
    path: str
    page_id: str
    digest: str
    start: int
    total_chars: int
    next_offset: int | None = None
    folder: "FolderFacts | None" = None


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """What is told of a folder without a page file."""

    title: str
    has_children: bool


@dataclass(frozen=True, slots=True)
class Written:
    """A page that was written. created: there was none before."""

    page_id: str
    path: str
    digest: str
    created: bool


def read_page(
    session: Session, path: str, section: str | None = None, offset: int = 0, limit: int | None = None
) -> Shown:
    """
    Show a page.

    section: only what belongs to this heading, itself included. offset, limit: characters of the whole, or of the
        section; None: all.
    """
    page = writing.there(session, path, held=True)
    if page is None:
        return _shown_folder(session, path, section)
    start, end = _asked(page.text, section)
    first = min(start + max(offset, 0), end)
    last = end if limit is None else min(first + max(limit, 0), end)
    session.memory.note_part(page.path, page.digest, first, last, len(page.text))
    return Shown(
        content=page.text[first:last],
        frontmatter=views_of(page.text).frontmatter,
        path=page.path,
        page_id=str(writing.page_id(session, page)),
        digest=page.digest.hex(),
        start=first,
        total_chars=len(page.text),
        next_offset=last - start if last < end else None,
    )


def read_pages(session: Session, paths: Sequence[str], most: int) -> tuple[list[Shown | Failed], list[str]]:
    """Show several pages, each or why it cannot be, in this order, *most* characters together; and which are left."""
    found: list[Shown | Failed] = []
    for number, path in enumerate(paths):
        room = most - sum(len(one.content) for one in found if isinstance(one, Shown))
        if room <= 0:
            return found, list(paths[number:])
        found.append(_shown_or_failed(session, path, room))
    return found, []


def write_page(session: Session, path: str, content: str, expected_digest: str | None = None) -> Written:
    """
    Make *content* the whole of a page; one that does not exist is made.

    expected_digest: what the page must have, in hex; None: what this session last saw of it.
    """
    with session.writing() as journal:
        page = writing.there(session, path)
        if page is None:
            return _created(session, journal, path, content, expected_digest)
        writing.check_front_matter(content, page.text)
        if page.text != content:
            writing.check_seen(session, page, expected_digest)
        entry, digest = writing.overwrite(session, journal, page, content)
        return Written(str(entry), page.path, digest.hex(), created=False)


def preview_write_page(session: Session, path: str, content: str, expected_digest: str | None = None) -> Preview:
    """What write_page would do."""
    page = writing.there(session, path)
    if page is None:
        target, _, text = _new_page(session, path, content, expected_digest)
        return _preview_of_new(target, text)
    writing.check_front_matter(content, page.text)
    if page.text != content:
        writing.check_seen(session, page, expected_digest)
    lines = diff_lines(page.path, page.text, writing.kept_id(page, content))
    facts = {"path": page.path, "created": False}
    return Preview(f"{page.path} would get another text.", facts, lines, {page.path: page.digest.hex()})


def create_page(
    session: Session, title: str, parent_path: str | None = None, content: str = "", icon: str | None = None
) -> Written:
    """
    Make a page of that title below another page or folder, or at the root; never over another: then `Title (2)`.

    content: its body, or with front matter of its own, to which id, title and icon are added.
    """
    _check_new(title, content)
    with session.writing() as journal:
        directory = _directory_for(session, parent_path)
        for _ in range(_TRIES):
            path, entry, text = _titled_page(session, directory, title, content, icon)
            promotion.promote(session, journal, path)
            with suppress(Stale):
                return _made(session, journal, path, text, entry)
    raise Failed("EXISTS", "conflict", f"{title!r} is taken again and again.", "Use another title.")


def preview_create_page(
    session: Session, title: str, parent_path: str | None = None, content: str = "", icon: str | None = None
) -> Preview:
    """What create_page would do."""
    _check_new(title, content)
    path, _, text = _titled_page(session, _directory_for(session, parent_path), title, content, icon)
    return _preview_of_new(path, text)


def _titled_page(
    session: Session, directory: str, title: str, content: str, icon: str | None
) -> tuple[str, EntryId, str]:
    """Where a new page of that title goes, its id, and its text. Raises Failed where that would be too deep."""
    paths.check_depth(f"{directory}/")
    suffix = session.new_page_id(f"{directory}/{title}").hex[-8:]
    path = siblings.free_path(session.tree, directory, title, suffix)
    entry = session.new_page_id(path)
    changes: dict[str, Json] = {"id": str(entry), "title": title.strip()}
    return path, entry, _ended(_headed(content, changes | ({"icon": icon} if icon else {})))


def _preview_of_new(path: str, text: str) -> Preview:
    facts = {"path": path, "created": True}
    return Preview(f"The page {path} would be made.", facts, diff_lines(path, "", text), {path: ABSENT})


def _check_new(title: str, content: str) -> None:
    if not title.strip():
        raise invalid("INVALID_TITLE", "A page needs a title.", "Give it one.")
    writing.check_front_matter(content)
    writing.encoded(content)


def _created(session: Session, journal: Journal, path: str, content: str, expected: str | None) -> Written:
    target, entry, text = _new_page(session, path, content, expected)
    promotion.promote(session, journal, target)
    try:
        return _made(session, journal, target, text, entry)
    except Stale as error:
        raise writing.is_taken(error) from error


def _new_page(session: Session, path: str, content: str, expected: str | None) -> tuple[str, EntryId, str]:
    """
    Where the file of a page goes that is not there yet, its id, and its text.

    Raises Failed, CONFLICT, where the session saw a page there that is gone by now; it is told once.
    """
    writing.check_front_matter(content)
    writing.encoded(content)
    gone = [spelling for spelling in paths.spellings(path) if spelling in session.seen]
    if gone or (expected is not None and not _is_shown_folder(session, path, expected)):
        for spelling in gone:
            session.memory.forget(spelling)
        raise modified(path, is_gone=True)
    target = paths.fresh(session, path)
    return target, *_identified(session, target, content)


def _made(session: Session, journal: Journal, path: str, text: str, entry: EntryId) -> Written:
    digest = writing.make(session, journal, path, text, entry)
    events.record(session, Type.PAGE_CREATED, {"page_id": str(entry), "path": path, "digest": digest.hex()})
    return Written(str(entry), path, digest.hex(), created=True)


def _identified(session: Session, path: str, text: str) -> tuple[EntryId, str]:
    """A new page's id, and its text with that; an `id:` that is no UUID is the user's own key and stays."""
    own = views_of(text).id
    if own and parse_id(own) is None:
        return id_of_path(session.tenant_id, path), text
    entry = session.new_page_id(path)
    return entry, _headed(text, {"id": str(entry)})


def _headed(text: str, changes: dict[str, Json]) -> str:
    parts = split(text)
    if not parts.head and parts.body and parts.body[0] not in "\r\n":
        text = parts.bom + newline(text) + parts.body
    try:
        return with_keys(text, changes)
    except Damaged as error:
        raise invalid("INVALID_FRONT_MATTER", f"{str(error)[:1].upper()}{str(error)[1:]}.", "Mend it.") from error


def _ended(text: str) -> str:
    return text if text[-1:] in ("\n", "\r") else text + newline(text)


def _directory_for(session: Session, parent: str | None) -> str:
    """Where the children of a page or folder are; "" is the root."""
    if parent is None or not parent.strip("/"):
        return ""
    found = paths.existing(session, parent)
    if found is not None:
        return directory_of(found, Kind.PAGE)
    folder = paths.folder(session, parent)
    if folder is None:
        raise writing.not_found(session, parent)
    return folder


def _shown_folder(session: Session, path: str, section: str | None) -> Shown:
    """A folder without a page file, like an empty page. Raises Failed if *path* means none."""
    folder = find_plain_folder(session, path)
    if folder is None:
        raise writing.not_found(session, path)
    _asked("", section)
    snapshot = session.catalogue.look()
    return Shown(
        content="",
        frontmatter={},
        path=folder.path,
        page_id=str(snapshot.id_of(folder)),
        digest=NO_TEXT.hex(),
        start=0,
        total_chars=0,
        folder=FolderFacts(folder.title, snapshot.has_children(folder)),
    )


def _is_shown_folder(session: Session, path: str, expected: str) -> bool:
    """Whether a page is to be made of the folder at *path* by who was shown it as an empty page."""
    return (
        expected == NO_TEXT.hex()
        and paths.folder(session, directory_of(paths.fresh(session, path), Kind.PAGE)) is not None
    )


def _asked(text: str, section: str | None) -> tuple[int, int]:
    if section is None:
        return 0, len(text)
    try:
        found = section_of(text, section)
    except Missed as error:
        raise missed(error) from error
    return found.start, found.end


def _shown_or_failed(session: Session, path: str, most: int) -> Shown | Failed:
    try:
        return read_page(session, path, limit=most)
    except Failed as failed:
        return failed
