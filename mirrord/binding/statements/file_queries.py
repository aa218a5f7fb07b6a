"""The SQL that reads the rows of files, and their bytes, as text."""

from dataclasses import dataclass

from mirrord.binding.mappings.mapping import FILE_PREFIX, FileTable, Mapping
from mirrord.binding.statements.bound_sql import VERSION_COLUMN, quote_name, quote_table
from mirrord.binding.statements.row_queries import condition_of, condition_text, is_living, quote_constant


@dataclass(frozen=True, slots=True)
class FileStatements:
    """
    Statements that read the rows of files. Their parameters are `ids`, a list, and `tenant`.

    A file lives while its page does. rows: id, page, name, version, size and path columns of the living files with
    *ids*; the size is NULL where bytes are on disk. of_pages: ids of the living files of the pages *ids*. versions: id,
    version and path columns of all. bytes: of the file with the id in *ids*.
    """

    rows: str
    of_pages: str
    versions: str
    bytes: str


def file_statements(mapping: Mapping, id_type: str, page_id_type: str) -> FileStatements:
    """The statements for the files of *mapping*, which has some. id_type, page_id_type: of the ids of both tables."""
    files = mapping.files
    assert files is not None
    key = f"({quote_constant(FILE_PREFIX)} || {_of_file(files.id)}::text)"
    page_key = f"p.{quote_name(mapping.page.id)}"
    source = (
        f"FROM {quote_table(files.table)} AS f JOIN {quote_table(mapping.page.table)} AS p "
        f"ON {_of_file(files.page)} = {page_key} WHERE {_condition_of_files(files)} AND {condition_of(mapping)}"
    )
    version, paths = f"{_of_file(VERSION_COLUMN, is_plain=True)}::text", _path_columns(files)
    size = f"octet_length({_of_file(files.bytes)})" if files.bytes is not None else "NULL::integer"
    has_id = f"{_of_file(files.id)} = ANY (ARRAY(SELECT substr(each, {len(FILE_PREFIX) + 1})::{id_type} "
    has_id += "FROM unnest(%(ids)s::text[]) AS each))"
    selected = f"{key}, {page_key}::text, {_of_file(files.name)}::text, {version}, {size}, {paths}"
    return FileStatements(
        rows=f"SELECT {selected} {source} AND {has_id}",
        of_pages=f"SELECT {key} {source} AND {page_key} = ANY (%(ids)s::text[]::{page_id_type}[])",
        versions=f"SELECT {key}, {version}, {paths} {source}",
        bytes=f"SELECT {_of_file(files.bytes)} FROM {quote_table(files.table)} AS f WHERE {has_id}"
        if files.bytes is not None
        else "",
    )


def _of_file(column: str | None, *, is_plain: bool = False) -> str:
    assert column is not None
    return f"f.{column if is_plain else quote_name(column)}"


def _path_columns(files: FileTable) -> str:
    """The columns of the path as the text of a JSON object."""
    columns = files.path.columns if files.path is not None else ()
    pairs = (f"{quote_constant(column)}, {_of_file(column)}::text" for column in columns)
    return f"jsonb_build_object({', '.join(pairs)})::text"


def _condition_of_files(files: FileTable) -> str:
    conditions = [is_living(_of_file(files.deleted))] if files.deleted is not None else []
    conditions += [condition_text(condition, "f") for condition in files.conditions]
    return " AND ".join(["true", *conditions])
