"""Directories that come again under the name from before their twin got its number: their files are the twin's."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import groupby

from mirrord.db import open_issues
from mirrord.db.content import entry_states
from mirrord.db.database import Connection
from mirrord.domain.entry import EMPTY_DIGEST, Base, Kind, TenantId, id_of_path, parse_id
from mirrord.domain.place import name_key
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.tree_layout import (
    INDEX_FILE,
    SUFFIX,
    attachment_path,
    directory_of,
    lineage,
    page_path,
    parent_of,
    renamed_path,
    spot_of_file,
)
from mirrord.sync.observation.copied_files import has_number, twin_of
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.row_names import names_like
from mirrord.sync.observation.state_assembly import owner_paths


@dataclass(frozen=True, slots=True)
class CopiedDirectories:
    """
    What was found in directories that were copied again.

    twins: the twin's directory by the copied one. saves: files of the twin's files, with their bases.
    new_files: files that the twin lacks, with their paths in it.
    """

    twins: Mapping[str, str] = field(default_factory=dict)
    saves: dict[str, Base] = field(default_factory=dict)
    new_files: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> set[str]:
        """The paths of the directories and of what was found in them."""
        return {*self.twins, *self.saves, *self.new_files}


_PAGE_KINDS = (Kind.PAGE, Kind.FOLDER)
NO_DIRECTORIES = CopiedDirectories()


async def take_copied_directories(
    connection: Connection, sides: Sides, look: LookResult, memory: EarlierState
) -> CopiedDirectories:
    """
    Remove directories from *look* that have a twin made of their path, and the files in them.

    Only while a sibling still has the name: else the directory may have it.
    """
    if not (unknown := _list_unknown(look, memory)):
        return NO_DIRECTORIES
    twins = await _find_twins(connection, sides, unknown)
    copied = {path: twin for path, file in look.found_files.items() if (twin := _path_in_twin(file, memory, twins))}
    if not copied:
        return NO_DIRECTORIES
    files = [look.found_files.pop(path) for path in copied]
    files = [file for file in files if file.spot.kind is not Kind.FOLDER]
    twin_memory = await _load_twin_files(connection, sides, files, copied)
    saves = {
        file.path: base for file in files if (base := find_saved(file, copied[file.path], twin_memory, sides.tenant))
    }
    new_files = {
        file.path: _find_free_path(copied[file.path], twin_memory, sides.looker.index)
        for file in files
        if file.path not in saves
    }
    return CopiedDirectories(twins, saves, new_files)


def _directory_of_file(file: FoundFile) -> str:
    """The directory that *file* is in, or is: of an attachment that of its page."""
    if file.spot.kind is Kind.FOLDER or file.spot.index:
        return directory_of(file.path, file.spot.kind)
    return file.spot.folder


def _list_unknown(look: LookResult, memory: EarlierState) -> set[str]:
    """Directories of new files without an entry that is known to own them, and all above them."""
    files = [file for file in look.found_files.values() if file.path not in memory.base_at_path]
    directories = {_directory_of_file(file) for file in files if file.spot.kind is not Kind.RECORD}
    owned = memory.base_at_path.keys()
    return {above for path in directories if owned.isdisjoint(owner_paths(path)) for above in lineage(path)}


async def _find_twins(connection: Connection, sides: Sides, unknown: Set[str]) -> dict[str, str]:
    """The twin's directory by directory, for those of *unknown* that were copied again, or are in one that was."""
    if not (clashing := _select_clashing(unknown, sides.looker.index)):
        return {}
    owners = await _load_owners(connection, sides, unknown)
    twins: dict[str, str] = {}
    for directory in sorted(unknown - owners.directories):
        above = parent_of(directory)
        twin = owners.find_twin(directory, twins.get(above, above))
        if above in twins:
            twins[directory] = twin or renamed_path(directory, above, twins[above])
        elif twin is not None and directory in clashing:
            twins[directory] = twin
    return twins


@dataclass(frozen=True, slots=True)
class _Owners:
    """
    Directories of pages and folders.

    directories: all that an entry has. made_of: those that are there, with the directory of the path that gave the
    entry its id; None: another one. listed: those that got a number.
    """

    directories: Set[str]
    made_of: Mapping[str, str | None]
    listed: Set[str]

    def find_twin(self, directory: str, above: str) -> str | None:
        """The directory in *above* that was made of *directory* and has its name with a number."""
        numbered = [path for path in self.made_of if _is_numbered(path, directory, above)]
        alike = [path for path in numbered if path in self.listed or self.made_of[path] == directory]
        return min(alike, key=lambda path: (self.made_of[path] != directory, len(path), path), default=None)


