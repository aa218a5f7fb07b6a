"""What commands take out of the tree goes to the trash."""

from contextlib import suppress

from mirrord.commands import events, writing
from mirrord.commands.failure import explained, modified
from mirrord.commands.session import Session
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.event import Type
from mirrord.domain.place import ASSETS
from mirrord.errors import Refused, Stale
from mirrord.mirror import replace
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import new_key
from mirrord.mirror.layout import directory_of, page_path, parent_of, spot_of_file
from mirrord.mirror.plan import Removal
from mirrord.mirror.scan import scan
from mirrord.mirror.tree import Tree

REASON = "deleted by a tool"


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


def remove_page(session: Session, journal: Journal, page: writing.Page) -> tuple[EntryId, str]:
    """The same, and the event that tells of it."""
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
