"""The SQL that finds rows and folders of the app by their paths, as text."""

from dataclasses import dataclass

from mirrord.binding.mappings.mapping import Mapping
from mirrord.binding.mappings.path_names import MAX_PATH_BYTES, MAX_STEPS
from mirrord.binding.statements.bound_sql import quote_name, quote_table
from mirrord.binding.statements.row_queries import condition_of


@dataclass(frozen=True, slots=True)
class PathStatements:
    """
    Statements that find living rows. Their parameters are `ids`, a list of paths, and `tenant`.

    rows_at: the paths among *ids* that rows have, each with the first id. folders: those that rows are below.

    The others have `path` and `limit` in place of `ids`. rows_below: ids and paths of rows below it. lock_below: locks
    them, too; it fails if a transaction has one. rows_with: a row that has one of
    `paths`, without regard to case, and is not among `rows`.
    """

    rows_at: str
    folders: str
    rows_below: str
    lock_below: str
    rows_with: str


def path_statements(mapping: Mapping) -> PathStatements | None:
    """The statements of *mapping*; None: its rows have no paths."""
    if mapping.page.path is None:
        return None
    page, condition = mapping.page, condition_of(mapping)
    row_id = f"p.{quote_name(page.id)}::text"
    path, source = f"p.{quote_name(mapping.page.path)}::text", f"{quote_table(page.table)} AS p"
    is_usable = (
        f"octet_length({path}) <= {MAX_PATH_BYTES} AND {path} !~ '(^|/)[ .-]*(/|$)' "
        f"AND array_length(string_to_array({path}, '/'), 1) <= {MAX_STEPS}"
    )
    below = (
        f"SELECT {row_id}, {path} FROM {source} WHERE starts_with({path}, %(path)s || '/') AND {is_usable} "
        f"AND {condition}\n ORDER BY {row_id} LIMIT %(limit)s"
    )
    return PathStatements(
        rows_below=below,
        lock_below=f"{below} FOR NO KEY UPDATE NOWAIT",
        rows_with=(
            f"SELECT {row_id}, {path} FROM {source}\n"
            f" WHERE lower({path}) IN (SELECT lower(each) FROM unnest(%(paths)s::text[]) AS each)\n"
            f"   AND NOT {row_id} = ANY (%(rows)s::text[]) AND {condition} LIMIT 1"
        ),
        rows_at=(
            f'SELECT {path}, min(p.{quote_name(page.id)}::text COLLATE "C") FROM {source}\n'
            f" WHERE {path} = ANY (%(ids)s) AND {condition} GROUP BY {path}"
        ),
        folders=(
            f"SELECT above FROM unnest(%(ids)s::text[]) AS above WHERE EXISTS (\n"
            f"    SELECT FROM {source} WHERE starts_with({path}, above || '/') AND {is_usable} AND {condition})"
        ),
    )
