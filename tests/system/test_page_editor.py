"""Apps with an ordinary editor read and write pages through page_editor, and lose nothing that the editor lacks."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from mirrord.db.database import app_dsn
from mirrord.domain.entry import TenantId
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.block import ids_in
from mirrord.markdown.schema.document import Document, Node, make_document, text_node
from mirrord.markdown.starterkit.block_images import BLOCK_IMAGES_SCHEMA, with_block_images
from mirrord.markdown.starterkit.shown_form import NODE_LANGUAGE, to_starterkit
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import change, row_of, value
from tests.support.harness import Mirrord, eventually
from tests.support.laws import scale_examples
from tests.support.rows import Connection
from tests.unit.codec.documents import documents, markdown
from tests.unit.codec.test_starterkit import EVERY_KIND, as_sent

PATIENT = settings(max_examples=scale_examples(60), deadline=None, suppress_health_check=list(HealthCheck))
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "doc", "text", "table", "callout"])),
    lambda values: st.one_of(
        st.lists(values, max_size=3),
        st.dictionaries(st.sampled_from(["type", "content", "attrs", "marks", "text", "id"]), values, max_size=4),
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module."""
    with Near(tmp_path_factory.mktemp("editor"), tenant="page-editor", dsn=admin_dsn) as started:
        started.up()
        yield started


def shown_in_postgres(app: Connection, document: object) -> Any:
    return value(app, "SELECT mirrord.document_in(%s, 'starterkit')", Jsonb(document))


def with_values_for_json(node: Node) -> Any:
    """*node*, where the code of a node is the node: Postgres and Python write JSON in their own ways."""
    if node["type"] == "codeBlock" and (node.get("attrs") or {}).get("language") == NODE_LANGUAGE:
        return {**node, "content": json.loads(node["content"][0]["text"])}
    content = node.get("content")
    return {**node, "content": [with_values_for_json(child) for child in content]} if content else node


def without_nul(document: Document) -> Document:
    loaded: Document = json.loads(json.dumps(document).replace("\\u0000", "\\ufffd"))
    return loaded


@PATIENT
@given(documents)
def test_postgres_shows_documents_of_apps_as_the_daemon_expects(app_connection: Connection, document: Document) -> None:
    document = without_nul(document)
    form = shown_in_postgres(app_connection, document)
    assert with_values_for_json(form) == with_values_for_json(to_starterkit(document))


@PATIENT
@given(markdown)
def test_postgres_shows_pages_as_the_daemon_expects(app_connection: Connection, text: str) -> None:
    document = without_nul(read_document(text))
    assert shown_in_postgres(app_connection, document) == to_starterkit(document)


@PATIENT
@given(st.one_of(documents, markdown.map(read_document)))
def test_postgres_shows_block_images_as_the_daemon_expects(app_connection: Connection, document: Document) -> None:
    document = without_nul(document)
    form = value(app_connection, "SELECT mirrord.document_in(%s, %s)", Jsonb(document), BLOCK_IMAGES_SCHEMA)
    assert with_values_for_json(form) == with_values_for_json(with_block_images(to_starterkit(document)))


def test_an_editor_with_block_images_edits_a_page_through_the_view(mirrord: Mirrord) -> None:
    path = f"Images {uuid4().hex[:8]}.md"
    text = "![a](a.png 'hint')\n\nin ![b](b.png 'too') [[text]]\n\n- ![c](c.png)\n\n\\![no](image.png)\n"
    save(mirrord.file(path), text)
    page = eventually(
        lambda: page if (page := mirrord.page(path)) and page.content is not None else None, "the document"
    )
    with mirrord.app.transaction():
        mirrord.app.execute("SELECT set_config('mirrord.schema', %s, true)", [BLOCK_IMAGES_SCHEMA])
        query = "SELECT version, content FROM mirrord.page_editor WHERE id = %s"
        version, form = mirrord.app.execute(query, [page.id]).fetchone() or (0, {})
        assert [block["type"] for block in form["content"]] == ["image", "paragraph", "bulletList", "paragraph"]
        form["content"][1]["content"][0]["text"] = "now in "
        form["content"].append({"type": "image", "attrs": {"src": "new.png", "alt": "d"}})
        update = "UPDATE mirrord.page_editor SET content = %s WHERE id = %s AND version = %s RETURNING version"
        assert mirrord.app.execute(update, [Jsonb(form), page.id, version]).fetchone() is not None

    expected = text.replace("in ![b]", "now in ![b]") + "\n![d](new.png)\n"
    eventually(lambda: mirrord.text(path) == expected, "the edit in the file")


