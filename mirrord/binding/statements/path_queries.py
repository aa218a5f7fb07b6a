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
    """

    rows_at: str
    folders: str


def path_statements(mapping: Mapping) -> PathStatements | None:
    """The statements of *mapping*; None: its rows have no paths."""
    if mapping.page.path is None:
        return None
    page, condition = mapping.page, condition_of(mapping)
    path, source = f"p.{quote_name(mapping.page.path)}::text", f"{quote_table(page.table)} AS p"
    is_usable = (
        f"octet_length({path}) <= {MAX_PATH_BYTES} AND {path} !~ '(^|/)[ .-]*(/|$)' "
        f"AND array_length(string_to_array({path}, '/'), 1) <= {MAX_STEPS}"
    )
    return PathStatements(
        rows_at=(
            f'SELECT {path}, min(p.{quote_name(page.id)}::text COLLATE "C") FROM {source}\n'
            f" WHERE {path} = ANY (%(ids)s) AND {condition} GROUP BY {path}"
        ),
        folders=(
            f"SELECT above FROM unnest(%(ids)s::text[]) AS above WHERE EXISTS (\n"
            f"    SELECT FROM {source} WHERE starts_with({path}, above || '/') AND {is_usable} AND {condition})"
        ),
    )
