"""Where the files of a binding are: their rows, and their bytes in a column or on disk."""

import asyncio
import json
from collections.abc import Collection
from collections.abc import Mapping as ByKey
from dataclasses import dataclass

from mirrord.binding.files.app_file import AppFile, file_of
from mirrord.binding.files.disk_files import NO_FILE, check_on_disk, read_on_disk, version_on_disk
from mirrord.binding.mappings.mapping import FileTable, Mapping
from mirrord.binding.mappings.path_template import PathTemplate
from mirrord.binding.statements.file_queries import FileStatements, file_statements
from mirrord.db.bindings import app_tables
from mirrord.db.database import Connection
from mirrord.domain.entry import MAX_FILE_BYTES
from mirrord.errors import Damaged


def file_source_of(mapping: Mapping, types: ByKey[str, ByKey[str, str]], role: str, tenant: str) -> "FileSource | None":
    """The files of *mapping*; None: it has none. types: of the app's columns, by table and name."""
    files, page = mapping.files, mapping.page
    if files is None:
        return None
    statements = file_statements(mapping, types[str(files.table)][files.id], types[str(page.table)][page.id])
    return FileSource(files, statements, role, tenant)


@dataclass(frozen=True, slots=True)
class FileSource:
    """The files of a binding. role: which reads them. tenant: the value of the app's tenant column."""

    table: FileTable
    statements: FileStatements
    role: str
    tenant: str

    async def load_files(self, connection: Connection, ids: Collection[str]) -> dict[str, AppFile]:
        """The living files with *ids*, by id; their versions are those of their rows."""
        records = await app_tables.load_rows(connection, self.role, self.statements.rows, sorted(ids), self.tenant)
        return {record[0]: file_of(record) for record in records}

    async def load_ids_of_pages(self, connection: Connection, pages: Collection[str]) -> set[str]:
        """The ids of the living files of the rows *pages*."""
        query = self.statements.of_pages
        return {row[0] for row in await app_tables.load_rows(connection, self.role, query, sorted(pages), self.tenant)}

    async def load_versions(self, connection: Connection) -> dict[str, str]:
        """The versions of all living files, by id; of files on disk these tell of their bytes, too."""
        records = await app_tables.load_versions(connection, self.role, self.statements.versions, self.tenant)
        if self.table.path is None:
            return {external_id: version for external_id, version, _ in records}
        return await asyncio.to_thread(_versions_on_disk, self.table.path, records)

    async def version_of(self, file: AppFile) -> str:
        """The version of *file*, as load_versions() has it."""
        if self.table.path is None:
            return file.version
        on_disk = await asyncio.to_thread(_version_on_disk, self.table.path, file)
        return f"{file.version}:{on_disk}"

    async def read(self, connection: Connection, file: AppFile) -> bytes:
        """
        The bytes of *file*.

        Raises:
            Damaged: it has none, or more than an attachment can have.
            Busy: they are being written.
        """
        if self.table.path is not None:
            path = self.table.path.path_of(file.parts)
            return await asyncio.to_thread(read_on_disk, self.table.path.directory, path)
        self.check_size(file)
        query = self.statements.bytes
        records = await app_tables.load_rows(connection, self.role, query, [file.external_id], self.tenant)
        if not records or records[0][0] is None:
            raise Damaged("its row has no bytes")
        return bytes(records[0][0])

    def check(self, file: AppFile) -> None:
        """Raise Damaged where read() would, without reading the bytes."""
        if self.table.path is not None:
            check_on_disk(self.table.path.directory, self.table.path.path_of(file.parts))
        else:
            self.check_size(file)

    def check_size(self, file: AppFile) -> None:
        """Raise Damaged if the row of *file* has no bytes, or more than an attachment can have."""
        if file.size is None:
            raise Damaged("its row has no bytes")
        if file.size > MAX_FILE_BYTES:
            raise Damaged(f"it has more than {MAX_FILE_BYTES >> 20} MiB")


def _versions_on_disk(template: PathTemplate, records: Collection[tuple[str, str, str]]) -> dict[str, str]:
    files = (AppFile(external_id, "", "", version, None, json.loads(parts)) for external_id, version, parts in records)
    return {file.external_id: f"{file.version}:{_version_on_disk(template, file)}" for file in files}


def _version_on_disk(template: PathTemplate, file: AppFile) -> str:
    try:
        return version_on_disk(template.directory, template.path_of(file.parts))
    except Damaged:
        return NO_FILE