def test_postgres_shows_a_page_of_every_kind_as_the_daemon_expects(app_connection: Connection) -> None:
    document = read_document(EVERY_KIND)
    form = shown_in_postgres(app_connection, document)
    assert with_values_for_json(form) == with_values_for_json(to_starterkit(document))


@PATIENT
@given(json_values)
def test_no_value_that_an_app_may_have_written_makes_the_view_unreadable(
    app_connection: Connection, content: object
) -> None:
    shown_in_postgres(app_connection, content)
    shown_in_postgres(app_connection, {"type": "doc", "content": [content, {"type": "table", "content": [content]}]})


def test_a_document_that_is_nested_too_deep_is_shown(app_connection: Connection) -> None:
    depth = 2_000
    quotes = '{"type": "blockquote", "content": [' * depth + "]}" * depth
    content = value(
        app_connection,
        "SELECT mirrord.document_in(%s::jsonb, 'starterkit')::text",
        f'{{"type": "doc", "content": [{quotes}]}}',
    )
    assert "mirrord-node" in content


def new_page(mirrord: Mirrord, text: str = EVERY_KIND) -> tuple[str, UUID]:
    """A page from a file, with its document: its path and id."""
    path = f"Page {uuid4().hex[:8]}.md"
    save(mirrord.file(path), text)

    def loaded() -> UUID | None:
        page = mirrord.page(path)
        return page.id if page is not None and page.content is not None else None

    return path, eventually(loaded, f"the document of {path}")


def read(mirrord: Mirrord, page: UUID) -> tuple[int, Document]:
    version, content = mirrord.app.execute("SELECT version, content FROM page_editor WHERE id = %s", [page]).fetchall()[
        0
    ]
    return version, content


def sent(document: Document, *edits: tuple[str, str]) -> Document:
    text = json.dumps(as_sent(document), ensure_ascii=False)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    result: Document = json.loads(text)
    return result


def write(mirrord: Mirrord, page: UUID, version: int, content: Document) -> list[Any]:
    update = "UPDATE page_editor SET content = %s WHERE id = %s AND version = %s RETURNING version"
    return mirrord.app.execute(update, [Jsonb(content), page, version]).fetchall()


def assert_text(mirrord: Mirrord, path: str, page: UUID, text: str) -> None:
    """The file and the row have *text*, nothing waits, and no problem is listed."""
    eventually(lambda: mirrord.text(path) == text, f"{path} to be written")
    row = eventually(lambda: (row := row_of(mirrord.app, page))["ahead"] == [] and row, "the row to be rendered")
    assert row["markdown"] == text
    problems = "SELECT FROM problem WHERE entry_id = %s"
    eventually(lambda: mirrord.app.execute(problems, [page]).fetchall() == [], "no problem to be listed")


def test_a_word_that_is_typed_in_an_ordinary_editor_changes_that_word_in_the_file(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord)
    before = row_of(mirrord.app, page)["content"]
    version, document = read(mirrord, page)

    assert write(mirrord, page, version, sent(document, ("hidden", "unfolded"))) == [(version + 1,)]

    assert_text(mirrord, path, page, EVERY_KIND.replace("hidden", "unfolded"))
    after = row_of(mirrord.app, page)["content"]
    changed = [block["type"] for block, old in zip(after["content"], before["content"], strict=True) if block != old]
    assert changed == ["details"]
    assert ids_in(after["content"]) == ids_in(before["content"])


