"""Moves of files with their links as one plan; promotes a page that gets its first child."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from mirrord.commands.core import command_events
from mirrord.commands.core.failure import MODIFIED_SENTENCE, Failed, page_modified, translating_errors
from mirrord.commands.core.page_paths import original_link, original_of
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.pages.plain_folders import id_of_folder
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.event import EventType
from mirrord.errors import Damaged, Stale
from mirrord.markdown.frontmatter.page_properties import Json, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.mirror.read.name_index import NameChange
from mirrord.mirror.tree.scoped_tree import check_writable, may_write
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX, lineage, parent_of
from mirrord.mirror.write import batch_rename
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.rename_plan import BatchPlan, Rename, Rewrite
from mirrord.research.sources.source_kinds import ORIGINAL


@dataclass(frozen=True, slots=True)
class TreeChange:
    """
    A planned change of a tree.

    renames: of files and directories, in order; sources and targets are paths after the preceding renames.
    pages: new paths of the moved pages by their old paths; each yields an event. titles: new titles by old paths.
    emptied: directories to remove if empty. links: whether links follow.
    called: event and further facts by old path of a page, instead of a plain move.
    folders: without a page file, as pages. attachments: as pages, those that go to another folder with the first page.
    """

    renames: Sequence[tuple[str, str]]
    pages: Mapping[str, str]
    titles: Mapping[str, str]
    emptied: Sequence[str] = ()
    links: bool = True
    called: Mapping[str, tuple[EventType, Mapping[str, object]]] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    attachments: Mapping[str, str] = field(default_factory=dict)

    def path_after(self, path: str) -> str:
        """Path of a file or directory after the change."""
        for source, target in self.renames:
            if path == source or path.startswith(source + "/"):
                path = target + path[len(source) :]
        return path


@dataclass(frozen=True, slots=True)
class RelocationOutcome:
    """
    Outcome of a change. links_count: number of rewritten links. skipped_pages: pages whose links could not be
    rewritten.
    """

    links_count: int
    skipped_pages: tuple[str, ...]


def apply_change(session: Session, journal: Journal, change: TreeChange) -> RelocationOutcome:
    """
    Carry out *change*, inside `writing()`.

    In pages that a scope shows, links follow by what they mean to who works through it, and the outcome counts those;
    in pages that it hides, links follow too, by what they mean in the whole tree. Raises Failed, CONFLICT, and changes
    nothing if a file was moved concurrently; OUT_OF_SCOPE.
    """
    with translating_errors():
        check_writable(session.tree, *(path for rename in change.renames for path in rename))
    shows, unlimited = session.tree.shows, session.whole
    renames = [Rename(source, target, _inode_of(session, source)) for source, target in change.renames]
    texts = _Texts(session, change)
    hidden_texts = _Texts(unlimited, change, shows) if unlimited is not session else None
    edits = [*texts.changed(), *(hidden_texts.changed() if hidden_texts is not None else ())]
    rewrites = [_stage_rewrite(unlimited, journal, change, page, text) for page, text in edits]
    plan = BatchPlan(renames, rewrites, change.emptied, _event_lines(unlimited, change, edits))

    def write_again(path: str) -> tuple[Digest, bytes] | None:
        return texts.again(path) if hidden_texts is None or shows(path) else hidden_texts.again(path)

    try:
        skipped_pages = batch_rename.carry_out_plan(unlimited.tree, journal, plan, write_again)
    except Stale as error:
        raise Failed("CONFLICT", "conflict", MODIFIED_SENTENCE, f"{error} Look again, then retry.") from error
    _update_memory(session, change, {page.path: (page.digest, _digest_of_text(text)) for page, text in edits})
    return RelocationOutcome(texts.links, tuple(filter(shows, skipped_pages)))


def count_links(session: Session, change: TreeChange) -> int:
    """Number of links that *change* would rewrite, in the pages that the session shows."""
    texts = _Texts(session, change)
    texts.changed()
    return texts.links


PageEdits = Sequence[tuple[page_writes.Page, str]]


class _Texts:
    """Page texts after one change. is_left_out: whether the texts of a page are another's."""

    def __init__(
        self, session: Session, change: TreeChange, is_left_out: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._session, self._change, self._is_left_out = session, change, is_left_out
        self._snapshot = session.catalogue.snapshot()
        self._before = {change.path_after(path): path for path in self._snapshot.pages}
        self._moving = (
            session.linkage.plan_moves(self._snapshot, NameChange(dict(change.renames), change.titles))
            if change.links
            else None
        )
        self._touched = frozenset(self._moving.touched) if self._moving is not None else frozenset()
        self._keys = self._changed_keys()
        self._counts: dict[str, int] = {}

    @property
    def links(self) -> int:
        """Number of rewritten links."""
        return sum(self._counts.values())

    def changed(self) -> PageEdits:
        """Pages whose text changes, with the new text."""
        paths = [path for path in sorted(self._touched | self._keys.keys()) if not self._is_left_out(path)]
        return [edit for path in paths if (edit := self._edit_of(path)) is not None]

    def _changed_keys(self) -> Mapping[str, dict[str, Json]]:
        """Changed front matter keys by the old paths of pages."""
        keys: dict[str, dict[str, Json]] = {path: {"title": title} for path, title in self._change.titles.items()}
        for path, card in self._snapshot.summaries_by_path.items():
            old = original_of(card) if self._change.links else None
            if old is not None:
                link = original_link(self._change.path_after(path), self._change.path_after(old))
                if link != original_link(path, old):
                    keys.setdefault(path, {})[ORIGINAL] = link
        return keys

    def again(self, path: str) -> tuple[Digest, bytes] | None:
        """Digest and new bytes of a page at its new *path* after a concurrent save."""
        try:
            page = page_writes.read_page_file(self._session, path)
        except Failed:
            return None
        text = self._new_text(self._before[path], page.content)
        return (page.digest, text.encode()) if text != page.text else None

    def _edit_of(self, path: str) -> tuple[page_writes.Page, str] | None:
        content = self._snapshot.read_text(path)  # also a page being written: the write may end in time
        if content is None or content.text is None:
            return None
        page = page_writes.Page(
            path, PageText(content.text, self._session.dialect), _digest_of_text(content.text), content.stat
        )
        text = self._new_text(path, page.content)
        return (page, text) if text != page.text else None

    def _new_text(self, path: str, page: PageText) -> str:
        if self._moving is not None and path in self._touched:
            new = self._moving.relink(path, page)
            page, self._counts[path] = new.page, new.count
        if path in self._keys:
            with suppress(Damaged):
                page = with_keys(page, self._keys[path])
        return page.text


def _inode_of(session: Session, path: str) -> int:
    stat = session.tree.stat(path)
    if stat is None:
        raise page_modified(path, is_gone=True)
    return stat.inode


def _stage_rewrite(
    session: Session, journal: Journal, change: TreeChange, page: page_writes.Page, text: str
) -> Rewrite:
    entry = page_writes.id_of_page(session, page)
    return batch_rename.stage_text(journal, change.path_after(page.path), entry, page.digest, text.encode())


def _event_lines(session: Session, change: TreeChange, edits: PageEdits) -> tuple[str, str]:
    """The events to append after the change."""
    lines: list[tuple[EventType, Mapping[str, object]]] = []
    new = {page.path: text for page, text in edits}
    for path, target in change.pages.items():
        page = page_writes.read_page_file(session, path)
        facts = {"page_id": str(page_writes.id_of_page(session, page)), "path": target, "old_path": path}
        kind, extra_facts = change.called.get(path, (EventType.PAGE_MOVED, {}))
        lines.append((kind, {**facts, "digest": _digest_of_text(new.get(path, page.text)).hex(), **extra_facts}))
    for path, target in change.folders.items():
        lines.append((EventType.PAGE_MOVED, {"page_id": id_of_folder(session, path), "path": target, "old_path": path}))
    lines += _attachment_events(session, change)
    for page, text in edits:
        if page.path not in change.pages:
            facts = {"page_id": str(page_writes.id_of_page(session, page)), "path": change.path_after(page.path)}
            lines.append((EventType.PAGE_WRITTEN, {**facts, "digest": _digest_of_text(text).hex()}))
    return command_events.event_lines(session, lines)


def _attachment_events(session: Session, change: TreeChange) -> Iterator[tuple[EventType, Mapping[str, object]]]:
    if not change.attachments:
        return
    owner_page = page_writes.read_page_file(session, next(iter(change.pages)))
    owner = page_writes.id_of_page(session, owner_page)
    for path, target in change.attachments.items():
        yield page_writes.attachment_move(owner, page_writes.id_of_file(session, path), path, target)


def _update_memory(session: Session, change: TreeChange, digests: Mapping[str, tuple[Digest, Digest]]) -> None:
    """Move what this session saw to the new paths and to the texts with new links."""
    for path in list(session.last_digests):
        old, new = digests.get(path, (None, None))
        session.memory.move(
            path, change.path_after(path), new if new is not None and session.last_digests[path] == old else None
        )


def _digest_of_text(text: str) -> Digest:
    return digest_of(text.encode())


def promote_leaves(session: Session, journal: Journal, path: str) -> None:
    """Turn every leaf above the new page *path* into the page of its directory, inside `writing()`."""
    if leaf_renames := promotion_renames(session.tree, path):
        apply_change(session, journal, TreeChange(leaf_renames, dict(leaf_renames), {}))


def promotion_renames(tree: Tree, path: str) -> list[tuple[str, str]]:
    """The leaves above *path*, topmost first, each with its future index file."""
    pairs = []
    for directory in reversed(list(lineage(parent_of(path)))):
        leaf = tree.stat(directory + SUFFIX) if tree.stat(directory) is None else None
        if leaf is not None and leaf.is_file and may_write(tree, directory):
            pairs.append((directory + SUFFIX, f"{directory}/{INDEX_FILE}"))
    return pairs
