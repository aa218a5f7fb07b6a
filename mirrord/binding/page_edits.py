"""
A page and its row in mode `both`: the page with what the app says, and the row with what the page says. Pure.

A page may say more than its row can hold: keys of front matter without a column stay in the page.
"""

import re
from collections.abc import Iterator
from collections.abc import Mapping as ByKey
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from mirrord.binding.app_rows import (
    AppRow,
    app_document_of,
    document_of,
    is_name_of,
    number_of_position,
    position_of,
    rename_nodes,
    text_of,
)
from mirrord.binding.bodies.foreign_text import with_foreign_text
from mirrord.binding.bodies.html_body import html_with
from mirrord.binding.links.link_nodes import with_nodes
from mirrord.binding.mappings.mapping import Format, Mapping, OrderKind
from mirrord.binding.mappings.write_rules import Owner, WriteRules
from mirrord.domain.bound_page import BINDING_KEY, URL_KEY
from mirrord.domain.entry import EntryId
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import REMOVED, Json, Removed, is_same_json, read_values, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Node
from mirrord.markdown.write.render import NewViews, render
from mirrord.markdown.write.stored_form import keep_nodes

_OWN_KEYS = ("id", "title", "position", BINDING_KEY, URL_KEY)
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_EMPTY_DOCUMENT = '{"type":"doc","content":[{"type":"paragraph"}]}'


@dataclass(frozen=True, slots=True)
class RowChanges:
    """
    What the row of the app is to be; what is missing stays.

    columns: values of the page's table. body: None: it stays. plain: the text of *body* without its form.
    """

    columns: ByKey[str, Json] = field(default_factory=dict)
    body: str | None = None
    plain: str | None = None

    def __bool__(self) -> bool:
        return bool(self.columns) or self.body is not None


def edited_text(entry: EntryId, row: AppRow, mapping: Mapping, former: str) -> str:
    """
    *former*, a text of the page of *row*, with what the app says: only keys and blocks that differ are changed.

    Raises:
        Damaged: the body of *row* is not of its format, or the page cannot hold it.
    """
    text_of(entry, row, mapping)  # refuses what no page can hold
    page = PageText(former, mapping.dialect)
    others: dict[str, Json | Removed] = {}
    if _has_front_matter(row, mapping):
        others = _changes_of_others(read_values(page), read_values(PageText(row.body or "")), mapping)
    body = _body_in(row, mapping, page)
    return with_keys(body, others | _key_changes(entry, row, mapping, page)).text


def _body_in(row: AppRow, mapping: Mapping, page: PageText) -> PageText:
    """*page* with the body of *row*."""
    if mapping.body.form is not Format.MARKDOWN:
        views = NewViews(None, None, None, None, None, document_of(row, mapping))
        return render(page, frozenset({"content"}), views, "")
    body = row.body or ""
    return _with_body(page, PageText(body).body if _has_front_matter(row, mapping) else body)


def _changes_of_others(
    former: ByKey[str, Json], values: ByKey[str, Json], mapping: Mapping
) -> dict[str, Json | Removed]:
    """What makes *former* say what *values* does, in all keys without a column."""
    mapped = {*_OWN_KEYS, *mapping.front}
    changes: dict[str, Json | Removed] = {key: REMOVED for key in former if key not in values and key not in mapped}
    return changes | {
        key: value for key, value in values.items() if key not in mapped and not is_same_json(value, former.get(key))
    }


def _has_front_matter(row: AppRow, mapping: Mapping) -> bool:
    """Whether the body is Markdown with a front matter of its own, which is that of the page, too."""
    if mapping.body.form is not Format.MARKDOWN:
        return False
    page = PageText(row.body or "")
    return bool(page.head and page.views.error is None and page.views.frontmatter)


def _with_body(page: PageText, body: str) -> PageText:
    result = replace(page, text=page.bom + page.head + body)
    if result.body != body:
        raise Damaged("its body would become a part of the front matter")
    return result


