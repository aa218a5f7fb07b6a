"""The SQL that reads the app's rows, and the spaces above them, as text."""

from dataclasses import dataclass, replace

from mirrord.binding.mappings.mapping import SPACE_PREFIX, Condition, Literal, Mapping, Match, PageTable, Space
from mirrord.binding.statements.bound_sql import VERSION_COLUMN, quote_literal, quote_name, quote_table
from mirrord.db.bindings.pass_rows import NOTED_IDS

_PREFIX = quote_literal(SPACE_PREFIX)


@dataclass(frozen=True, slots=True)
class AppStatements:
    """
    Statements that read the app. Their parameters are `ids`, a list, and `tenant`.

    rows: the living rows with *ids*. noted_rows: those with the ids that the transaction notes. children: the ids of
    living rows below *ids*; None: pages have no parents. versions: id and version of all living rows, and the path
    where rows have one.
    """

    rows: str
    noted_rows: str
    children: str | None
    versions: str


def quote_constant(value: Literal) -> str:
    """*value* as a constant in a statement with parameters."""
    return quote_literal(value).replace("%", "%%")


def app_statements(mapping: Mapping, id_type: str) -> AppStatements:
    """The statements that read the rows of *mapping*. id_type: the type of the pages' ids."""
    page = mapping.page
    condition = condition_of(mapping)
    source, id_column = f"{quote_table(page.table)} AS p", f"p.{quote_name(page.id)}"
    children = None
    if page.path is None and (parent := parent_of(page)) is not None:
        children = f"SELECT {id_column}::text FROM {source} WHERE {parent} = ANY (%(ids)s) AND {condition}"
    columns = [f"{id_column}::text", _version_of(mapping), *([parent_of(page) or ""] if page.path is not None else [])]
    versions = f"SELECT {', '.join(columns)} FROM {source}{_body_join(mapping)} WHERE {condition}"
    if mapping.space is not None:
        spaces = _selected_spaces(mapping.space)
        versions = f"{versions}\nUNION ALL SELECT id, version FROM ({spaces}) AS spaces (id, b, c, d, version, f, g)"
    rows, noted_rows = (_rows_with(mapping, id_type, ids) for ids in ("%(ids)s::text[]", f"({NOTED_IDS})"))
    return AppStatements(rows, noted_rows, children, versions)


def _rows_with(mapping: Mapping, id_type: str, ids: str) -> str:
    """The statement that reads the living rows with *ids*, an expression."""
    page = mapping.page
    key = _page_ids(id_type, ids) if mapping.space else f"{ids}::{id_type}[]"
    rows = (
        f"SELECT {', '.join(_selected_columns(mapping))}\n"
        f"  FROM {quote_table(page.table)} AS p{_body_join(mapping)}\n"
        f" WHERE p.{quote_name(page.id)} = ANY ({key}) AND {condition_of(mapping)}"
    )
    if mapping.space is None:
        return rows
    of_spaces = f"{_space_id(_of_space(mapping.space.id))} = ANY ({ids})"
    return f"{rows}\nUNION ALL {_selected_spaces(mapping.space)} AND {of_spaces}"


def parent_of(page: PageTable) -> str | None:
    """The id of the page above, or of the space, or the path, as an expression; None: pages have none."""
    if page.path is not None:
        return f"p.{quote_name(page.path)}::text"
    parent = f"p.{quote_name(page.parent)}::text" if page.parent is not None else None
    if page.space is None:
        return parent
    space = _space_id(f"p.{quote_name(page.space)}")
    return space if parent is None else f"coalesce({parent}, {space})"


def _selected_spaces(space: Space) -> str:
    """The statement that reads all living spaces as rows without a body."""
    key, title = _space_id(_of_space(space.id)), _of_space(space.title)
    columns = f"{key}, NULL::text, {title}::text, NULL::text, s.{VERSION_COLUMN}::text, NULL::text, '{{}}'::text"
    return f"SELECT {columns} FROM {quote_table(space.table)} AS s WHERE {_condition_of_space(space)}"


def _of_space(column: str) -> str:
    return f"s.{quote_name(column)}"


def _condition_of_space(space: Space) -> str:
    conditions = [f"{_of_space(space.tenant)}::text = %(tenant)s"] if space.tenant is not None else []
    if space.deleted is not None:
        conditions.append(is_living(_of_space(space.deleted)))
    conditions += [condition_text(condition, "s") for condition in space.conditions]
    return " AND ".join(["true", *conditions])


