"""What a binding maps: the tables, columns and values of an app that are pages. Values only."""

import re
from collections.abc import Mapping as ByKey
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID, uuid5

from mirrord.binding.mappings.link_rules import LinkRules
from mirrord.binding.mappings.path_template import PathTemplate
from mirrord.binding.mappings.write_rules import Owner, WriteRules
from mirrord.domain.dialect import Dialect
from mirrord.domain.entry import EntryId, TenantId, parse_id
from mirrord.markdown.content_loss import ContentLoss

Literal = str | int | bool

SPACE_PREFIX = "space:"  # of the id of a space's page; the rest is the id of the space
FOLDER_PREFIX = "folder:"  # of the id of the page of a folder in paths; the rest is its path
FILE_PREFIX = "file:"  # of the id of a file; the rest is the id of its row

BINDING_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Watch(StrEnum):
    """How changes in the app are noticed: by triggers, or by comparing the versions of all rows."""

    TRIGGERS = "triggers"
    POLL = "poll"


class Format(StrEnum):
    """The format of a body. TipTap and ProseMirror are the same JSON."""

    MARKDOWN = "markdown"
    TIPTAP = "tiptap"
    PROSEMIRROR = "prosemirror"
    HTML = "html"


class OrderKind(StrEnum):
    """How the app orders siblings: by numbers, or by keys that are compared byte by byte."""

    INT = "int"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table of the app."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Tenancy:
    """
    Which rows belong to which tenant.

    column: None: all rows belong to one tenant. tenants: names of tenants, by the value of the column; with no column,
    the key is "". None of both: any tenant.
    """

    column: str | None = None
    tenants: ByKey[str, str] = field(default_factory=dict)

    def value_of(self, tenant: str) -> str | None:
        """The value of the column for the rows of *tenant*; None: the mapping has no rows of it."""
        if not self.tenants:
            return ""
        return next((value for value, name in self.tenants.items() if name == tenant), None)


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows are pages if *column* has one of *values*, or none of them. is_excluded: none of them."""

    column: str
    values: tuple[Literal, ...]
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The column that orders siblings."""

    kind: OrderKind
    column: str


@dataclass(frozen=True, slots=True)
class Space:
    """
    The table of spaces, or categories, each of which is a page above those of its rows.

    tenant: the column with the tenant, as in Tenancy; None: all rows belong to one. deleted: as of PageTable.
    """

    table: TableName
    id: str
    title: str
    tenant: str | None = None
    deleted: str | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class FileTable:
    """
    The table with a row for each file of a page.

    page: the column with the id of the page. bytes: the column with the bytes; None: they are on disk, at *path*.
    deleted: as of PageTable.
    """

    table: TableName
    id: str
    page: str
    name: str
    bytes: str | None = None
    path: PathTemplate | None = None
    deleted: str | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class PageTable:
    """
    The table with a row for each page.

    deleted: a time, or whether a row is deleted; None: rows are removed. url: where the app shows a page, with `{id}`
    for its id; None: unknown. space: the column with the id of the space; None: there are none. path: the column with
    the path of a page, such as `garden/beans`, in place of a parent; None: there is none.
    """

    table: TableName
    id: str
    title: str
    parent: str | None = None
    order: Order | None = None
    deleted: str | None = None
    conditions: tuple[Condition, ...] = ()
    url: str | None = None
    space: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A column of the table with bodies equals the page's id, or a constant. constant: None: the id."""

    column: str
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """
    Where the body of a page is. table: None: in the page's row.

    matches: which row of *table* belongs to a page. names: names of nodes and marks in the document schema, by those in
    the app. content_loss: what becomes of tables that Markdown lacks.
    """

    column: str
    form: Format
    table: TableName | None = None
    matches: tuple[Match, ...] = ()
    names: ByKey[str, str] = field(default_factory=dict)
    content_loss: ContentLoss = ContentLoss.JSON

    @property
    def id_column(self) -> str:
        """The column of *table* with the id of the page."""
        return next(match.column for match in self.matches if match.constant is None)


@dataclass(frozen=True, slots=True)
class Mapping:
    """
    One binding. front: columns by the key of front matter. text: of the file that it was read from.

    writes: how rows of the app are written; None: they are not, which is mode `in`. dialect: of the tenant's pages,
    which is in no file. links: None: addresses in bodies stay as they are. files: None: pages have none.
    """

    name: str
    watch: Watch
    poll_seconds: int
    tenancy: Tenancy
    page: PageTable
    body: Body
    front: ByKey[str, str]
    text: str = ""
    writes: WriteRules | None = None
    dialect: Dialect = Dialect.PLAIN
    space: Space | None = None
    links: LinkRules | None = None
    files: FileTable | None = None

    def is_file(self, external_id: str) -> bool:
        """Whether what has this id is a file."""
        return self.files is not None and external_id.startswith(FILE_PREFIX)

    def has_row(self, external_id: str) -> bool:
        """Whether what has this id is a row of the table of pages, and no space or folder."""
        is_folder = self.page.path is not None and external_id.startswith(FOLDER_PREFIX)
        return not (is_folder or self.is_space(external_id))

    def is_space(self, external_id: str) -> bool:
        """Whether what has this id is a space."""
        return self.space is not None and external_id.startswith(SPACE_PREFIX)

    def binding_id(self, tenant: TenantId) -> UUID:
        """The id of this binding in *tenant*: the same when it is added again."""
        return uuid5(tenant, f"binding {self.name}")