def test_an_item_with_a_box_that_is_alone_in_its_list_is_a_task_in_the_row(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord, "- a\n- [ ] b\n")
    content = row_of(mirrord.app, page)["content"]
    item = content["content"][0]["content"].pop()
    content["content"][0]["content"][0]["content"].append({"type": "bulletList", "content": [item]})

    change(mirrord.app, page, content=Jsonb(content))

    assert_text(mirrord, path, page, "- a\n  - [ ] b\n")
    inner = row_of(mirrord.app, page)["content"]["content"][0]["content"][0]["content"][1]
    assert (inner["type"], inner["content"][0]["type"]) == ("taskList", "taskItem")
    assert inner["content"][0]["attrs"] == {"id": item["attrs"]["id"], "checked": False}
    assert inner["content"][0]["content"][0]["content"] == [{"type": "text", "text": "b"}]


def test_a_document_over_another_version_is_not_written(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord)
    version, document = read(mirrord, page)

    assert write(mirrord, page, version - 1, sent(document, ("hidden", "lost"))) == []
    lost = "SELECT mirrord.write_document(%s, %s, %s)"
    assert value(mirrord.app, lost, page, version + 1, Jsonb(document)) is None
    assert mirrord.text(path) == EVERY_KIND


def test_the_functions_read_and_write_as_the_view_does(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord)
    version, document = read(mirrord, page)

    assert value(mirrord.app, "SELECT mirrord.document(%s, 'starterkit')", page) == document
    assert value(mirrord.app, "SELECT mirrord.document(%s, 'mirrord')", page) == row_of(mirrord.app, page)["content"]
    content = Jsonb(sent(document, ("inside", "within")))
    assert value(mirrord.app, "SELECT mirrord.write_document(%s, %s, %s)", page, version, content) == version + 1

    assert_text(mirrord, path, page, EVERY_KIND.replace("inside", "within"))


def test_two_saves_in_a_row_need_not_wait_for_the_daemon(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord)
    version, document = read(mirrord, page)
    first = sent(document, ("hidden", "unfolded"))

    with mirrord.app.transaction():
        write(mirrord, page, version, first)
        assert read(mirrord, page) == (version + 1, first)
        write(mirrord, page, version + 1, sent(first, ("inside", "within")))

    assert_text(mirrord, path, page, EVERY_KIND.replace("hidden", "unfolded").replace("inside", "within"))


def test_a_save_over_one_that_waits_in_the_full_schema_keeps_what_that_brought(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord, "one ==mark== word\n")
    row = row_of(mirrord.app, page)
    brought: Node = {"type": "wikilink", "attrs": {"target": "New"}}
    content = make_document([*row["content"]["content"], {"type": "paragraph", "content": [brought]}])

    with mirrord.app.transaction():
        mirrord.app.execute("UPDATE page SET content = %s WHERE id = %s", [Jsonb(content), page])
        version, document = read(mirrord, page)
        write(mirrord, page, version, sent(document, ("word", "words")))

    assert_text(mirrord, path, page, "one ==mark== words\n\n[[New]]\n")


def test_a_save_in_the_full_schema_over_one_that_waits_is_read_as_what_it_was_shown(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord)
    version, document = read(mirrord, page)
    first = sent(document, ("hidden", "unfolded"))

    with mirrord.app.transaction():
        write(mirrord, page, version, first)
        content = {**first, "content": [*first["content"], {"type": "paragraph", "content": [text_node("more")]}]}
        mirrord.app.execute("UPDATE page SET content = %s WHERE id = %s", [Jsonb(content), page])

    assert_text(mirrord, path, page, EVERY_KIND.replace("hidden", "unfolded") + "\nmore\n")