def _key_changes(entry: EntryId, row: AppRow, mapping: Mapping, page: PageText) -> dict[str, Json | Removed]:
    changes: dict[str, Json | Removed] = {"id": str(entry)}
    if page.views.title != row.title:
        changes["title"] = row.title
    position = position_of(row, mapping)
    if mapping.page.order is not None and position != _position_in(read_values(page)):
        changes["position"] = position if position is not None else REMOVED
    for key in mapping.front:
        if mapping.writes is None or mapping.writes.owner_of(key) is not Owner.OUT:
            value = row.properties.get(key)
            changes[key] = value if value is not None else REMOVED
    return changes


def _position_in(values: ByKey[str, Json]) -> str | None:
    """The position that a front matter states; a number is one in the order of whole numbers."""
    value = values.get("position")
    if value is None or isinstance(value, bool):
        return None
    return str(value)


def with_title_of_name(text: str, name: str | None, agreed: str | None, row: AppRow) -> str:
    """
    *text* with the name of its file as title, if that was renamed and the title was not.

    agreed: the title that both sides agreed on; None: not known.
    """
    page = PageText(text)
    title = page.views.title
    if name is None or title not in (agreed, None):
        return text
    if title is not None and is_name_of(name, replace(row, title=title)):
        return text
    return with_keys(page, {"title": name}).text


def with_title(text: str, name: str) -> str:
    """*text* with *name* as its title if it states none."""
    page = PageText(text)
    return text if page.views.title else with_keys(page, {"title": name}).text


def completed_text(entry: EntryId, row: AppRow, mapping: Mapping, text: str) -> str:
    """*text* with the id of its page, and with its position if it states none."""
    page = with_keys(PageText(text), {"id": str(entry)})
    position = position_of(row, mapping)
    return (
        page.text
        if position is None or _position_in(read_values(page))
        else with_keys(page, {"position": position}).text
    )


def with_keys_of_app(row: AppRow, mapping: Mapping, text: str) -> str:
    """*text* with the keys that only the app may change as the app has them."""
    assert mapping.writes is not None
    values = {key: row.properties.get(key) for key in mapping.front if mapping.writes.owner_of(key) is Owner.IN}
    return with_keys(PageText(text), {key: REMOVED if value is None else value for key, value in values.items()}).text


def out_changes_of(row: AppRow, mapping: Mapping, text: str) -> RowChanges:
    """The changes of columns that only files and agents may change."""
    assert mapping.writes is not None
    values = read_values(PageText(text))
    return RowChanges(
        {
            column: values.get(key)
            for key, column in mapping.front.items()
            if mapping.writes.owner_of(key) is Owner.OUT and not is_same_json(values.get(key), row.properties.get(key))
        }
    )


def changes_of(entry: EntryId, row: AppRow, mapping: Mapping, text: str) -> RowChanges:
    """
    What *row* has to become to say what *text*, its page, says.

    Raises:
        Damaged: the row cannot hold it.
    """
    rules = mapping.writes
    assert rules is not None
    page = PageText(text, mapping.dialect)
    columns = dict(_column_changes(row, mapping, page, rules))
    body = _changed_body(entry, row, mapping, page, rules)
    result = replace(row, body=row.body if body is None else body)
    if body is not None and PageText(edited_text(entry, result, mapping, text)).body != page.body:
        raise Damaged("its body would not come back from the app as it is")
    plain = _plain_text(page) if rules.plain is not None and body is not None else None
    return RowChanges(columns, body, plain)


def new_row_values(entry: EntryId, mapping: Mapping, text: str) -> RowChanges:
    """
    What a new row of the app has to say to say what *text*, its page, says.

    Raises:
        Damaged: a row cannot hold it.
    """
    empty = AppRow(str(entry), None, "", None, "", None)
    changes = changes_of(entry, empty, mapping, text)
    if changes.body is not None:
        return changes
    body = "" if mapping.body.form in (Format.MARKDOWN, Format.HTML) else _EMPTY_DOCUMENT
    return replace(changes, body=body, plain="")


