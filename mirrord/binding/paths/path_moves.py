"""Moves and renames of pages as paths of the app: of a row or a folder, and of all rows below it."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirrord.binding.app_row_writes import AppRowWrites, Outpaced
from mirrord.binding.app_rows import AppRow
from mirrord.binding.mappings.mapping import FOLDER_PREFIX
from mirrord.binding.mappings.path_names import trouble_with
from mirrord.binding.page_edits import RowChanges
from mirrord.binding.statements.path_queries import PathStatements
from mirrord.db.bindings import binding_rows, bound_folders, bound_pages
from mirrord.db.bindings.binding_rows import BindingRow
from mirrord.domain.entry import EntryId
from mirrord.errors import Damaged

MAX_MOVED_ROWS = 500  # below one page


@dataclass(frozen=True, slots=True)
class PathMoves:
    """Moves rows in the transaction of a pass. statements: of their paths."""

    app: AppRowWrites
    binding: BindingRow
    statements: PathStatements

    async def path_at(self, parent: EntryId | None, name: str) -> str:
        """The path of *name* below the page *parent*. Raises Damaged if the app has no such place."""
        above = await self.path_of(parent) if parent is not None else None
        path = name if above is None else f"{above}/{name}"
        if (trouble := trouble_with(path)) is not None:
            raise Damaged(trouble)
        return path

    async def path_of(self, entry: EntryId) -> str:
        """The path of a bound page."""
        external_id = await binding_rows.load_external_id(self.app.connection, self.binding, entry)
        if external_id is None:
            raise Damaged("it is below a page that the app has not")
        if external_id.startswith(FOLDER_PREFIX):
            return external_id.removeprefix(FOLDER_PREFIX)
        row = (await self.app.source.load_rows(self.app.connection, [external_id])).get(external_id)
        if row is None or row.path is None or trouble_with(row.path):
            raise Damaged("the page above it has no path in the app")
        return row.path

    async def check_free(self, paths: Sequence[str], rows: Sequence[str]) -> None:
        """Raise Damaged if other rows than *rows* have one of *paths*."""
        others = await self.app.load_places(self.statements.rows_with, {"paths": list(paths), "rows": list(rows)})
        if others:
            raise Damaged(f"another page of the app has the path {others[0][1]!r}")

    async def move_below(self, before: str, after: str) -> int:
        """
        Move all rows below the path *before* to *after*; returns their number.

        Raises:
            Damaged: they are too many, or a place is not free.
            Outpaced: a transaction of the app has one of them.
        """
        values = {"path": before, "limit": MAX_MOVED_ROWS + 1}
        rows = await self.app.load_places(self.statements.lock_below, values)
        if len(rows) > MAX_MOVED_ROWS:
            raise Damaged(f"more than {MAX_MOVED_ROWS} pages are below it: move it in the app")
        new_paths = {external_id: after + path[len(before) :] for external_id, path in rows}
        if trouble := next(filter(None, map(trouble_with, new_paths.values())), None):
            raise Damaged(f"of a page below it, {trouble}")
        await self.check_free(list(new_paths.values()), list(new_paths))
        column = self.app.source.mapping.page.path
        assert column is not None
        for external_id, path in new_paths.items():
            await self.app.write_column(external_id, column, path)
        await bound_folders.rename_folders(
            self.app.connection, self.binding, FOLDER_PREFIX + before, FOLDER_PREFIX + after
        )
        return len(rows)

    async def move_folder(self, row: AppRow, changes: RowChanges) -> AppRow:
        """Move the folder *row*; returns it as it then is. Raises Damaged if more than its place changed."""
        column = self.app.source.mapping.page.path
        assert column is not None
        assert row.path is not None
        if changes.body is not None or changes.columns.keys() != {column}:
            raise Damaged("it is a folder of paths, and the app has no row for what is in it")
        path = str(changes.columns[column])
        await self.check_free([path], [])
        await self.move_below(row.path, path)
        moved = await self.app.source.load_rows(self.app.connection, [FOLDER_PREFIX + path])
        if not moved:
            raise Outpaced
        return moved[FOLDER_PREFIX + path]

    async def is_emptied(self, row: AppRow) -> bool:
        """Whether the pages of all rows below the folder *row* are deleted, too."""
        values = {"path": row.path, "limit": None}
        ids = [external_id for external_id, _ in await self.app.load_places(self.statements.rows_below, values)]
        bound = await binding_rows.load_entries(self.app.connection, self.binding, ids)
        entries = [each.entry for each in bound.values()]
        pages = await bound_pages.load_pages(self.app.connection, self.binding.tenant, entries)
        return len(pages) == len(ids) and all(page.is_deleted for page in pages.values())