def test_a_page_is_made_renamed_and_deleted_through_the_view(mirrord: Mirrord) -> None:
    content = make_document([{"type": "paragraph", "content": [text_node("see [[Page]]")]}])
    insert = "INSERT INTO page_editor (name, content) VALUES ('Made here', %s) RETURNING id"
    page = value(mirrord.app, insert, Jsonb(content))
    eventually(lambda: (mirrord.text("Made here.md") or "").endswith("see [[Page]]\n"), "the file of the page")

    mirrord.app.execute("UPDATE page_editor SET name = 'Renamed' WHERE id = %s", [page])
    eventually(lambda: mirrord.text("Renamed.md"), "the file under its new name")

    assert mirrord.app.execute("DELETE FROM page_editor WHERE id = %s", [page]).rowcount == 1
    eventually(lambda: not mirrord.file("Renamed.md").exists(), "the file to go")


def test_a_document_that_empties_a_page_is_held_in_this_schema_too(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord)
    version, _ = read(mirrord, page)

    write(mirrord, page, version, make_document([{"type": "paragraph", "content": [text_node("t")]}]))

    codes = "SELECT code FROM problem WHERE entry_id = %s"
    eventually(lambda: mirrord.app.execute(codes, [page]).fetchall() == [("content-lost",)], "the page to be held")
    assert mirrord.text(path) == EVERY_KIND


def test_a_code_block_that_is_to_be_a_node_and_is_none_is_a_problem_and_leaves_the_file(mirrord: Mirrord) -> None:
    path, page = new_page(mirrord)
    version, document = read(mirrord, page)

    write(mirrord, page, version, sent(document, ('\\"poll\\"', "poll")))

    sentences = "SELECT sentence FROM problem WHERE entry_id = %s"
    (sentence,) = eventually(lambda: mirrord.app.execute(sentences, [page]).fetchall(), "the problem")[0]
    assert "mirrord-node" in sentence
    assert mirrord.text(path) == EVERY_KIND

    version, document = read(mirrord, page)
    write(
        mirrord, page, version, sent(document, ('\\"type\\": poll', '\\"type\\": \\"poll\\"'), ("hidden", "unfolded"))
    )

    assert_text(mirrord, path, page, EVERY_KIND.replace("hidden", "unfolded"))


@pytest.mark.parametrize("schema", ["mirrord", "starterkit"])
def test_the_schema_of_the_view_is_a_setting(mirrord: Mirrord, schema: str) -> None:
    _, page = new_page(mirrord)
    with mirrord.app.transaction():
        mirrord.app.execute(f"SET LOCAL mirrord.schema = '{schema}'".encode())
        _, document = read(mirrord, page)
    assert document == value(mirrord.app, "SELECT mirrord.document(%s, %s)", page, schema)


def test_a_schema_that_does_not_exist_is_refused(mirrord: Mirrord) -> None:
    _, page = new_page(mirrord)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match='no schema "tiny"'):
        mirrord.app.execute("SELECT mirrord.document(%s, 'tiny')", [page])


def test_pages_of_other_tenants_are_neither_read_nor_written_through_the_view(
    app_connection: Connection, admin_dsn: str, other_tenant: TenantId, connect: Callable[[str], Connection]
) -> None:
    other = connect(app_dsn(admin_dsn, other_tenant))
    page = value(other, "INSERT INTO page (name, content) VALUES ('P', %s) RETURNING id", Jsonb(make_document([])))

    assert app_connection.execute("SELECT id FROM page_editor WHERE id = %s", [page]).fetchall() == []
    assert value(app_connection, "SELECT mirrord.document(%s)", page) is None
    assert value(app_connection, "SELECT mirrord.write_document(%s, 1, %s)", page, Jsonb(make_document([]))) is None
    insert = "INSERT INTO page_editor (tenant_id, name) VALUES (%s, 'Q')"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        app_connection.execute(insert, [other_tenant])