def select_all(mapping: Mapping) -> str:
    """The statement that reads all living rows of *mapping*, for a check."""
    condition = condition_of(mapping)
    source = f"{quote_table(mapping.page.table)} AS p"
    rows = f"SELECT {', '.join(_selected_columns(mapping))} FROM {source}{_body_join(mapping)} WHERE {condition}"
    return rows if mapping.space is None else f"{rows} UNION ALL {_selected_spaces(mapping.space)}"


def _selected_columns(mapping: Mapping) -> list[str]:
    """The columns of a row as texts, in the order in which app_access reads them."""
    page = mapping.page
    of_front = (f"{quote_constant(key)}, to_jsonb(p.{quote_name(column)})" for key, column in mapping.front.items())
    return [
        f"p.{quote_name(page.id)}::text",
        parent_of(page) or "NULL::text",
        f"p.{quote_name(page.title)}::text",
        f"p.{quote_name(page.order.column)}::text" if page.order else "NULL::text",
        _version_of(mapping),
        f"{_body_alias(mapping)}.{quote_name(mapping.body.column)}::text",
        f"jsonb_build_object({', '.join(of_front)})::text",
    ]


def _body_alias(mapping: Mapping) -> str:
    return "p" if mapping.body.table is None else "b"


def _version_of(mapping: Mapping) -> str:
    if mapping.body.table is None:
        return f"p.{VERSION_COLUMN}::text"
    return f"p.{VERSION_COLUMN}::text || ':' || coalesce(b.{VERSION_COLUMN}::text, '')"


def select_version(mapping: Mapping, condition: str) -> str:
    """The statement that reads the version of the row with *condition*, of the alias `p`."""
    source = f"{quote_table(mapping.page.table)} AS p{_body_join(mapping)}"
    return f"SELECT {_version_of(mapping)} FROM {source} WHERE {condition}"


def _body_join(mapping: Mapping) -> str:
    body = mapping.body
    if body.table is None:
        return ""
    matches = (match_of(match, f"p.{quote_name(mapping.page.id)}") for match in body.matches)
    return f"\n  LEFT JOIN {quote_table(body.table)} AS b ON {' AND '.join(matches)}"


def match_of(match: Match, key: str) -> str:
    """The condition on a row of the table with bodies. key: the id of the page, as an expression."""
    column = f"b.{quote_name(match.column)}"
    return f"{column} = {key}" if match.constant is None else f"{column}::text = {quote_constant(match.constant)}"


def condition_of(mapping: Mapping, *, is_living: bool = True) -> str:
    """The condition on rows that are pages. is_living: leave out deleted ones."""
    page = mapping.page if is_living else replace(mapping.page, deleted=None)
    return " AND ".join(["true", *_row_conditions(replace(mapping, page=page))])


def _row_conditions(mapping: Mapping) -> list[str]:
    page, conditions = mapping.page, []
    if mapping.tenancy.column is not None:
        conditions.append(f"p.{quote_name(mapping.tenancy.column)}::text = %(tenant)s")
    if page.deleted is not None:
        conditions.append(is_living(f"p.{quote_name(page.deleted)}"))
    if mapping.space is not None and page.space is not None:  # a page of a space that is hidden, or gone, is hidden
        column = f"p.{quote_name(page.space)}"
        is_there = f"{_of_space(mapping.space.id)} = {column} AND {_condition_of_space(mapping.space)}"
        conditions.append(
            f"({column} IS NULL OR EXISTS (SELECT FROM {quote_table(mapping.space.table)} AS s WHERE {is_there}))"
        )
    return conditions + [condition_text(condition, "p") for condition in page.conditions]


def is_living(column: str) -> str:
    """The condition that *column*, a time or a boolean, is empty or false."""
    return f"coalesce(to_jsonb({column}), 'null') IN ('null'::jsonb, 'false'::jsonb)"


def condition_text(condition: Condition, alias: str) -> str:
    texts = (str(value).lower() if isinstance(value, bool) else str(value) for value in condition.values)
    is_listed = f"{alias}.{quote_name(condition.column)}::text IN ({', '.join(map(quote_constant, texts))})"
    return f"({is_listed}) IS NOT TRUE" if condition.is_excluded else is_listed


def _space_id(column: str) -> str:
    """The id of the page of a space. column: with the id of the space, as an expression."""
    return f"({_PREFIX} || {column}::text)"


def _page_ids(id_type: str, ids: str) -> str:
    """Those of *ids* that are rows of pages, as an array."""
    return f"ARRAY(SELECT each::{id_type} FROM unnest({ids}) AS each WHERE NOT starts_with(each, {_PREFIX}))"
