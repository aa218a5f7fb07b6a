"""Changes of several pages as one journalled plan: all of them or none, in the tree and in drafts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mirrord.commands.core import command_events
from mirrord.commands.core.command_plan import diff_of
from mirrord.commands.core.failure import MODIFIED_SENTENCE, Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.domain.approval import MAX_PREVIEW_LINES
from mirrord.domain.entry import digest_of
from mirrord.domain.event import EventType
from mirrord.domain.link_meaning import wikilink_path
from mirrord.errors import Busy, Stale
from mirrord.markdown.frontmatter.page_text import PageText, with_unix_endings
from mirrord.mirror.draft.draft_tree import MAX_BYTES, MAX_PAGES
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.tree.scoped_tree import may_write
from mirrord.mirror.tree.tree_layout import SUFFIX, page_path, parent_of, spot_of_file
from mirrord.mirror.write import change_plan
from mirrord.mirror.write.change_plan import FileChanges, FileMove, FileText
from mirrord.mirror.write.journal import Journal

Happened = tuple[EventType, Mapping[str, object]]
_CLASHES = ("CONFLICT", "BUSY")  # codes of failures because of a page that another program changes


@dataclass(frozen=True, slots=True)
class PageEdit:
    """A page, and its new bytes."""

    page: page_writes.Page
    data: bytes

    @property
    def path(self) -> str:
        """The path of the page."""
        return self.page.path

    def diff(self) -> str:
        """The unified diff."""
        return diff_of(self.path, with_unix_endings(self.page.text), with_unix_endings(self.data.decode()))


@dataclass(frozen=True, slots=True)
class LinkEdits:
    """
    Pages in which nothing but links changes, wherever a scope lets write.

    visible_edits: of those that the session shows. hidden_edits: of those that its scope hides, which no answer names
    or counts. count: of the changed links in the visible ones.
    """

    visible_edits: Sequence[PageEdit] = ()
    hidden_edits: Sequence[PageEdit] = ()
    count: int = 0


NO_LINKS = LinkEdits()


def check_size(pages: int, new_bytes: int) -> None:
    """Raises Failed, TOO_MANY_PAGES, if so many pages or bytes are more than one plan may change."""
    if pages > MAX_PAGES or new_bytes > MAX_BYTES:
        raise Failed(
            "TOO_MANY_PAGES",
            "invalid",
            f"This would change {pages} pages; one call changes at most {MAX_PAGES} pages and {MAX_BYTES >> 20} MB.",
            "Narrow it with path, tag or where, and make several calls.",
            {"pages": pages},
        )


def bases_of(session: Session, edits: Sequence[PageEdit]) -> dict[str, str]:
    """The digests, in hex, of the texts that are replaced, by path: of those that a scope lets write."""
    return {edit.path: edit.page.digest.hex() for edit in edits if may_write(session.tree, edit.path)}


def preview_lines(edits: Sequence[PageEdit]) -> tuple[str, ...]:
    """The diffs, limited to the length of a preview."""
    lines: list[str] = []
    for edit in edits:
        lines += edit.diff().splitlines()
        if len(lines) > MAX_PREVIEW_LINES:
            return (*lines[: MAX_PREVIEW_LINES - 1], "… and more")
    return tuple(lines)


def rewrite_pages(session: Session, journal: Journal, edits: Sequence[PageEdit], linking: LinkEdits = NO_LINKS) -> None:
    """
    Write the edits, inside `writing()`, with their events.

    linking: further ones, as of carry_out_with_events(). Raises Failed, CONFLICT or BUSY, and nothing is changed then.
    """
    texts = []
    for edit in edits:
        entry = page_writes.id_of_page(session, edit.page)
        page_writes.check_claimed_id(session, edit.page, edit.data, entry)
        texts.append(FileText(edit.path, entry, edit.page.digest, edit.data))
    carry_out_with_events(session, journal, FileChanges(texts=texts), linking)


def carry_out_with_events(
    session: Session, journal: Journal, changes: FileChanges, linking: LinkEdits = NO_LINKS
) -> None:
    """
    Carry out *changes*, inside `writing()`, with the events of moves, new and changed pages, and removals.

    linking: pages by their old paths. Raises Failed as rewrite_pages(); hidden pages that clash are passed over.
    """
    moves = {move.source: move.target for move in changes.moves}
    visible_texts = _link_texts(session, linking.visible_edits, moves)
    hidden_texts = _link_texts(session, linking.hidden_edits, moves)
    try:
        _carry_out(session, journal, changes, [*visible_texts, *hidden_texts])
    except Failed as failed:
        if not hidden_texts or failed.code not in _CLASHES:
            raise
        _carry_out(session, journal, changes, visible_texts)


def _link_texts(session: Session, edits: Sequence[PageEdit], moves: Mapping[str, str]) -> list[FileText]:
    return [
        FileText(
            moves.get(edit.path, edit.path),
            page_writes.id_of_page(session.whole, edit.page),
            edit.page.digest,
            edit.data,
        )
        for edit in edits
    ]


def _carry_out(session: Session, journal: Journal, changes: FileChanges, linking: Sequence[FileText]) -> None:
    """linking: further texts, in which only links change, so that no scope stands against them."""
    texts = sorted([*changes.texts, *linking], key=lambda text: text.expected is None)  # events name new pages last
    whole_changes = replace(changes, texts=texts)
    lines = command_events.event_lines(session, list(_events_of(whole_changes)))
    with translating_errors():
        try:
            session.tree.claim(*changes.paths, new_bytes=_size_of(changes.texts))
            session.tree.whole.claim(*(text.path for text in linking), new_bytes=_size_of(linking))
            change_plan.carry_out(session.tree.whole, journal, replace(whole_changes, appended_lines=lines))
            for removal in changes.removals:
                session.tree.note_removal(removal.path)
            for move in changes.moves:
                session.tree.note_move(move.source, move.target)
        except (Stale, FileNotFoundError) as error:
            instruction = "Nothing was changed. Look at the pages again, then repeat the call."
            raise Failed("CONFLICT", "conflict", MODIFIED_SENTENCE, f"{error} {instruction}") from error
        except Busy as error:
            raise Failed("BUSY", "busy", f"{error} Nothing was changed.", "Try again in a moment.") from error


def _size_of(texts: Iterable[FileText]) -> int:
    return sum(len(text.data) for text in texts)


def file_moves(session: Session, moves: Mapping[str, str]) -> list[FileMove]:
    """The moves of pages and attachments as steps of a plan. Raises Failed, BUSY, for a file that is being written."""
    steps = []
    for source, target in moves.items():
        digest = page_writes.current_digest(session, source)
        if digest is None:
            raise Failed("BUSY", "busy", f"{source} is being written. Nothing was changed.", "Try again in a moment.")
        if source.endswith(SUFFIX):
            entry = page_writes.id_of_page(session, page_writes.read_page_file(session, source))
        else:
            entry = page_writes.id_of_file(session, source)
        steps.append(FileMove(source, target, entry, digest))
    return steps


def note_new_links(session: Session, edits: Sequence[PageEdit]) -> None:
    """Let the session go on with texts in which nothing but links changed as with those it was shown."""
    for edit in edits:
        if session.last_digests.get(edit.path) == edit.page.digest:
            session.memory.move(edit.path, edit.path, digest_of(edit.data))


def update_memory(
    session: Session, moves: Mapping[str, str], edits: Sequence[PageEdit], removed: Sequence[str]
) -> None:
    """Let the session know new paths and texts, and that pages went."""
    for path in removed:
        session.memory.forget(path)
    note_new_links(session, [edit for edit in edits if edit.path not in moves])
    digests = {edit.path: digest_of(edit.data) for edit in edits}
    for path, target in moves.items():
        if path in session.last_digests:
            session.memory.move(path, target, digests.get(path))


def readable_pages(
    session: Session, snapshot: Snapshot, paths: Iterable[str], without: Collection[str]
) -> Iterator[page_writes.Page]:
    """The pages at *paths* but *without* some; none that cannot be read."""
    dialect = session.dialect
    for path in paths:
        content = snapshot.read_text(path) if path not in without else None
        if content is not None and content.text is not None:
            yield page_writes.Page(
                path, PageText(content.text, dialect), digest_of(content.text.encode()), content.stat
            )


def _events_of(changes: FileChanges) -> Iterator[Happened]:
    """Of pages, and of attachments that change their folder; the removal of an attachment has none."""
    digests = {text.path: digest_of(text.data) for text in changes.texts}
    # a leaf that becomes the page of a folder keeps its place in rows: a move alone would not name its new text
    targets = {move.target for move in changes.moves if wikilink_path(move.source) != wikilink_path(move.target)}
    for move in changes.moves:
        if move.target.endswith(SUFFIX):
            facts = {"page_id": str(move.entry), "path": move.target, "old_path": move.source}
            yield EventType.PAGE_MOVED, {**facts, "digest": digests.get(move.target, move.expected).hex()}
    yield from _attachment_events(changes)
    for text in changes.texts:
        if text.path not in targets:
            kind = EventType.PAGE_CREATED if text.expected is None else EventType.PAGE_WRITTEN
            yield kind, {"page_id": str(text.entry), "path": text.path, "digest": digests[text.path].hex()}
    for removal in changes.removals:
        yield EventType.PAGE_DELETED, {"page_id": removal.entry, "path": removal.path, "trash_id": removal.key}


def _attachment_events(changes: FileChanges) -> Iterator[Happened]:
    """Of those that leave their folder, not of those that come along with it."""
    moves = {move.source: move.target for move in changes.moves}
    for move in changes.moves:
        old, new = spot_of_file(move.source), spot_of_file(move.target)
        if move.source.endswith(SUFFIX) or old is None or new is None:
            continue
        old_index, index = (page_path("", spot.folder, index=True) for spot in (old, new))
        taker = next((text.entry for text in changes.texts if parent_of(text.path) == new.folder), None)
        if moves.get(old_index) != index and taker is not None:
            yield page_writes.attachment_move(taker, move.entry, move.source, move.target)
