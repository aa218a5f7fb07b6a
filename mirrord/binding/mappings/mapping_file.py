"""The mapping of a binding as a TOML file: every key is checked before anything is looked up in the database."""

import re
import tomllib
from collections.abc import Mapping as ByKey
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from mirrord.binding.mappings.file_table_keys import KEYS as _FILE_KEYS
from mirrord.binding.mappings.file_table_keys import read_file_table
from mirrord.binding.mappings.link_rules import KEYS as _LINK_KEYS
from mirrord.binding.mappings.link_rules import LinkRules, read_link_rules
from mirrord.binding.mappings.mapping import (
    BINDING_NAME,
    Body,
    Format,
    Mapping,
    Match,
    Order,
    OrderKind,
    PageTable,
    Space,
    Tenancy,
    Watch,
)
from mirrord.binding.mappings.mapping_names import check_names as _check_names
from mirrord.binding.mappings.mapping_names import checked_column as _checked_column
from mirrord.binding.mappings.mapping_sections import Section, read_condition, read_table, section_of
from mirrord.binding.mappings.write_rules import WriteRules
from mirrord.binding.mappings.write_rules_file import KEYS as _WRITE_KEYS
from mirrord.binding.mappings.write_rules_file import read_write_rules, refuse_write_keys
from mirrord.domain.bound_page import BINDING_KEY, URL_KEY
from mirrord.errors import UserError
from mirrord.markdown.content_loss import ContentLoss

DEFAULT_POLL_SECONDS = 10  # seconds between two comparisons of versions, with watch = "poll"
MIN_POLL_SECONDS = 1
MODES = ("in", "both")

_SECTIONS = ("binding", "tenant", "space", "page", "body", "links", "files", "front")
_KEYS = {
    "binding": ("name", "mode", "watch", "poll_seconds"),
    "tenant": ("column", "map", "fixed"),
    "page": ("table", "id", "title", "parent", "order", "deleted", "filter", "url", "space", "path"),
    "space": ("table", "id", "title", "tenant", "deleted", "filter"),
    "body": ("table", "match", "column", "format", "names", "content_loss"),
    "links": _LINK_KEYS,
    "files": _FILE_KEYS,
}
_RESERVED_KEYS = ("id", "title", "position", BINDING_KEY, URL_KEY)  # other keys of the mapping say what is in them
_URL = re.compile(r"https?://[^\s<>\"'`\\{}]+(\{id\}[^\s<>\"'`\\{}]*)")
Choice = TypeVar("Choice", bound=StrEnum)