def entry_id_of(binding: UUID, external_id: str) -> EntryId:
    """
    The id of the page of an app's row: the row's own if that is a UUID, so that it is the same on both sides.

    Only the usual spelling counts: two texts with one UUID are two rows.
    """
    uuid = parse_id(external_id)
    return uuid if uuid is not None and str(uuid) == external_id else EntryId(uuid5(binding, external_id))


def columns_read(mapping: Mapping) -> dict[TableName, tuple[str, ...]]:
    """The columns of each table that mirrord reads, each once."""
    page, body = mapping.page, mapping.body
    optional = (
        page.parent,
        page.space,
        page.path,
        page.deleted,
        page.order.column if page.order else None,
        mapping.tenancy.column,
    )
    of_page = [page.id, page.title, *(column for column in optional if column is not None)]
    of_page += [*(condition.column for condition in page.conditions), *mapping.front.values()]
    others = _columns_of_space(mapping.space) | _columns_of_files(mapping.files)
    if body.table is None:
        return {page.table: tuple(dict.fromkeys([*of_page, body.column]))} | others
    of_body = [*(match.column for match in body.matches), body.column]
    return {page.table: tuple(dict.fromkeys(of_page)), body.table: tuple(dict.fromkeys(of_body))} | others


def _columns_of_space(space: Space | None) -> dict[TableName, tuple[str, ...]]:
    if space is None:
        return {}
    optional = (column for column in (space.tenant, space.deleted) if column is not None)
    columns = [space.id, space.title, *optional, *(condition.column for condition in space.conditions)]
    return {space.table: tuple(dict.fromkeys(columns))}


def _columns_of_files(files: FileTable | None) -> dict[TableName, tuple[str, ...]]:
    if files is None:
        return {}
    optional = (column for column in (files.bytes, files.deleted) if column is not None)
    columns = [files.id, files.page, files.name, *optional, *(files.path.columns if files.path is not None else ())]
    columns += [condition.column for condition in files.conditions]
    return {files.table: tuple(dict.fromkeys(columns))}


def columns_written(mapping: Mapping) -> dict[TableName, tuple[str, ...]]:
    """The columns of each table that mirrord writes, each once; none in mode `in`."""
    page, body, rules = mapping.page, mapping.body, mapping.writes
    if rules is None:
        return {}
    optional = (page.parent, page.space, page.path, page.order.column if page.order else None, page.deleted)
    of_page = [page.title, *(column for column in optional if column is not None)]
    of_page += [column for key, column in mapping.front.items() if rules.owner_of(key) is not Owner.IN]
    of_page += [touch.column for touch in rules.of_page]
    of_body = [body.column, *([rules.plain] if rules.plain is not None else [])]
    if body.table is None:
        return {page.table: tuple(dict.fromkeys([*of_page, *of_body]))}
    of_body += [touch.column for touch in rules.of_body]
    return {page.table: tuple(dict.fromkeys(of_page)), body.table: tuple(dict.fromkeys(of_body))}


def columns_of_new_rows(mapping: Mapping) -> dict[TableName, tuple[str, ...]]:
    """The columns of each table that mirrord gives to new rows, each once; none if it makes none."""
    page, body, rules = mapping.page, mapping.body, mapping.writes
    if rules is None or rules.creation is None:
        return {}
    written = columns_written(mapping)
    of_page = [page.id, *([mapping.tenancy.column] if mapping.tenancy.column is not None else [])]
    of_page += [*written[page.table], *(touch.column for touch in rules.creation.of_page)]
    if body.table is None:
        return {page.table: tuple(dict.fromkeys(of_page))}
    of_body = [*(match.column for match in body.matches), *written[body.table]]
    of_body += [touch.column for touch in rules.creation.of_body]
    return {page.table: tuple(dict.fromkeys(of_page)), body.table: tuple(dict.fromkeys(of_body))}


def columns_used(mapping: Mapping) -> dict[TableName, tuple[str, ...]]:
    """The columns of each table that mirrord reads or writes, each once."""
    written, new = columns_written(mapping), columns_of_new_rows(mapping)
    return {
        table: tuple(dict.fromkeys([*columns, *written.get(table, ()), *new.get(table, ())]))
        for table, columns in columns_read(mapping).items()
    }
