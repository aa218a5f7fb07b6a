"""A folder without a page file goes to the trash with all that is in it, and comes back."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from mirrord.commands import discarding, events, paths, promotion, writing
from mirrord.commands.failure import Failed, explained, modified
from mirrord.commands.plain_folders import NO_TEXT, folder_to_change, id_of_folder
from mirrord.commands.session import Session
from mirrord.domain.entry import Digest, EntryId, Kind
from mirrord.domain.event import Type
from mirrord.errors import Stale
from mirrord.mirror import replace, trash
from mirrord.mirror.card import Card
from mirrord.mirror.ignore import Ignore
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import new_key
from mirrord.mirror.layout import SUFFIX, directory_of, spot_of_file
from mirrord.mirror.scan import scan
from mirrord.mirror.tree import Tree
from mirrord.mirror.walk import is_in_assets

REASON = "folder deleted by a tool"


@dataclass(frozen=True, slots=True)
class Doomed:
    """
    What goes with a folder.

    pages: those above before those below. attachments: their paths. directories: it and those in it, the deepest first.
    """

    folder: Card
    pages: Sequence[writing.Page]
    attachments: Sequence[str]
    directories: Sequence[str]


def doomed_folder(session: Session, path: str, expected_digest: str | None, *, recursive: bool) -> Doomed:
    """All that goes with the folder at *path*. Raises Failed: HAS_CHILDREN, or HAS_FILES for what is not synced."""
    folder = folder_to_change(session, path, expected_digest)
    with explained():
        found = scan(session.tree, Ignore(), folder.path)
        _check_files(session.tree, folder.path, [folder.path, *found.directories], set(found.files))
    kinds = {one: spot.kind for one in found.files if (spot := spot_of_file(one)) is not None}
    pages = sorted((one for one in kinds if kinds[one] is Kind.PAGE), key=lambda one: (one.count("/"), one))
    inside = [one for one in found.directories if not is_in_assets(one)]
    if (pages or inside) and not recursive:
        raise has_children(folder.path, len(pages))
    read = [writing.read(session, page) for page in pages]
    for page in read:
        writing.check_unchanged(session, page, None)
    directories = sorted([folder.path, *found.directories], key=lambda one: one.count("/"), reverse=True)
    return Doomed(folder, read, [one for one in kinds if kinds[one] is Kind.ATTACHMENT], directories)


def remove_folder(session: Session, journal: Journal, doomed: Doomed) -> tuple[str, str, dict[str, str]]:
    """
    Move it to the trash, inside `writing()`: its id, what restore_page takes, and the same for each page by its path.

    Raises Failed, CONFLICT, if somebody saved something in it meanwhile: what went by then is in the trash.
    """
    path, key = doomed.folder.path, new_key()
    entry = id_of_folder(session, path)
    pages = {page.path: discarding.remove_page(session, journal, page)[1] for page in reversed(doomed.pages)}
    with explained():
        for attachment in doomed.attachments:
            _remove_attachment(session, journal, attachment, key)
        card = trash.Card(path, path.rpartition("/")[2], REASON, time.time())
        trash.put_directory(session.tree, EntryId(UUID(entry)), NO_TEXT, card, key)
        if not all(session.tree.remove_directory(one) for one in doomed.directories):
            raise modified(path)
    events.record(session, Type.PAGE_DELETED, {"page_id": entry, "path": path, "trash_id": key})
    return entry, key, pages


def target_of_folder(session: Session, found: trash.Trashed, path: str | None) -> str:
    """The directory that a folder from the trash is to be. Raises Failed, EXISTS, if a page has that name."""
    asked = path if path is not None else found.card.path if found.card is not None else ""
    if paths.existing(session, asked) is not None:
        raise Failed("EXISTS", "conflict", f"There is a page at {asked!r} already.", "Give another path.")
    return paths.folder(session, asked) or directory_of(paths.fresh(session, asked), Kind.PAGE)


def restore_folder(session: Session, journal: Journal, found: trash.Trashed, target: str) -> str:
    """
    Make the directory again, inside `writing()`; the folder's id. Its pages may have been first and made it.

    At the place where it was it is who it was: a folder has nothing but its path by which the daemon could know it.
    """
    promotion.promote(session, journal, target + SUFFIX)
    with explained():
        session.tree.make_directories(target)
    trash.take_out(session.tree, found)
    is_back = found.card is not None and found.card.path == target
    return str(found.label.entry) if is_back else id_of_folder(session, target)


def has_children(path: str, count: int) -> Failed:
    """Something is below a page or folder that was to be deleted; count: of pages."""
    what = "folders" if count == 0 else "a page" if count == 1 else f"{count} pages"
    return Failed(
        "HAS_CHILDREN",
        "conflict",
        f"{path} has {what} below it.",
        "Delete it with recursive to delete them too, or move them away first.",
        {"children": count},
    )


def _remove_attachment(session: Session, journal: Journal, path: str, trash_id: str) -> None:
    removal = discarding.follower(session, path, trash_id)
    if removal is None:
        raise modified(path)
    entry, over = EntryId(UUID(removal.entry)), Digest(bytes.fromhex(removal.over))
    try:
        save = replace.remove(
            *(session.tree, journal, path), entry=entry, over=over, reason=removal.reason, key=removal.key
        )
    except Stale:
        raise writing.changed_now(session, path) from None
    if save is not None:
        raise modified(path)


def _check_files(tree: Tree, path: str, directories: Sequence[str], known: set[str]) -> None:
    if (other := next(_others(tree, directories, known), None)) is not None:
        raise Failed(
            "HAS_FILES",
            "conflict",
            f"{path} holds files that are not synced, such as {other}.",
            "Delete or move its pages one by one, or ask the person to take those files away.",
        )


def _others(tree: Tree, directories: Sequence[str], known: set[str]) -> Iterator[str]:
    """What lies in *directories* and is neither *known* nor one of them."""
    inside = {*directories, *known}
    for directory in directories:
        yield from (one for name in tree.names(directory) if (one := f"{directory}/{name}") not in inside)
