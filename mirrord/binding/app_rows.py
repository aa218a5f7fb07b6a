"""A row of an app as a page: its values, the text of its file, and its position among siblings. Pure."""

import json
from collections.abc import Mapping as ByKey
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

import orjson

from mirrord.binding.bodies.html_body import document_of_html
from mirrord.binding.links.link_nodes import with_links
from mirrord.binding.mappings.mapping import Format, Mapping, OrderKind
from mirrord.binding.mappings.path_names import name_in, trouble_with
from mirrord.domain.bound_page import BINDING_KEY, URL_KEY
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId, digest_of
from mirrord.domain.place import clean_name, name_key, numbered_name
from mirrord.errors import Damaged
from mirrord.markdown.content_loss import ContentLoss
from mirrord.markdown.frontmatter.page_properties import Json, new_head, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.schema.document import Document, check_document
from mirrord.markdown.write.plain_tables import with_plain_tables
from mirrord.markdown.write.render import NewViews, render

MAX_NUMBER = 999  # of a name that another page has, too
MAX_NODES = 250_000  # nodes and marks of one body: each takes two kilobytes on its way to Markdown
MAX_JSON_PARTS = 2_000_000  # objects and lists of one body, with those of attributes
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order of their bytes


@dataclass(frozen=True, slots=True)
class AppRow:
    """
    A living row of the app.

    parent: the id of another row; None: it has none. position: as the app has it. version: changes with every write of
    the row or its body. body: None: there is no body. properties: values by the key of front matter.
    bodies: how many rows of the table with bodies match; only the first was read. damage: the columns of front matter
    as text, if they cannot be read; None: they can. path: as the app has it, in place of a parent, which is the row or
    folder above; None: the mapping has no paths.
    """

    external_id: str
    parent: str | None
    title: str
    position: str | None
    version: str
    body: str | None
    properties: ByKey[str, Any] = field(default_factory=dict)
    bodies: int = 1
    damage: str | None = None
    path: str | None = None

    @property
    def size(self) -> int:
        """About the bytes of the page's text."""
        return len(self.title) + len((self.body or "").encode()) + len(orjson.dumps(dict(self.properties)))

    @property
    def digest(self) -> Digest:
        """The digest of all that the app says about the page, but for its version."""
        values = [self.parent, self.title, self.position, self.body, dict(self.properties)]
        if self.damage is not None:
            values.append(self.damage)
        if self.path is not None:
            values.append({"path": self.path if trouble_with(self.path) else name_in(self.path)})
        return digest_of(orjson.dumps(values, option=orjson.OPT_SORT_KEYS))

    @property
    def name(self) -> str:
        """The name of the page's file."""
        name = self.title if self.path is None or trouble_with(self.path) else name_in(self.path)
        return clean_name(name, self.external_id[:8])


def is_name_of(name: str | None, row: AppRow) -> bool:
    """Whether a page of this *name* shows the title of *row*: the later of two equal names has a number."""
    if name is None:
        return False
    key = name_key(name)
    if key == name_key(row.name):
        return True
    if not name.endswith(")") or " (" not in name:
        return False
    number = name.rpartition(" (")[2].removesuffix(")")
    return number.isdecimal() and len(number) <= 3 and key == name_key(numbered_name(row.name, int(number)))


def text_of(entry: EntryId, row: AppRow, mapping: Mapping) -> str:
    """
    The text of the page of *row*, front matter included.

    Raises:
        Damaged: the body is not of its format, or the text would not hold all of it.
    """
    if row.bodies > 1:
        raise Damaged(f"the app has {row.bodies} bodies for it, and `body.match` must leave one")
    if row.path is not None and (trouble := trouble_with(row.path)) is not None:
        raise Damaged(trouble)
    if row.damage is not None:
        raise Damaged("a column of its front matter is nested too deep, or has a number that is too large")
    if row.body is not None and len(row.body) > MAX_FILE_BYTES:
        raise Damaged(f"its body has more than {MAX_FILE_BYTES >> 20} MiB")
    try:
        return _page_text(entry, row, mapping)
    except RecursionError as error:
        raise Damaged("its body or its front matter is nested too deep") from error


def read_properties(text: str) -> dict[str, Any] | None:
    """The columns of front matter from their JSON; None: they are nested too deep, or a number is too large."""
    try:
        properties: dict[str, Any] = json.loads(text)
        orjson.dumps(properties)
    except (ValueError, TypeError, RecursionError):
        return None
    return properties


def _page_text(entry: EntryId, row: AppRow, mapping: Mapping) -> str:
    body = _markdown_of(row, mapping)
    if len(body.encode()) > MAX_FILE_BYTES:
        raise Damaged(f"its body has more than {MAX_FILE_BYTES >> 20} MiB")
    return _with_properties(body, _properties_of(entry, row, mapping)).text


def _properties_of(entry: EntryId, row: AppRow, mapping: Mapping) -> dict[str, Json]:
    properties: dict[str, Json] = {"id": str(entry), "title": row.title}
    if (position := position_of(row, mapping)) is not None:
        properties["position"] = position
    if mapping.page.url is not None:
        if mapping.writes is None:
            properties[BINDING_KEY] = mapping.name
        if mapping.has_row(row.external_id):
            properties[URL_KEY] = mapping.page.url.replace("{id}", quote(row.external_id, safe=""))
    return properties | {key: value for key, value in row.properties.items() if value is not None}


