"""Commands that read, write and create pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.commands.core import command_events, page_paths
from mirrord.commands.core.command_plan import Plan, command, diff_lines
from mirrord.commands.core.failure import Failed, edit_missed, invalid_argument, page_modified
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan, page_writes
from mirrord.commands.pages.page_parts import range_of_lines
from mirrord.commands.pages.plain_folders import NO_TEXT, find_plain_folder, id_of_folder
from mirrord.domain.approval import ABSENT_DIGEST, Preview
from mirrord.domain.entry import Digest, EntryId, Kind, id_of_path, parse_id
from mirrord.domain.event import EventType
from mirrord.errors import Damaged, Stale
from mirrord.markdown.frontmatter.page_properties import Json, with_keys
from mirrord.markdown.frontmatter.page_text import EditTargetError, PageText, first_line_ending
from mirrord.markdown.write.page_edits import section_of
from mirrord.mirror.tree.tree_layout import INDEX_FILE, directory_of, parent_of
from mirrord.mirror.write.journal import Journal


@dataclass(frozen=True, slots=True)
class PageContent:
    """
    A page, or a part of it.

    content: the requested part of the file, front matter included. path: of its file, with `.md`.
    digest: of all its bytes, in hex. start, total_chars: in characters of the whole file. next_offset: offset of the
    next part; None at the end, or for a section. folder: facts about a folder without a page file, which is shown as
    an empty page.
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
    """Facts about a folder without a page file."""

    title: str
    has_children: bool


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A written page. created: there was none before."""

    page_id: str
    path: str
    digest: str
    created: bool


@dataclass(frozen=True, slots=True)
class PagePart:
    """
    The part of a page to show, by default all of it.

    section: the name of a heading, which is included. lines: `10-40`, counted from 1 on; not with a section.
    offset, limit: in characters of the file, section or lines; None: all.
    """

    section: str | None = None
    lines: str | None = None
    offset: int = 0
    limit: int | None = None


WHOLE_PAGE = PagePart()


def read_page(session: Session, path: str, part: PagePart = WHOLE_PAGE) -> PageContent:
    """Show a page. Raises Failed."""
    page = page_writes.look_up_page(session, path, allow_open=True)
    if page is None:
        return _show_folder(session, path, part.section)
    start, end = _range_of_part(page.content, part)
    offset, limit = part.offset, part.limit
    first = min(start + max(offset, 0), end)
    last = end if limit is None else min(first + max(limit, 0), end)
    session.memory.note_part(page.path, page.digest, first, last, len(page.text))
    return PageContent(
        content=page.text[first:last],
        frontmatter=page.content.views.frontmatter,
        path=page.path,
        page_id=str(page_writes.id_of_page(session, page)),
        digest=page.digest.hex(),
        start=first,
        total_chars=len(page.text),
        next_offset=last - start if last < end else None,
    )


def read_pages(
    session: Session, paths: Sequence[str], max_characters: int
) -> tuple[list[PageContent | Failed], list[str]]:
    """
    Show pages or their failures in order, at most *max_characters* characters in total; also return the remaining
    paths.
    """
    pages: list[PageContent | Failed] = []
    for number, path in enumerate(paths):
        room = max_characters - sum(len(page.content) for page in pages if isinstance(page, PageContent))
        if room <= 0:
            return pages, list(paths[number:])
        pages.append(_read_or_failure(session, path, room))
    return pages, []


@dataclass(frozen=True, slots=True)
class _Rewrite(Plan[WrittenPage]):
    """Other bytes for a page."""

    page: page_writes.Page
    data: bytes

    def preview(self, session: Session) -> Preview:
        path = self.page.path
        lines, bases = diff_lines(path, self.page.text, self.data.decode()), {path: self.page.digest.hex()}
        return Preview(f"{path} would get another text.", {"path": path, "created": False}, lines, bases)

    def carry_out(self, session: Session, journal: Journal) -> WrittenPage:
        entry, digest = page_writes.overwrite_page(session, journal, self.page, self.data)
        return WrittenPage(str(entry), self.page.path, digest.hex(), created=False)


@dataclass(frozen=True, slots=True)
class _NewPage(Plan[WrittenPage]):
    """A page that does not exist yet. has_chosen_path: the caller chose the path, so no other one will do."""

    path: str
    entry: EntryId
    data: bytes
    has_chosen_path: bool

    def preview(self, session: Session) -> Preview:
        lines, facts = diff_lines(self.path, "", self.data.decode()), {"path": self.path, "created": True}
        return Preview(f"The page {self.path} would be made.", facts, lines, {self.path: ABSENT_DIGEST})

    def carry_out(self, session: Session, journal: Journal) -> WrittenPage:
        move_plan.promote_leaves(session, journal, self.path)
        digest = self._create_file(session, journal)
        facts = {"page_id": str(self.entry), "path": self.path, "digest": digest.hex()}
        command_events.record_event(session, EventType.PAGE_CREATED, facts)
        return WrittenPage(str(self.entry), self.path, digest.hex(), created=True)

    def _create_file(self, session: Session, journal: Journal) -> Digest:
        try:
            return page_writes.create_page_file(session, journal, self.path, self.data, self.entry)
        except Stale as error:
            if self.has_chosen_path:
                raise page_writes.page_exists(error) from error
            raise


@dataclass(frozen=True, slots=True)
class _ExistingPage(Plan[WrittenPage]):
    """A page that is there already."""

    page: page_writes.Page

    def preview(self, session: Session) -> Preview:
        path = self.page.path
        return Preview(f"The page {path} is there already.", {"path": path, "created": False})

    def carry_out(self, session: Session, journal: Journal) -> WrittenPage:
        return self.idle_result(session)

    def idle_result(self, session: Session) -> WrittenPage:
        entry = page_writes.id_of_page(session, self.page)
        return WrittenPage(str(entry), self.page.path, self.page.digest.hex(), created=False)


@command("write_page")
def write_page(session: Session, path: str, content: str, expected_digest: str | None = None) -> Plan[WrittenPage]:
    """
    Replace the whole text of a page with *content*; create the page if it does not exist.

    expected_digest: the digest the page must have, in hex; None: the one this session last saw.
    """
    page = page_writes.look_up_page(session, path)
    new = PageText(content, page.content.dialect if page is not None else session.dialect)
    page_writes.check_front_matter(new, page.content if page is not None else None)
    if page is None:
        return _plan_missing_page(session, path, new, expected_digest)
    if page.text != content:
        page_writes.check_shown(session, page, expected_digest)
    return _Rewrite(page, page_writes.encode_rewrite(page, new))


@command("create_page")
def create_page(
    session: Session,
    title: str,
    parent_path: str | None = None,
    content: str = "",
    icon: str | None = None,
    *,
    unless_exists: bool = False,
) -> Plan[WrittenPage]:
    """
    Create a page with this title below another page or folder, or at the root; a taken name becomes `Title (2)`.

    content: the body, optionally with front matter, to which id, title and icon are added.
    unless_exists: return the page with this name in that place, unchanged, if there is one.
    """
    new = PageText(content)
    _check_new_page(title, new)
    directory = children_directory(session, parent_path)
    page_paths.check_depth(f"{directory}/")
    suffix = session.new_page_id(f"{directory}/{title}").hex[-8:]
    if unless_exists and (existing := page_paths.path_of_title(session, directory, title, suffix)) is not None:
        return _ExistingPage(page_writes.read_page_file(session, existing))
    path = page_paths.free_path(session.tree, directory, title, suffix)
    entry = session.new_page_id(path)
    changes: dict[str, Json] = {"id": str(entry), "title": title.strip()}
    text = _with_final_newline(_with_keys(new, changes | ({"icon": icon} if icon else {})))
    return _NewPage(path, entry, page_writes.encode_page(text), has_chosen_path=False)


def _check_new_page(title: str, content: PageText) -> None:
    if not title.strip():
        instruction = 'Call create_page with title, such as {"title": "Minutes of May"}.'
        raise invalid_argument("INVALID_TITLE", "A page needs a title.", instruction)
    page_writes.check_front_matter(content)
    page_writes.encode_page(content.text)


def _plan_missing_page(session: Session, path: str, content: PageText, expected: str | None) -> _NewPage:
    """
    Plan a page at a path without one.

    Raises Failed, CONFLICT, if the session saw a page there that has disappeared; reported once.
    """
    page_writes.encode_page(content.text)
    seen_spellings = [spelling for spelling in page_paths.possible_files(path) if spelling in session.last_digests]
    if seen_spellings or (expected is not None and not _is_shown_folder(session, path, expected)):
        for spelling in seen_spellings:
            session.memory.forget(spelling)
        raise page_modified(path, is_gone=True)
    target = page_paths.new_page_path(session, path)
    entry, text = _with_id(session, target, content)
    return _NewPage(target, entry, page_writes.encode_page(text), has_chosen_path=True)


def _with_id(session: Session, path: str, content: PageText) -> tuple[EntryId, str]:
    """Id of a new page, and its text with that id; an `id:` that is no UUID is the user's own key and stays."""
    own_id, folder_id = content.views.id, _id_of_its_folder(session, path)
    if own_id and parse_id(own_id) is None:
        return folder_id or id_of_path(session.tenant_id, path), content.text
    entry = folder_id or session.new_page_id(path)
    return entry, _with_keys(content, {"id": str(entry)})