def _column_changes(row: AppRow, mapping: Mapping, page: PageText, rules: WriteRules) -> Iterator[tuple[str, Json]]:
    values, title = read_values(page), page.views.title
    if title is not None and title != row.title:
        yield mapping.page.title, title
    order, position = mapping.page.order, _position_in(values)
    if order is not None and position is not None and position != position_of(row, mapping):
        column = _position_value(order.kind, position)
        if str(column) != row.position:
            yield order.column, column
    for key, column in mapping.front.items():
        value = values.get(key)
        if rules.owner_of(key) is not Owner.IN and not is_same_json(value, row.properties.get(key)):
            yield column, value


def _position_value(kind: OrderKind, position: str) -> Json:
    if kind is OrderKind.KEY:
        return position
    number = int(position) if _NUMBER.fullmatch(position) else number_of_position(position)
    if number is None:
        raise Damaged(f"its position {position!r} is between two whole numbers, and the app has only these")
    return number


def _changed_body(entry: EntryId, row: AppRow, mapping: Mapping, page: PageText, rules: WriteRules) -> str | None:
    """The body that the page has and the row does not; None: they say the same."""
    if PageText(edited_text(entry, row, mapping, page.text)).body == page.body and not _has_other_keys(
        row, mapping, page
    ):
        return None
    if mapping.body.form is Format.MARKDOWN:
        return _markdown_body(row, mapping, page)
    former = document_of(row, mapping) or {"type": "doc"}
    document = keep_nodes(with_foreign_text(read_document(page.text, page.dialect)), former)
    if not document.get("content"):
        document = {**document, "content": [{"type": "paragraph"}]}
    _check_nodes(document, former, rules)
    if mapping.body.form is Format.HTML:
        return html_with(row.body or "", document)
    if mapping.links is not None:
        app_document = cast("dict[str, Any]", app_document_of(row, mapping) or {})
        document = cast(Document, with_nodes(cast("dict[str, Any]", document), app_document, mapping.links))
    names = {ours: theirs for theirs, ours in mapping.body.names.items()}
    return json_of(rename_nodes(document, names))


def json_of(value: object) -> str:
    """*value* as JSON. Raises Damaged if it is nested too deep, or has a number that is too large."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise Damaged("it is nested too deep, or has a number that is too large") from error


def _has_other_keys(row: AppRow, mapping: Mapping, page: PageText) -> bool:
    if not _has_front_matter(row, mapping):
        return False
    return bool(_changes_of_others(read_values(PageText(row.body or "")), read_values(page), mapping))


def _markdown_body(row: AppRow, mapping: Mapping, page: PageText) -> str:
    if not _has_front_matter(row, mapping):
        return page.body
    former = PageText(row.body or "")
    changes = _changes_of_others(read_values(former), read_values(page), mapping)
    return _with_body(with_keys(former, changes), page.body).text


def _check_nodes(document: Document, former: Document, rules: WriteRules) -> None:
    """Raise Damaged if *document* has nodes or marks that the app's editor may not know: it would remove them."""
    unknown = set(_names_in(document)) - rules.nodes - set(_names_in(former))
    if unknown:
        raise Damaged(
            f"the app's editor may not know `{min(unknown)}` and remove it; if it does, add it to `body.nodes`"
        )


def _names_in(node: Node) -> Iterator[str]:
    """The names of all nodes and marks in *node*."""
    yield node["type"]
    for mark in node.get("marks") or ():
        yield mark["type"]
    for child in node.get("content") or ():
        yield from _names_in(child)


def _plain_text(page: PageText) -> str:
    """The text of the body, a line for each block of text."""
    return "\n".join(line for line in _lines_of(read_document(page.text, page.dialect)) if line)


def _lines_of(node: Node) -> Iterator[str]:
    children = node.get("content") or []
    if any("text" in child for child in children):
        yield "".join(child.get("text") or ("\n" if child["type"] == "hardBreak" else "") for child in children)
        return
    for child in children:
        yield from _lines_of(child)
