"""
Paths of an app's rows, such as `garden/beans`, as parents and names. Pure.

A part of a path without a row of its own is a folder, which has a page without a body: `folder:garden`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from mirrord.binding.app_rows import AppRow
from mirrord.binding.mappings.mapping import FOLDER_PREFIX
from mirrord.binding.mappings.path_names import name_in, trouble_with

FOLDER_VERSION = "0"  # of a folder, in which nothing changes


def path_above(path: str) -> str:
    """The path of what is above *path*; "": it is at the top."""
    return path.rpartition("/")[0]


def paths_above(path: str) -> Iterator[str]:
    """The paths of all that is above *path*."""
    while path := path_above(path):
        yield path


def folders_of(paths: Collection[str]) -> set[str]:
    """The paths of the folders that rows with *paths* are in."""
    usable = {path for path in paths if trouble_with(path) is None}
    return {above for path in usable for above in paths_above(path)} - usable


def paths_sought(paths: Iterable[str], folders: Collection[str]) -> set[str]:
    """The paths at which a row may be that is above *paths* or *folders*, or has the place of a folder."""
    usable = [path for path in paths if trouble_with(path) is None]
    return {above for path in (*usable, *folders) if (above := path_above(path))} | set(folders)


def placed_rows(rows: Mapping[str, AppRow], ids_at: Mapping[str, str]) -> dict[str, AppRow]:
    """*rows*, of which `parent` is the path as it was read, with their parents. ids_at: rows by their paths."""
    return {external_id: _placed(row, row.parent or "", ids_at) for external_id, row in rows.items()}


def folder_rows(folders: Iterable[str], ids_at: Mapping[str, str]) -> dict[str, AppRow]:
    """The *folders* as rows, by their ids."""
    return {
        FOLDER_PREFIX + path: _placed(
            AppRow(FOLDER_PREFIX + path, None, name_in(path), None, FOLDER_VERSION, None), path, ids_at
        )
        for path in folders
    }


def ids_by_path(rows: Mapping[str, AppRow]) -> dict[str, str]:
    """The ids of *rows*, which are not placed yet, by their paths; of equal paths the first id counts."""
    return {row.parent or "": external_id for external_id, row in sorted(rows.items(), reverse=True)}


def _placed(row: AppRow, path: str, ids_at: Mapping[str, str]) -> AppRow:
    above = path_above(path) if trouble_with(path) is None else ""
    parent = ids_at.get(above, FOLDER_PREFIX + above) if above else None
    return replace(row, path=path, parent=parent)
