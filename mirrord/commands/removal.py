"""The agent deletes pages, and brings them back from the trash."""

import re
from contextlib import suppress
from dataclasses import dataclass

from mirrord.codec.records import read
from mirrord.codec.text import decode
from mirrord.commands import events, paths, promotion, writing
from mirrord.commands.difference import diff_lines
from mirrord.commands.failure import Failed, explained, modified
from mirrord.commands.session import Session
from mirrord.domain.approval import ABSENT, MOST_LINES, Preview
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.event import Type
from mirrord.domain.place import ASSETS
from mirrord.domain.record import Form, name_of_record
from mirrord.errors import Busy, Damaged, Refused, Stale
from mirrord.mirror import replace, trash
from mirrord.mirror.card import LIMIT
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.journal import TRASH, Journal
from mirrord.mirror.label import new_key
from mirrord.mirror.layout import directory_of, page_path, parent_of, spot_of_file
from mirrord.mirror.lock import lock_for
from mirrord.mirror.plan import Removal
from mirrord.mirror.scan import scan
from mirrord.mirror.trash import Trashed
from mirrord.mirror.tree import Tree

REASON = "deleted by a tool"
_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Deleted:
    """
    A page that went to the trash.

    trash_id: what restore_page takes. below: the same for the pages below it that went too, by their paths.
    """

    page_id: str
    trash_id: str
    path: str
    below: dict[str, str]


@dataclass(frozen=True, slots=True)
class Restored:
    """A page that came back. warnings: sentences about what went with it and did not, or not as it was."""

    page_id: str
    path: str
    digest: str
    warnings: tuple[str, ...] = ()


def delete_page(session: Session, path: str, expected_digest: str | None = None, *, recursive: bool = False) -> Deleted:
    """
    Move a page to the trash, from which restore_page brings it back for 30 days.

    recursive: with the pages below it; without, a page that has some is refused. Attachments stay where they are.
    """
    with session.writing() as journal:
        page, children = _doomed(session, path, expected_digest, recursive=recursive)
        gone = {child.path: _remove(session, journal, child)[1] for child in reversed(children)}
        entry, trash_id = _remove(session, journal, page)
        tidy(session.tree, page.path)
        return Deleted(str(entry), trash_id, page.path, gone)


def preview_delete_page(
    session: Session, path: str, expected_digest: str | None = None, *, recursive: bool = False
) -> Preview:
    """What delete_page would do."""
    page, children = _doomed(session, path, expected_digest, recursive=recursive)
    pages = [page, *children]
    more = f" with the {len(children)} below it" if children else ""
    facts = {"path": page.path, "deleted_pages_count": len(pages)}
    lines = tuple(one.path for one in pages[:MOST_LINES])
    bases = {one.path: one.digest.hex() for one in pages}
    return Preview(f"The page {page.path} would go to the trash{more}.", facts, lines, bases)


def restore_page(session: Session, trash_id: str, path: str | None = None) -> Restored:
    """
    Bring a deleted page back; the pages that were below it come back by their own ids.

    path: where to; None: where it was. Raises Failed, EXISTS, if a page is there by now.
    """
    with session.writing() as journal:
        found, text, target = _restorable(session, trash_id, path)
        promotion.promote(session, journal, target)
        entry = found.label.entry
        try:
            digest = writing.make(session, journal, target, text, entry)
        except Stale as error:
            raise writing.is_taken(error) from error
        trash.take_out(session.tree, found)
        warnings = _bring_along(session, journal, trash_id, target, entry)
        facts = {"page_id": str(entry), "path": target, "trash_id": trash_id, "digest": digest.hex()}
        events.record(session, Type.PAGE_RESTORED, facts)
        return Restored(str(entry), target, digest.hex(), tuple(warnings))


def preview_restore_page(session: Session, trash_id: str, path: str | None = None) -> Preview:
    """What restore_page would do."""
    _, text, target = _restorable(session, trash_id, path)
    facts = {"path": target, "trash_id": trash_id}
    lines = diff_lines(target, "", text)
    return Preview(f"The page {target} would come back from the trash.", facts, lines, {target: ABSENT})


def _doomed(
    session: Session, path: str, expected_digest: str | None, *, recursive: bool
) -> tuple[writing.Page, list[writing.Page]]:
    """The page to delete and those below it, all unchanged. Raises Failed, HAS_CHILDREN."""
    page = writing.find(session, path)
    writing.check_unchanged(session, page, expected_digest)
    children = [writing.read(session, child) for child in below(session.tree, page.path)]
    if children and not recursive:
        raise _has_children(page.path, len(children))
    for child in children:
        writing.check_unchanged(session, child, None)
    return page, children


def _restorable(session: Session, trash_id: str, path: str | None) -> tuple[Trashed, str, str]:
    """What is in the trash, its text, and where it may go. Raises Failed, EXISTS."""
    found, text = _trashed(session, trash_id)
    asked = path if path is not None else found.card.path if found.card is not None else ""
    if paths.existing(session, asked) is not None:
        raise Failed("EXISTS", "conflict", f"There is a page at {asked!r} already.", "Give another path.")
    return found, text, paths.fresh(session, asked)


