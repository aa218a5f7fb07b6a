"""Paths of places, and the directory that a place is in. Pure."""

from dataclasses import replace

from mirrord.domain.entry import Kind, Place
from mirrord.domain.place import ASSETS
from mirrord.domain.record import record_path
from mirrord.domain.state import Base, File, Row
from mirrord.mirror.layout import INDEX_FILE, attachment_path, directory_of, page_path, parent_of


def path_in(directory: str, kind: Kind, place: Place) -> str:
    """The path of an entry in the directory of its parent."""
    if kind is Kind.ATTACHMENT:
        return attachment_path(directory, place.name)
    if kind is Kind.RECORD:
        return record_path(place.name)
    if kind is Kind.FOLDER:
        return f"{directory}/{place.name}" if directory else place.name
    return page_path(directory, place.name, place.index)


def directory_above(path: str, kind: Kind, *, index: bool) -> str:
    """The directory of the parent of the entry at *path*."""
    if kind is Kind.RECORD:
        return ""
    if kind is Kind.ATTACHMENT and f"/{ASSETS}/" in f"/{path}":
        return f"/{path}".partition(f"/{ASSETS}/")[0].lstrip("/")
    return parent_of(parent_of(path)) if index else parent_of(path)


def agreed_base(base: Base, file: File, row: Row) -> Base:
    """*base* with the text that both sides have; unchanged if they differ, or are of another kind than the base."""
    if file.digest != row.digest or not (base.digest == file.digest or base.kind is file.kind is row.kind):
        return base
    return replace(base, version=row.version, digest=file.digest, claimed=file.claimed)


def moved_base(base: Base, kind: Kind, path: str, place: Place) -> Base:
    """
    The base after an entry shown as *kind* moved to *path*, its *place*; its content is still that of *base*.

    A page that lost its file, or a folder that got one, keeps its kind in the base, with the path that its file or
    its directory would have there.
    """
    if base.kind is kind:
        return replace(base, path=path, place=place)
    directory, index = directory_of(path, kind), base.place.index
    base_path = directory if base.kind is Kind.FOLDER else page_path("", directory, index)
    return replace(base, path=base_path, place=replace(place, index=index))


def by_depth(path: str) -> tuple[int, str, bool]:
    """A sort key: parents before children; a page before the directory of its children, where it stands."""
    directory = path.removesuffix(f"/{INDEX_FILE}") if path.endswith(f"/{INDEX_FILE}") else path.removesuffix(".md")
    return directory.count("/"), directory, path == directory
