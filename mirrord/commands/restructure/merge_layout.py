"""Where pages and attachments go that are below merged pages: below the page that takes them in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mirrord.commands.core.failure import invalid_argument
from mirrord.commands.core.page_paths import own_attachments, taken_keys
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan, page_trash
from mirrord.commands.pages.move_commands import children_directory_of
from mirrord.commands.pages.page_writes import Page
from mirrord.domain.entry import Kind
from mirrord.domain.place import ASSETS, name_key, numbered_attachment, numbered_names, unused_name
from mirrord.mirror.tree.scoped_tree import may_write
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX, directory_of, parent_of, spot_of_file


@dataclass(frozen=True, slots=True)
class MergeLayout:
    """moves: new paths of files by their old ones. emptied: directories to remove if they are empty, children first."""

    moves: Mapping[str, str]
    emptied: Sequence[str]


def lay_out_merge(session: Session, pages: Sequence[Page], into: Page) -> MergeLayout:
    """Where the files below *pages* go. Raises Failed, CYCLE, if *into* is one of them."""
    snapshot = session.catalogue.snapshot()
    merged_paths = {page.path for page in pages}
    directories = {page.path: children_directory_of(session.tree, page.path) for page in pages}
    tops = [directory for directory in directories.values() if directory is not None]
    files = [
        path
        for path in (*snapshot.pages, *snapshot.attachments)
        if path not in merged_paths and any(path.startswith(f"{top}/") for top in tops)
    ]
    if into.path in files:
        raise invalid_argument("CYCLE", f"{into.path} is below a page that would go into it.", "Merge the other way.")
    leaves = [page.path for page in pages if directories[page.path] is None or not page.path.endswith(f"/{INDEX_FILE}")]
    loose = [path for leaf in leaves for path in own_attachments(session, leaf)]
    placement = _Placement(session, into.path, has_children=any(path in snapshot.pages for path in files))
    moves = dict(placement.promotions)
    for path in sorted(files):
        moves[path] = placement.place(path, max((top for top in tops if path.startswith(f"{top}/")), key=len))
    for path in loose:
        place = placement.place(path, _folder_of(path)) if _folder_of(path) != placement.attachments_home else path
        if snapshot.would_attach(place) and may_write(session.tree, path) and may_write(session.tree, place):
            moves[path] = place
    emptied = {directory for page in pages for directory in page_trash.directories_of(session.tree, page.path)}
    return MergeLayout(
        {path: new for path, new in moves.items() if path != new},
        sorted(emptied, key=lambda path: path.count("/"), reverse=True),
    )


def _folder_of(attachment: str) -> str:
    spot = spot_of_file(attachment)
    return spot.folder if spot is not None else parent_of(attachment)


@dataclass(slots=True)
class _Placement:
    """Free places below the page that takes files in."""

    session: Session
    into: str
    has_children: bool
    promotions: Mapping[str, str] = field(init=False)
    attachments_home: str = field(init=False)
    _home: str = field(init=False)
    _used_keys: set[str] = field(init=False)
    _stems: dict[tuple[str, str], str] = field(default_factory=dict)
    _places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._home = directory_of(self.into, Kind.PAGE)
        child = f"{self._home}/child{SUFFIX}"
        self.promotions = dict(move_plan.promotion_renames(self.session.tree, child)) if self.has_children else {}
        self.attachments_home = parent_of(self.promotions.get(self.into, self.into))
        self._used_keys = taken_keys(self.session.tree, self._home)

    def place(self, path: str, directory: str) -> str:
        """The new path of a file below *directory*: pages and folders keep what is below them."""
        first, slash, below = path[len(directory) :].lstrip("/").partition("/")
        if first == ASSETS and slash:
            home = self._home if self.has_children else self.attachments_home
            return self._free_attachment(f"{home}/{ASSETS}".lstrip("/"), below)
        if not slash and not first.endswith(SUFFIX):
            return self._free_attachment(self._home if self.has_children else self.attachments_home, first)
        stem = first if slash else first.removesuffix(SUFFIX)
        new = self._stems.get((directory, stem))
        if new is None:
            new = self._stems[directory, stem] = unused_name(stem, self._used_keys)
            self._used_keys.add(name_key(new))
        return f"{self._home}/{new}{slash}{below}" if slash else f"{self._home}/{new}{SUFFIX}"

    def _free_attachment(self, directory: str, name: str) -> str:
        places = (f"{directory}/{each}".lstrip("/") for each in numbered_names(name, numbered_attachment))
        place = next(each for each in places if each not in self._places and self.session.tree.stat(each) is None)
        self._places.add(place)
        return place
