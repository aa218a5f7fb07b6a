"""A dry run over all files of an app: which of them cannot be attachments, and why."""

import asyncio

from mirrord.binding.files.app_file import file_of
from mirrord.binding.files.file_source import FileSource
from mirrord.db.database import Connection
from mirrord.errors import Damaged

_FETCH_ROWS = 500  # rows per statement


async def check_files(connection: Connection, source: FileSource) -> tuple[int, list[tuple[str, str]]]:
    """How many files there are, and the names of those that are not carried over, with the reason."""
    statements, values = source.statements, {"tenant": source.tenant, "ids": list[str]()}
    cursor = await connection.execute(statements.versions.encode(), values)
    ids = [external_id for external_id, *_ in await cursor.fetchall()]
    failures = []
    for begin in range(0, len(ids), _FETCH_ROWS):
        values = {"tenant": source.tenant, "ids": ids[begin : begin + _FETCH_ROWS]}
        for record in await (await connection.execute(statements.rows.encode(), values)).fetchall():
            file = file_of(record)
            try:
                await asyncio.to_thread(source.check, file)
            except Damaged as damaged:
                failures.append((file.name or file.external_id, str(damaged)))
    return len(ids), failures
