"""Files get other paths and links follow them, as one plan: all or none."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from mirrord.codec.frontmatter import Json, with_keys
from mirrord.commands import events, writing
from mirrord.commands.belongings import original_link, original_of
from mirrord.commands.failure import MODIFIED, Failed, modified
from mirrord.commands.plain_folders import id_of_folder
from mirrord.commands.session import Session
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.event import Type
from mirrord.domain.source import ORIGINAL
from mirrord.errors import Damaged, Stale
from mirrord.mirror import relocation
from mirrord.mirror.journal import Journal
from mirrord.mirror.plan import Plan, Rename, Rewrite


@dataclass(frozen=True, slots=True)
class Change:
    """
    What is to become of a tree.

    renames: of files and directories, each source and target as they are when the ones before are done.
    pages: those it is about, by their paths before and after; they become events. titles: new ones, by paths before.
    emptied: directories that go if nothing is left in them. links: whether they follow.
    called: what happened to a page, by its path before, if that is more than that it moved, with further facts of it.
    folders: without a page file, as pages.
    """

    renames: Sequence[tuple[str, str]]
    pages: Mapping[str, str]
    titles: Mapping[str, str]
    emptied: Sequence[str] = ()
    links: bool = True
    called: Mapping[str, tuple[Type, Mapping[str, object]]] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)

    def moved(self, path: str) -> str:
        """Where a file or directory is afterwards."""
        for source, target in self.renames:
            if path == source or path.startswith(source + "/"):
                path = target + path[len(source) :]
        return path


@dataclass(frozen=True, slots=True)
class Relocated:
    """links: how many were written anew. left: pages whose links could not be, and are as they were."""

    links: int
    left: tuple[str, ...]


def relocate(session: Session, journal: Journal, change: Change) -> Relocated:
    """
    Carry *change* out, inside `writing()`.

    Raises Failed, CONFLICT, if somebody moved something meanwhile; then nothing is changed.
    """
    renames = [Rename(source, target, _inode(session, source)) for source, target in change.renames]
    texts = _Texts(session, change)
    edits = texts.changed()
    rewrites = [_staged(session, journal, change, page, text) for page, text in edits]
    plan = Plan(renames, rewrites, change.emptied, _note(session, change, edits))
    try:
        left = relocation.carry_out(session.tree, journal, plan, texts.again)
    except Stale as error:
        raise Failed("CONFLICT", "conflict", MODIFIED, f"{error} Look again, then retry.") from error
    _remember(session, change, {page.path: (page.digest, _digest(text)) for page, text in edits})
    return Relocated(texts.links, tuple(left))


def links_of(session: Session, change: Change) -> int:
    """How many links *change* would write anew."""
    texts = _Texts(session, change)
    texts.changed()
    return texts.links


Edits = Sequence[tuple[writing.Page, str]]


class _Texts:
    """The texts of pages after one change."""

    def __init__(self, session: Session, change: Change) -> None:
        self._session, self._change = session, change
        self._snapshot = session.catalogue.look()
        self._before = {change.moved(path): path for path in self._snapshot.pages}
        self._moving = (
            session.linkage.moving(self._snapshot, dict(change.renames), change.titles) if change.links else None
        )
        self._touched = frozenset(self._moving.touched) if self._moving is not None else frozenset()
        self._keys = self._front_matter()
        self._counts: dict[str, int] = {}

    @property
    def links(self) -> int:
        """How many links were written anew."""
        return sum(self._counts.values())

    def changed(self) -> Edits:
        """Pages whose text is another afterwards, with that text."""
        paths = sorted(self._touched | self._keys.keys())
        return [found for path in paths if (found := self._edit(path)) is not None]

    def _front_matter(self) -> Mapping[str, dict[str, Json]]:
        """Keys that get another value, by the paths of pages before."""
        keys: dict[str, dict[str, Json]] = {path: {"title": title} for path, title in self._change.titles.items()}
        for path, card in self._snapshot.every.items():
            old = original_of(card) if self._change.links else None
            if old is not None:
                link = original_link(self._change.moved(path), self._change.moved(old))
                if link != original_link(path, old):
                    keys.setdefault(path, {})[ORIGINAL] = link
        return keys

    def again(self, path: str) -> tuple[Digest, bytes] | None:
        """What a page that is at *path* now, and was saved meanwhile, holds and is to hold."""
        try:
            page = writing.read(self._session, path)
        except Failed:
            return None
        text = self._text(self._before[path], page.text)
        return (page.digest, text.encode()) if text != page.text else None

    def _edit(self, path: str) -> tuple[writing.Page, str] | None:
        whole = self._snapshot.read(path)  # also of a page that somebody is writing: that may be over in time
        if whole is None or whole.text is None:
            return None
        page = writing.Page(path, whole.text, _digest(whole.text), whole.stat)
        text = self._text(path, page.text)
        return (page, text) if text != page.text else None

    def _text(self, path: str, text: str) -> str:
        if self._moving is not None and path in self._touched:
            new = self._moving.relinked(path, text)
            text, self._counts[path] = new.text, new.count
        if path in self._keys:
            with suppress(Damaged):
                text = with_keys(text, self._keys[path])
        return text


def _inode(session: Session, path: str) -> int:
    found = session.tree.stat(path)
    if found is None:
        raise modified(path, is_gone=True)
    return found.inode


def _staged(session: Session, journal: Journal, change: Change, page: writing.Page, text: str) -> Rewrite:
    entry = writing.page_id(session, page)
    return relocation.stage(journal, change.moved(page.path), entry, page.digest, text.encode())


def _note(session: Session, change: Change, edits: Edits) -> tuple[str, str]:
    """The events, to be added when all is done."""
    lines = []
    new = {page.path: text for page, text in edits}
    for path, target in change.pages.items():
        page = writing.read(session, path)
        facts = {"page_id": str(writing.page_id(session, page)), "path": target, "old_path": path}
        kind, more = change.called.get(path, (Type.PAGE_MOVED, {}))
        lines.append((kind, {**facts, "digest": _digest(new.get(path, page.text)).hex(), **more}))
    for path, target in change.folders.items():
        lines.append((Type.PAGE_MOVED, {"page_id": id_of_folder(session, path), "path": target, "old_path": path}))
    for page, text in edits:
        if page.path not in change.pages:
            facts = {"page_id": str(writing.page_id(session, page)), "path": change.moved(page.path)}
            lines.append((Type.PAGE_WRITTEN, {**facts, "digest": _digest(text).hex()}))
    return events.lines(session, lines)


def _remember(session: Session, change: Change, digests: Mapping[str, tuple[Digest, Digest]]) -> None:
    """What this session saw, it has seen where it is now, and with the links it has now."""
    for path in list(session.seen):
        old, new = digests.get(path, (None, None))
        session.memory.move(path, change.moved(path), new if new is not None and session.seen[path] == old else None)


def _digest(text: str) -> Digest:
    return digest_of(text.encode())
