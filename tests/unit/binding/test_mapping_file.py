"""The TOML file of a binding: what it says, and a clear sentence for what cannot be meant."""

import pytest

from mirrord.binding.mappings.mapping import (
    Body,
    Condition,
    Format,
    Match,
    Order,
    OrderKind,
    PageTable,
    TableName,
    Tenancy,
    Watch,
    columns_read,
    columns_written,
)
from mirrord.binding.mappings.mapping_file import parse_mapping
from mirrord.binding.mappings.write_rules import USUAL_NODES, Owner, Touch, WriteRules
from mirrord.errors import UserError

SMALL = """
[binding]
name = "wiki"
[page]
table = "pages"
id = "id"
title = "title"
[body]
column = "body"
format = "markdown"
"""

BOTH = """
[binding]
name = "wiki"
mode = "both"
[page]
table = "pages"
id = "id"
title = "title"
version = "version"
touch = { updated_at = "now", editor = "'mirrord'" }
delete = "row"
[body]
column = "body"
format = "tiptap"
names = { b = "bulletList", l = "listItem" }
plain = "plain"
nodes = ["taskList"]
[front]
icon = "icon"
status = { column = "status", own = "out" }
"""

FULL = """
[binding]
name = "kb"
mode = "in"
watch = "poll"
poll_seconds = 3
[tenant]
column = "tenant_id"
map = { "0b1c" = "acme" }
[page]
table = "kb.pages"
id = "id"
title = "title"
parent = "parent_id"
order = { int = "position" }
deleted = "deleted_at"
filter = { space_type = { not = "PRIVATE" }, status = ["draft", "published"] }
[body]
table = "kb.blocks"
match = { page_id = "id", type = "'DOCUMENT'" }
column = "content"
format = "tiptap"
names = { bullet_list = "bulletList" }
[front]
icon = "icon"
summary = { column = "summary", own = "in" }
"""


SPACE = """
[space]
table = "spaces"
id = "id"
title = "name"
"""


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def test_a_small_file_is_enough() -> None:
    mapping = parse_mapping(SMALL)
    assert (mapping.name, mapping.watch, mapping.tenancy) == ("wiki", Watch.TRIGGERS, Tenancy())
    assert mapping.page == PageTable(TableName("public", "pages"), "id", "title")
    assert mapping.body == Body("body", Format.MARKDOWN)
    assert columns_read(mapping) == {TableName("public", "pages"): ("id", "title", "body")}


def test_every_key_is_read() -> None:
    mapping = parse_mapping(FULL)
    assert (mapping.watch, mapping.poll_seconds) == (Watch.POLL, 3)
    assert mapping.tenancy == Tenancy("tenant_id", {"0b1c": "acme"})
    assert mapping.page == PageTable(
        TableName("kb", "pages"),
        "id",
        "title",
        "parent_id",
        Order(OrderKind.INT, "position"),
        "deleted_at",
        (Condition("space_type", ("PRIVATE",), is_excluded=True), Condition("status", ("draft", "published"))),
    )
    assert mapping.body == Body(
        "content",
        Format.TIPTAP,
        TableName("kb", "blocks"),
        (Match("page_id"), Match("type", "DOCUMENT")),
        {"bullet_list": "bulletList"},
    )
    assert mapping.body.id_column == "page_id"
    assert mapping.front == {"icon": "icon", "summary": "summary"}


def test_all_columns_that_are_read_are_listed_once_and_by_table() -> None:
    of_page = ("id", "title", "parent_id", "deleted_at", "position", "tenant_id", "space_type", "status")
    assert columns_read(parse_mapping(FULL)) == {
        TableName("kb", "pages"): (*of_page, "icon", "summary"),
        TableName("kb", "blocks"): ("page_id", "type", "content"),
    }