def _with_properties(body: str, properties: dict[str, Json]) -> PageText:
    """*body* below a front matter with *properties*; one that the body begins with stays."""
    page = PageText(body)
    if page.head and page.views.error is None and page.views.frontmatter:
        return with_keys(page, properties)
    result = PageText(new_head(properties) + body)
    if result.body != body:
        raise Damaged("its body would become a part of the front matter")
    return result


def position_of(row: AppRow, mapping: Mapping) -> str | None:
    """The position of *row* in front matter; None: it has none. Raises Damaged if it is no whole number."""
    order = mapping.page.order
    if order is None or row.position is None:
        return None
    if order.kind is OrderKind.KEY:
        return row.position
    try:
        return position_of_number(int(row.position))
    except ValueError:
        raise Damaged(f"its position {row.position!r} is no whole number") from None


def number_of_position(position: str) -> int | None:
    """The whole number of a *position*; None: it is between two of them, or none."""
    letter, digits = position[:1], position[1:]
    if not digits or not (letter.isascii() and letter.isalpha()) or not all(digit in _DIGITS for digit in digits):
        return None
    count = ord(letter) - ord("a") + 1 if letter.islower() else ord("Z") - ord(letter) + 1
    if len(digits) != count:
        return None
    size, offset = len(_DIGITS), 0
    for digit in digits:
        offset = offset * size + _DIGITS.index(digit)
    first: int = sum(size**length for length in range(1, count if letter.islower() else count + 1))
    return first + offset if letter.islower() else offset - first


def number_below(position: str) -> int | None:
    """The whole number below a *position* that is between two of them; None: it is one, or none."""
    letter = position[:1]
    if not (letter.isascii() and letter.isalpha()) or not all(digit in _DIGITS for digit in position):
        return None
    count = ord(letter) - ord("a") + 1 if letter.islower() else ord("Z") - ord(letter) + 1
    return number_of_position(position[: count + 1]) if len(position) > count + 1 else None


def position_of_number(number: int) -> str:
    """
    A position in the order of whole numbers: `a0` for 0, `a1` for 1, `Zz` for -1.

    The first letter says how many digits follow, as in the usual keys of fractional order, which compare byte by byte.
    """
    size, count = len(_DIGITS), 1
    if number >= 0:
        first = 0
        while number - first >= size**count:
            first += size**count
            count += 1
        letter, offset = chr(ord("a") + count - 1), number - first
    else:
        first = 0
        while -number - first > size**count:
            first += size**count
            count += 1
        letter, offset = chr(ord("Z") - count + 1), size**count + number + first
    digits = ""
    for _ in range(count):
        offset, digit = divmod(offset, size)
        digits = _DIGITS[digit] + digits
    return letter + digits


def _markdown_of(row: AppRow, mapping: Mapping) -> str:
    if row.body is None:
        return ""
    if mapping.body.form is Format.MARKDOWN:
        return row.body
    if (document := document_of(row, mapping)) is None:
        return ""
    if mapping.body.content_loss is not ContentLoss.JSON:
        document = with_plain_tables(check_document(document), (), mapping.body.content_loss)
    views = NewViews(None, None, None, None, None, document)
    return render(PageText("", mapping.dialect), frozenset({"content"}), views, "").text


def document_of(row: AppRow, mapping: Mapping) -> Document | None:
    """Like app_document_of(), with links in place of nodes that link to pages."""
    document = app_document_of(row, mapping)
    if document is None or mapping.links is None:
        return document
    return cast(Document, with_links(cast("dict[str, Any]", document), mapping.links))


def app_document_of(row: AppRow, mapping: Mapping) -> Document | None:
    """
    The body of *row*, whose format is no Markdown, with the names of the document schema; None: there is none.

    Raises:
        Damaged: it is no document.
    """
    if mapping.body.form is Format.HTML:
        return document_of_html(row.body) if row.body else None
    body = row.body or "null"
    if body.count("{") + body.count("[") > MAX_JSON_PARTS:  # before each of them takes memory
        raise Damaged(f"its body has more than {MAX_JSON_PARTS:,} objects and lists")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Damaged(f"its body is no JSON ({error})") from error
    if document is None:
        return None
    if not isinstance(document, dict) or document.get("type") != "doc":
        raise Damaged("its body is no document: the JSON has no `type` that is `doc`")
    if _count_nodes(document) > MAX_NODES:
        raise Damaged(f"its body has more than {MAX_NODES:,} nodes and marks")
    return rename_nodes(document, mapping.body.names)


def _count_nodes(document: Any) -> int:
    """The number of nodes and marks in *document*."""
    count, pending = 0, [document]
    while pending:
        node = pending.pop()
        count += 1
        for part in (node.get("content"), node.get("marks")):
            if isinstance(part, list):
                pending += [child for child in part if isinstance(child, dict)]
    return count


def rename_nodes(node: Any, names: ByKey[str, str]) -> Document:
    """*node* with other names of nodes and marks: *names* has them by those that it has."""
    if not names or not isinstance(node, dict):
        return node  # type: ignore[no-any-return]
    kind = node.get("type")
    result = {**node, "type": names.get(kind, kind) if isinstance(kind, str) else kind}
    for part in ("content", "marks"):
        if isinstance(node.get(part), list):
            result[part] = [rename_nodes(each, names) for each in node[part]]
    return result  # type: ignore[return-value]
