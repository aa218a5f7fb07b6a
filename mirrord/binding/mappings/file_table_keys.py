"""The section `files` of a mapping's file: the table with a row for each file of a page."""

from mirrord.binding.mappings.mapping import FileTable
from mirrord.binding.mappings.mapping_sections import Section, read_condition, read_table
from mirrord.binding.mappings.path_template import PathTemplate, read_path_template
from mirrord.errors import UserError

KEYS = ("table", "id", "page", "name", "bytes", "path", "deleted", "filter")


def read_file_table(section: Section) -> FileTable | None:
    """The table of files; None: the mapping has none."""
    if not section.values:
        return None
    column, path = section.column_of("bytes"), _read_path(section)
    if (column is None) == (path is None):
        raise UserError(
            "`files.bytes` is a column with the bytes, `files.path` says where they are on disk: choose one of both."
        )
    return FileTable(
        table=read_table(section, "table"),
        id=section.required_column("id"),
        page=section.required_column("page"),
        name=section.required_column("name"),
        bytes=column,
        path=path,
        deleted=section.column_of("deleted"),
        conditions=tuple(read_condition(key, value, "files") for key, value in section.table_of("filter").items()),
    )


def _read_path(section: Section) -> PathTemplate | None:
    text = section.text_of("path")
    return read_path_template(text) if text is not None else None