def _id_of_its_folder(session: Session, path: str) -> EntryId | None:
    """The id of the folder that the new page at *path* is the page of: its row gets the text; None: there is none."""
    folder = find_plain_folder(session, parent_of(path)) if path.endswith(f"/{INDEX_FILE}") else None
    if folder is None or folder.path != parent_of(path):
        return None
    return EntryId(UUID(id_of_folder(session, folder.path)))


def _with_keys(content: PageText, changes: dict[str, Json]) -> str:
    if not content.head and content.body and content.body[0] not in "\r\n":
        content = PageText(content.bom + first_line_ending(content.text) + content.body)
    try:
        return with_keys(content, changes).text
    except Damaged as error:
        raise invalid_argument(
            "INVALID_FRONT_MATTER", f"{str(error)[:1].upper()}{str(error)[1:]}.", "Mend it."
        ) from error


def _with_final_newline(text: str) -> str:
    return text if text[-1:] in ("\n", "\r") else text + first_line_ending(text)


def children_directory(session: Session, parent: str | None) -> str:
    """Directory of the children of a page or folder; "" is the root."""
    if parent is None or not parent.strip("/"):
        return ""
    page_path = page_paths.find_page_path(session, parent)
    if page_path is not None:
        return directory_of(page_path, Kind.PAGE)
    folder = page_paths.find_directory(session, parent)
    if folder is None:
        raise page_writes.missing_page(session, parent)
    return folder


