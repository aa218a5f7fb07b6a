"""Rows and folders of an app that has paths: read with their parents."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mirrord.binding.app_rows import AppRow
from mirrord.binding.mappings.mapping import FOLDER_PREFIX
from mirrord.binding.paths.row_paths import folder_rows, paths_sought, placed_rows
from mirrord.binding.statements.path_queries import PathStatements
from mirrord.db.bindings import app_tables
from mirrord.db.database import Connection


@dataclass(frozen=True, slots=True)
class PathPlaces:
    """Finds what is at paths of the app. role: of the binding. tenant: as of AppSource."""

    connection: Connection
    statements: PathStatements
    role: str
    tenant: str

    async def with_places(self, rows: Mapping[str, AppRow], ids: Collection[str]) -> dict[str, AppRow]:
        """*rows*, as they were read, with their parents; and those of *ids* that are folders."""
        folder_paths = {each.removeprefix(FOLDER_PREFIX) for each in ids if each.startswith(FOLDER_PREFIX)}
        paths = [row.parent or "" for row in rows.values()]
        ids_at: dict[str, str] = dict(await self._load(self.statements.rows_at, paths_sought(paths, folder_paths)))
        folders = {path for (path,) in await self._load(self.statements.folders, folder_paths - ids_at.keys())}
        return placed_rows(rows, ids_at) | folder_rows(folders, ids_at)

    async def _load(self, query: str, paths: Collection[str]) -> list[app_tables.AppRecord]:
        return await app_tables.load_rows(self.connection, self.role, query, sorted(paths), self.tenant)