async def _load_owners(connection: Connection, sides: Sides, unknown: Collection[str]) -> _Owners:
    problem_paths = await open_issues.load_problem_paths(connection, sides.tenant, sides.mirror, "twin")
    listed = {_directory_at(path) for path in problem_paths}
    paths = {path for directory in {*unknown, *listed} for path in owner_paths(directory)}
    ids = {id_of_path(sides.tenant, path): directory for directory in unknown for path in owner_paths(directory)}
    keys = entry_states.BaseKeys(sorted(paths), list(ids))
    bases = await entry_states.load_bases(connection, sides.tenant, sides.mirror, keys)
    entries = {base.path: base.entry for base in bases if base.path is not None and base.kind in _PAGE_KINDS}
    present = {path: entry for path, entry in entries.items() if path in sides.looker.index}
    made_of = {_directory_at(path): ids.get(entry) for path, entry in present.items()}
    return _Owners({_directory_at(path) for path in entries}, made_of, listed)


def _directory_at(path: str) -> str:
    """The directory of the page or folder at *path*."""
    return directory_of(path, Kind.PAGE if path.endswith(SUFFIX) else Kind.FOLDER)


def _is_numbered(path: str, directory: str, above: str) -> bool:
    """Whether *path* is in *above*, and has the name of *directory* with a number."""
    return parent_of(path) == above and has_number(_last_part(directory), _last_part(path), Kind.FOLDER)


def _select_clashing(directories: Set[str], index: Index) -> set[str]:
    """The directories beside which a page or folder has the same name but for case or spelling."""
    clashing: set[str] = set()
    for above, inside in groupby(sorted(directories, key=parent_of), parent_of):
        siblings_of = defaultdict[str, set[str]](set)
        for sibling in map(_directory_at, index.children_of(above)):
            siblings_of[name_key(_last_part(sibling))].add(sibling)
        clashing |= {path for path in inside if siblings_of[name_key(_last_part(path))] - {path}}
    return clashing


def _last_part(path: str) -> str:
    return path.rpartition("/")[2]


def _path_in_twin(file: FoundFile, memory: EarlierState, twins: Mapping[str, str]) -> str | None:
    directory = _directory_of_file(file)
    if directory not in twins or file.path in memory.base_at_path or file.spot.kind is Kind.RECORD:
        return None
    return renamed_path(file.path, directory, twins[directory])


async def _load_twin_files(
    connection: Connection, sides: Sides, files: Sequence[FoundFile], copied: Mapping[str, str]
) -> EarlierState:
    """The bases of what *files* may be saves of."""
    targets = [copied[file.path] for file in files]
    entries = [id_of_path(sides.tenant, path) for path in (*(file.path for file in files), *targets)]
    entries += [entry for file in files if (entry := parse_id(file.claimed))]
    digests = [file.digest for file in files if file.digest != EMPTY_DIGEST]
    paths = {path for target in targets for path in _list_forms(target)}
    keys = entry_states.BaseKeys(sorted(paths), entries, digests)
    bases = await entry_states.load_bases(connection, sides.tenant, sides.mirror, keys)
    index = sides.looker.index
    missing = frozenset(base.path for base in bases if base.path is not None and base.path not in index)
    return EarlierState(bases, missing_paths=missing)


def _list_forms(path: str) -> list[str]:
    """*path*, and of a page the path of its other form: `W.md` or `W/_index.md`."""
    if not path.endswith(SUFFIX):
        return [path]
    directory = directory_of(path, Kind.PAGE)
    return [path, page_path("", directory, index=not path.endswith(f"/{INDEX_FILE}"))]


def find_saved(file: FoundFile, target: str, memory: EarlierState, tenant: TenantId) -> Base | None:
    """
    The page or attachment of the twin that *file* is a copy or a save of; an attachment must be equal.

    target: the path in the twin's directory. memory: what is there, and what has the id or the bytes of *file*.
    """
    spot = spot_of_file(target)
    if spot is None:
        return None
    for path in _list_forms(target):
        base = memory.base_at_path.get(path)
        if base is not None and not memory.is_lost(base) and _is_save_of(file, base):
            return base
    file_in_twin = replace(file, path=target, spot=spot)
    others = EarlierState([base for base in memory.bases if base.path != target], missing_paths=memory.missing_paths)
    return twin_of(file_in_twin, others, tenant, earlier_path=file.path)


def _is_save_of(file: FoundFile, base: Base) -> bool:
    if base.kind is not Kind.PAGE:
        return base.kind is file.spot.kind and base.digest == file.digest
    return file.spot.kind is Kind.PAGE and (file.spot.index or base.claimed == file.claimed)


def _find_free_path(target: str, memory: EarlierState, index: Index) -> str:
    """*target*, or with a number if another entry is there."""
    base, spot = memory.base_at_path.get(target), spot_of_file(target)
    if base is None or memory.is_lost(base) or spot is None:
        return target
    names = names_like(spot.name, spot.kind)
    path_of = attachment_path if spot.kind is Kind.ATTACHMENT else page_path
    return next((path for name in names if (path := path_of(spot.folder, name)) not in index), target)