def _show_folder(session: Session, path: str, section: str | None) -> PageContent:
    """Show a folder without a page file as an empty page. Raises Failed if *path* is no such folder."""
    folder = find_plain_folder(session, path)
    if folder is None:
        raise page_writes.missing_page(session, path)
    _range_of_section(PageText(""), section)
    snapshot = session.catalogue.snapshot()
    return PageContent(
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
    """Whether *expected* is the digest of an empty page and *path* a folder without a page file."""
    return (
        expected == NO_TEXT.hex()
        and page_paths.find_directory(session, directory_of(page_paths.new_page_path(session, path), Kind.PAGE))
        is not None
    )


def _range_of_part(page: PageText, part: PagePart) -> tuple[int, int]:
    if part.lines is not None:
        return range_of_lines(page.text, part.lines)
    return _range_of_section(page, part.section)


def _range_of_section(page: PageText, section: str | None) -> tuple[int, int]:
    if section is None:
        return 0, len(page.text)
    try:
        span = section_of(page, section)
    except EditTargetError as error:
        raise edit_missed(error) from error
    return span.start, span.end


def _read_or_failure(session: Session, path: str, max_chars: int) -> PageContent | Failed:
    try:
        return read_page(session, path, PagePart(limit=max_chars))
    except Failed as failed:
        return failed