def test_a_tenant_has_the_rows_with_its_value_or_all_of_them() -> None:
    assert parse_mapping(FULL).tenancy.value_of("acme") == "0b1c"
    assert parse_mapping(FULL).tenancy.value_of("other") is None
    assert parse_mapping(SMALL).tenancy.value_of("any") == ""
    fixed = parse_mapping(SMALL + '[tenant]\nfixed = "acme"\n')
    assert (fixed.tenancy.value_of("acme"), fixed.tenancy.value_of("other")) == ("", None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[binding", "no valid TOML"),
        (SMALL + "[pages]\n", "`pages` is no key of a mapping. Did you mean `page`?"),
        (changed(SMALL, 'title = "title"', 'titel = "title"'), "Did you mean `page.title`?"),
        (changed(SMALL, 'title = "title"\n', ""), "`page.title` is missing"),
        (changed(SMALL, 'name = "wiki"', 'name = "The Wiki"'), "use a-z, 0-9 and dashes"),
        (changed(SMALL, 'name = "wiki"', "name = 3"), "`binding.name` must be a text"),
        (changed(SMALL, 'name = "wiki"', 'name = "wiki"\nmode = "out"'), 'choose "in"'),
        (changed(SMALL, 'name = "wiki"', 'name = "wiki"\npoll_seconds = 0'), "must be a whole number"),
        (changed(SMALL, 'format = "markdown"', 'format = "lexical"'), "choose one of markdown, tiptap, prosemirror"),
        (changed(SMALL, 'format = "markdown"', 'format = "markdown"\nnames = { a = "b" }'), "Markdown does not have"),
        (changed(SMALL, 'table = "pages"', 'table = "mirrord.page"'), "its pages need no binding"),
        (changed(SMALL, 'table = "pages"', 'table = "a.b.c"'), "must be the name of a table"),
        (changed(SMALL, 'id = "id"', """id = 'i"d'"""), "must be the name of a column"),
        (changed(SMALL, 'id = "id"', 'id = "id"\norder = { tree = "x" }'), "`page.order.tree` is no key"),
        (changed(SMALL, 'id = "id"', 'id = "id"\nfilter = { status = { nott = 1 } }'), "Did you mean"),
        (changed(SMALL, 'id = "id"', 'id = "id"\nfilter = { status = 1.5 }'), "must be a value"),
        (changed(FULL, 'page_id = "id", ', ""), "must name the column with the id of the page once"),
        (changed(FULL, 'page_id = "id"', 'page_id = "key"'), "must be the column `page.id`"),
        (changed(FULL, 'map = { "0b1c" = "acme" }', ""), "`tenant.map` says which value"),
        (changed(FULL, 'column = "tenant_id"\n', ""), "`tenant.map` needs `tenant.column`"),
        (changed(FULL, 'icon = "icon"', 'title = "icon"'), "`front.title` is not free"),
        (changed(FULL, 'own = "in"', 'own = "both"'), 'needs `binding.mode = "both"`'),
        (changed(SMALL, 'id = "id"', 'id = "id"\ntouch = { updated = "now" }'), 'needs `binding.mode = "both"`'),
        (changed(BOTH, 'updated_at = "now"', 'updated_at = "today"'), "a constant in single quotes"),
        (changed(BOTH, 'version = "version"', 'version = "updated_at"'), "name the column once"),
        (changed(BOTH, 'own = "out"', 'own = "mine"'), "choose one of both, in, out"),
        (changed(BOTH, 'delete = "row"', 'delete = "soft"'), '`page.delete` must be "row"'),
        (changed(BOTH, 'delete = "row"', 'delete = "row"\ndeleted = "gone"'), "Choose either"),
        (changed(BOTH, 'plain = "plain"', "plain = 3"), "`body.plain` must be"),
        (changed(BOTH, '["taskList"]', '"taskList"'), "`body.nodes` is a list"),
        (changed(BOTH, 'l = "listItem"', 'l = "bulletList"'), "cannot tell them apart"),
        (changed(BOTH, 'mode = "both"', 'mode = "both"\nwrite = "http"'), '`binding.write` must be "sql"'),
        (changed(BOTH, 'column = "body"', 'column = "body"\ntouch = { x = "now" }'), "need `body.table`"),
        (SMALL + SPACE, "the mapping needs both"),
        (changed(SMALL, 'id = "id"', 'id = "id"\nspace = "space"'), "the mapping needs both"),
        (
            changed(SMALL, 'id = "id"', 'id = "id"\nspace = "s"') + SPACE.replace("spaces", "pages"),
            "a table of its own",
        ),
        (changed(FULL, 'title = "title"', 'title = "title"\nspace = "space"') + SPACE, "`space.tenant` is the column"),
        (SMALL + 'match = { page_id = "id" }', "`body.match` needs `body.table`"),
        (changed(SMALL, 'id = "id"', 'id = "id"\nparent = "p"\npath = "path"'), "leave out `page.parent`"),
        (SMALL + '[links]\nurl = "/p/{id}"\nid = "pageId"\n', "name it in `links.node`"),
        (SMALL + '[links]\nurl = "/p/{id}"\nnode = "mention"\n', "bodies of Markdown or HTML have none"),
        (BOTH + '[links]\nurl = "/p/{id}"\nnode = "mention"\n', "needs `links.id` and `links.title`"),
        (BOTH + '[links]\nurl = "/p/{id}"\nnode = "m"\nid = "i"\ntitle = "t"\nmatch = "page"', "a table of attributes"),
        (
            changed(BOTH, 'id = "id"', 'id = "id"\npath = "path"\norder = { int = "n" }'),
            '`page.order` needs `binding.mode = "in"` where rows have `page.path`',
        ),
        (SMALL + 'content_loss = "json"', "which a body of Markdown has not"),
        (SMALL.replace("markdown", "html") + 'content_loss = "simplify"', "choose one of degrade, refuse, json"),
        (
            changed(BOTH, 'column = "body"', 'column = "body"\ncontent_loss = "degrade"'),
            "would write the simpler table",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as refusal:
        parse_mapping(text)
    assert sentence in str(refusal.value)


def test_mode_both_says_how_rows_are_written() -> None:
    mapping = parse_mapping(BOTH)
    assert mapping.writes == WriteRules(
        of_page=(Touch("updated_at", "now"), Touch("editor", "mirrord", is_constant=True), Touch("version", "+1")),
        plain="plain",
        nodes=USUAL_NODES | {"taskList"},
        owners={"icon": Owner.BOTH, "status": Owner.OUT},
        removes_rows=True,
    )
    table = TableName("public", "pages")
    assert columns_written(mapping)[table] == (
        "title", "icon", "status", "updated_at", "editor", "version", "body", "plain"
    )  # fmt: skip
    assert parse_mapping(SMALL).writes is None
    assert columns_written(parse_mapping(SMALL)) == {}


@pytest.mark.parametrize(
    "url",
    [
        "wiki/{id}",
        "javascript:{id}",
        "https://wiki.example/",
        "https://w.example/{id}/{id}",
        "https://w.example/{title}",
    ],
)
def test_an_address_of_pages_is_one_of_the_web_with_the_id_once(url: str) -> None:
    with pytest.raises(UserError, match=r"`page.url` is"):
        parse_mapping(SMALL.replace("[body]", f'url = "{url}"\n[body]'))