def parse_mapping(text: str) -> Mapping:
    """The mapping in the TOML *text*. Raises UserError with the first fault."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"The mapping is no valid TOML: {error}.") from error
    _check_names(tables, _SECTIONS, "")
    sections = {name: section_of(tables, name) for name in _SECTIONS}
    for name, keys in _KEYS.items():
        _check_names(sections[name].values, [*keys, *_WRITE_KEYS.get(name, ())], f"{name}.")
    binding = sections["binding"]
    _check_space(sections)
    _check_path(sections)
    mapping = Mapping(
        name=_read_name(binding),
        watch=_read_choice(binding, "watch", Watch, Watch.TRIGGERS),
        poll_seconds=_read_seconds(binding),
        tenancy=_read_tenancy(sections["tenant"]),
        page=_read_page(sections["page"]),
        body=replace(_read_body(sections["body"], sections["page"]), content_loss=_read_content_loss(sections)),
        front=_read_front(sections["front"]),
        text=text,
        writes=_read_writes(sections),
        space=_read_space(sections["space"]) if sections["space"].values else None,
        links=_read_links(sections),
        files=read_file_table(sections["files"]),
    )
    _check_tables(mapping)
    return mapping


def _check_tables(mapping: Mapping) -> None:
    """Raise UserError if spaces or files are in a table that has something else."""
    of_pages = {mapping.page.table, mapping.body.table}
    if mapping.space is not None and mapping.space.table in of_pages:
        raise UserError("`space.table` must be a table of its own.")
    if mapping.files is not None and mapping.files.table in {*of_pages, mapping.space and mapping.space.table}:
        raise UserError("`files.table` must be a table of its own.")


def _read_name(section: Section) -> str:
    name = section.required_text("name")
    if not BINDING_NAME.fullmatch(name):
        raise UserError(f"`binding.name` is {name!r}: use a-z, 0-9 and dashes, at most 40 characters.")
    return name


def _read_writes(sections: ByKey[str, Section]) -> WriteRules | None:
    """How the app is written; None: in mode `in`, in which it is not."""
    mode = sections["binding"].values.get("mode", "in")
    if mode not in MODES:
        raise UserError(f'`binding.mode` is {mode!r}: choose "in", which only reads the app, or "both".')
    values = {name: section.values for name, section in sections.items()}
    if mode == "in":
        refuse_write_keys(values)
        return None
    return read_write_rules(values)


def _read_choice(section: Section, key: str, choices: type[Choice], default: Choice | None = None) -> Choice:
    text = section.text_of(key)
    if text is None and default is not None:
        return default
    try:
        return choices(text or section.required_text(key))
    except ValueError:
        raise UserError(f"`{section.name}.{key}` is {text!r}: choose one of {', '.join(choices)}.") from None


def _read_seconds(section: Section) -> int:
    seconds = section.values.get("poll_seconds", DEFAULT_POLL_SECONDS)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < MIN_POLL_SECONDS:
        raise UserError(f"`binding.poll_seconds` must be a whole number, {MIN_POLL_SECONDS} or more.")
    return seconds


def _read_tenancy(section: Section) -> Tenancy:
    column, fixed, tenants = section.column_of("column"), section.text_of("fixed"), section.table_of("map")
    if column is None:
        if tenants:
            raise UserError("`tenant.map` needs `tenant.column`.")
        return Tenancy(tenants={"": fixed} if fixed is not None else {})
    if fixed is not None:
        raise UserError("Choose either `tenant.column` or `tenant.fixed`.")
    if not tenants or not all(isinstance(name, str) for name in tenants.values()):
        raise UserError('`tenant.map` says which value is which tenant: { "value in the app" = "name of a tenant" }.')
    return Tenancy(column, tenants)


def _read_page(section: Section) -> PageTable:
    return PageTable(
        table=read_table(section, "table"),
        id=section.required_column("id"),
        title=section.required_column("title"),
        parent=section.column_of("parent"),
        order=_read_order(section),
        deleted=section.column_of("deleted"),
        conditions=tuple(read_condition(key, value, "page") for key, value in section.table_of("filter").items()),
        url=_read_url(section),
        space=section.column_of("space"),
        path=section.column_of("path"),
    )


def _read_space(section: Section) -> Space:
    return Space(
        table=read_table(section, "table"),
        id=section.required_column("id"),
        title=section.required_column("title"),
        tenant=section.column_of("tenant"),
        deleted=section.column_of("deleted"),
        conditions=tuple(read_condition(key, value, "space") for key, value in section.table_of("filter").items()),
    )


def _check_space(sections: ByKey[str, Section]) -> None:
    """Raise UserError if spaces are named by halves, or where they cannot be carried over."""
    space, page, tenant = sections["space"], sections["page"], sections["tenant"]
    if not space.values and "space" not in page.values:
        return
    if not space.values or "space" not in page.values:
        raise UserError("`page.space` is the column with the id of a row of `space.table`: the mapping needs both.")
    if ("column" in tenant.values) != ("tenant" in space.values):
        raise UserError("`space.tenant` is the column for what `tenant.column` is of pages: the mapping needs both.")


def _check_path(sections: ByKey[str, Section]) -> None:
    """Raise UserError if rows have paths and something else that says where they are."""
    page = sections["page"].values
    if "path" not in page:
        return
    if "parent" in page or "space" in page:
        raise UserError("`page.path` says where a page is: leave out `page.parent` and `page.space`.")
    if sections["binding"].values.get("mode") == "both" and "order" in page:
        raise UserError('`page.order` needs `binding.mode = "in"` where rows have `page.path`.')


def _read_url(section: Section) -> str | None:
    url = section.text_of("url")
    if url is not None and not (_URL.fullmatch(url) and url.count("{id}") == 1):
        raise UserError(
            f'`page.url` is {url!r}: use the address of a page, such as "https://wiki.example/pages/{{id}}".'
        )
    return url


def _read_order(section: Section) -> Order | None:
    order = section.table_of("order")
    _check_names(order, [kind.value for kind in OrderKind], "page.order.")
    if len(order) > 1:
        raise UserError("`page.order` has one key: int or key.")
    for kind, column in order.items():
        if not isinstance(column, str):
            raise UserError(f"`page.order.{kind}` must be the name of a column.")
        return Order(OrderKind(kind), _checked_column(column, f"page.order.{kind}"))
    return None


def _read_body(section: Section, page: Section) -> Body:
    form = _read_choice(section, "format", Format)
    names = section.table_of("names")
    if names and form in (Format.MARKDOWN, Format.HTML):
        raise UserError("`body.names` are names of nodes, which Markdown does not have, nor HTML.")
    if not all(isinstance(name, str) for name in names.values()):
        raise UserError('`body.names` says which node is which: { bullet_list = "bulletList" }.')
    column = section.required_column("column")
    if "table" not in section.values:
        if "match" in section.values:
            raise UserError("`body.match` needs `body.table`.")
        return Body(column, form, names=names)
    matches = tuple(_read_match(key, value, page) for key, value in section.table_of("match").items())
    if sum(match.constant is None for match in matches) != 1:
        raise UserError('`body.match` must name the column with the id of the page once: { page_id = "id" }.')
    return Body(column, form, read_table(section, "table"), matches, names)


def _read_links(sections: ByKey[str, Section]) -> LinkRules | None:
    form = sections["body"].values.get("format")
    return read_link_rules(sections["links"].values, are_documents=form in (Format.TIPTAP, Format.PROSEMIRROR))


def _read_content_loss(sections: ByKey[str, Section]) -> ContentLoss:
    """What becomes of tables that Markdown lacks. Raises UserError where the mapping cannot have that."""
    section = sections["body"]
    text = section.text_of("content_loss")
    if text is None:
        return ContentLoss.JSON
    names = [rule.value for rule in ContentLoss]
    if text not in names:
        raise UserError(f"`body.content_loss` is {text!r}: choose one of {', '.join(names)}.")
    if section.values.get("format") == Format.MARKDOWN:
        raise UserError("`body.content_loss` is about tables of documents and HTML, which a body of Markdown has not.")
    if text == ContentLoss.DEGRADE.value and sections["binding"].values.get("mode") == "both":
        raise UserError(
            '`body.content_loss = "degrade"` needs `binding.mode = "in"`: an edit would write the simpler table into '
            "the app."
        )
    return ContentLoss(text)


def _read_match(column: str, value: object, page: Section) -> Match:
    key = f"body.match.{column}"
    _checked_column(column, key)
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == "'":
        return Match(column, value[1:-1])
    if value != page.values.get("id"):
        raise UserError(
            f"`{key}` must be the column `page.id`, or a constant in single quotes, such as \"'DOCUMENT'\"."
        )
    return Match(column)


def _read_front(section: Section) -> dict[str, str]:
    front = {}
    for key, value in section.values.items():
        if key in _RESERVED_KEYS:
            raise UserError(f"`front.{key}` is not free: `page` says what is in that key of the front matter.")
        if isinstance(value, dict):
            _check_names(value, ["column", "own"], f"front.{key}.")
            value = value.get("column")
        if not isinstance(value, str):
            raise UserError(f'`front.{key}` must be the name of a column, or {{ column = "…" }}.')
        front[key] = _checked_column(value, f"front.{key}")
    return front