def below(tree: Tree, path: str) -> list[str]:
    """The pages below the page at *path*, those above before those below."""
    directory = directory_of(path, Kind.PAGE)
    if path != (index := page_path("", directory, index=True)) and tree.stat(index) is not None:
        return []  # beside `W/_index.md`, `W/` is not the directory of `W.md`
    found = scan(tree, Ignore(), directory).files
    pages = [one for one in found if one != path and (spot := spot_of_file(one)) and spot.kind is Kind.PAGE]
    return sorted(pages, key=lambda one: (one.count("/"), one))


def take_away(session: Session, journal: Journal, page: writing.Page) -> tuple[EntryId, str]:
    """Move a page to the trash; its id, and what restore_page takes. Inside `writing()`; record what happened."""
    entry, trash_id = writing.page_id(session, page), new_key()
    with explained():
        try:
            save = replace.remove(
                *(session.tree, journal, page.path),
                entry=entry,
                over=page.digest,
                reason=REASON,
                title=_title(page),
                key=trash_id,
            )
        except Stale:
            raise writing.changed_now(session, page.path) from None
    if save is not None:  # somebody's, which is taken in
        raise modified(page.path, is_gone=True)
    session.memory.forget(page.path)
    return entry, trash_id


def removal_of(session: Session, page: writing.Page, trash_id: str) -> Removal:
    """The same as a part of a plan."""
    entry = writing.page_id(session, page)
    return Removal(page.path, str(entry), page.digest.hex(), trash_id, REASON, _title(page))


def follower(session: Session, path: str, trash_id: str) -> Removal | None:
    """An attachment or record that goes to the trash after its page; None: it is gone, or somebody is writing it."""
    digest = writing.digest_now(session, path)
    if digest is None:
        return None
    return Removal(path, str(writing.file_id(session, path)), digest.hex(), new_key(), followed(trash_id))


def followed(trash_id: str) -> str:
    """Why something is in the trash that went with a page."""
    return f"went with {trash_id}"


def _remove(session: Session, journal: Journal, page: writing.Page) -> tuple[EntryId, str]:
    entry, trash_id = take_away(session, journal, page)
    facts = {"page_id": str(entry), "path": page.path, "trash_id": trash_id}
    events.record(session, Type.PAGE_DELETED, facts)
    return entry, trash_id


def tidy(tree: Tree, path: str) -> None:
    """Empty directories that belonged to the page go, its `assets` too."""
    for one in directories_of(tree, path):
        with suppress(Refused, OSError):
            tree.remove_directory(one)


def directories_of(tree: Tree, path: str) -> list[str]:
    """The directories that belong to the page, its `assets` too; what is inside of others comes before those."""
    directory = directory_of(path, Kind.PAGE)
    found = [directory, f"{parent_of(path)}/{ASSETS}".lstrip("/")]
    with suppress(Refused, OSError):
        found += scan(tree, Ignore(), directory).directories
    return sorted(found, key=lambda one: one.count("/"), reverse=True)


def _title(page: writing.Page) -> str:
    return page.head.title or page.path.removesuffix("/_index.md").removesuffix(".md").rpartition("/")[2]


def _bring_along(session: Session, journal: Journal, trash_id: str, target: str, entry: EntryId) -> list[str]:
    """What went to the trash with the page now at *target* comes back to its place; sentences about what does not."""
    warnings = []
    for found in trash.contents_of(session.tree):
        if found.card is None or found.card.reason != followed(trash_id):
            continue
        path = found.card.path
        try:
            with lock_for(session.tree, [path]):
                data, _ = session.tree.read(f"{TRASH}/{found.name}", LIMIT)
                session.tree.make_directories(parent_of(path))
                replace.write(session.tree, journal, path, data, entry=found.label.entry, over=None)
        except (Stale, Damaged, Busy, Refused) as error:
            warnings.append(f"{path}, which went with this page, stays in the trash: {error}")
            continue
        trash.take_out(session.tree, found)
        warnings += _doubts(session, path, data, target, entry)
    return warnings


def _doubts(session: Session, path: str, data: bytes, target: str, entry: EntryId) -> list[str]:
    """Why a record that came back may not count for the page at *target*."""
    if name_of_record(path) is None:
        return []
    found = []
    try:
        read(Form.JSON, decode(data))
    except Damaged as error:
        found.append(f"{path} came back, but cannot be read: {error}. Mend that file.")
    cards = list(session.catalogue.look().every.values())
    others = [one for one, owner in session.catalogue.look().ids(cards).items() if owner == entry and one != target]
    if others:
        found.append(f"{others[0]} has the id of this page too; {path} counts for the one that keeps it.")
    return found


def _trashed(session: Session, trash_id: str) -> tuple[Trashed, str]:
    found = trash.find(session.tree, trash_id) if _KEY.fullmatch(trash_id) else None
    if found is None:
        raise Failed("NOT_IN_TRASH", "not_found", f"The trash holds nothing called {trash_id!r}.", "Use a trashId.")
    with explained():
        data, _ = session.tree.read(f"{TRASH}/{found.name}", LIMIT)
        return found, decode(data)


def _has_children(path: str, count: int) -> Failed:
    pages = "a page" if count == 1 else f"{count} pages"
    return Failed(
        "HAS_CHILDREN",
        "conflict",
        f"{path} has {pages} below it.",
        "Delete it with recursive to delete them too, or move them away first.",
        {"children": count},
    )
