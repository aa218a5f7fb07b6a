"""Blocks keep their ids and their JSON in rows, whoever edits beside them; the document before waits in `prior`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from mirrord.db.content import derived_rows
from mirrord.db.database import Database
from mirrord.domain.entry import EntryId, TenantId
from tests.support.commands import Near
from tests.support.editors import save
from tests.support.entries import add_page, change, render, row_of
from tests.support.harness import Mirrord, eventually
from tests.support.rows import Connection

TEXT = "# Plan\n\nThe first paragraph.\n\n- one\n- two\n\nThe last paragraph.\n"


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Iterator[Mirrord]:
    """A running installation; only it uses its database."""
    with Near(tmp_path, dsn=fresh_dsn) as installed:
        installed.up()
        yield installed


def paragraph(text: str, **attrs: str) -> dict[str, Any]:
    return {"type": "paragraph", "attrs": attrs, "content": [{"type": "text", "text": text}]}


def document(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "doc", "content": list(content)}


def ids(document: dict[str, Any]) -> list[str]:
    return [node["attrs"]["id"] for node in document["content"]]


def blocks_of(mirrord: Mirrord, path: str, text: str) -> list[dict[str, Any]]:
    """The blocks of the row once they are derived from *text*."""

    def derived() -> list[dict[str, Any]] | None:
        page = mirrord.page(path)
        if page is None or page.markdown != text or page.ahead or page.content is None:
            return None
        blocks: list[dict[str, Any]] = page.content["content"]
        return blocks

    return eventually(derived, f"the document of {path} as it was saved")


def prior_of(mirrord: Mirrord, page: UUID) -> object:
    return row_of(mirrord.app, page)["prior"]


@pytest.mark.parametrize("paragraphs", [0, 3000], ids=["short", "long"])
def test_an_edit_of_one_block_in_the_file_changes_no_other_block_of_the_row(mirrord: Mirrord, paragraphs: int) -> None:
    text = TEXT + "".join(f"\nParagraph {number}.\n" for number in range(paragraphs))
    save(mirrord.file("Plan.md"), text)
    before = blocks_of(mirrord, "Plan.md", text)
    ends = ("", " edited", " edited, and again")
    for end in ends[1:]:
        edited = text.replace("The first paragraph.", f"The first paragraph{end}.").replace("- two", f"- two{end}")
        save(mirrord.file("Plan.md"), edited)
        after = blocks_of(mirrord, "Plan.md", edited)

        assert [index for index, node in enumerate(after) if node != before[index]] == [1, 2]
        assert [node["attrs"]["id"] for node in after] == [node["attrs"]["id"] for node in before]
        assert after[2]["content"][0] == before[2]["content"][0]
        assert after[2]["content"][1]["attrs"] == before[2]["content"][1]["attrs"]
    page = mirrord.page("Plan.md")
    assert page is not None
    assert prior_of(mirrord, page.id) is None


def test_what_an_app_wrote_without_ids_gets_them_in_its_own_version(mirrord: Mirrord) -> None:
    save(mirrord.file("Plan.md"), TEXT)
    before = blocks_of(mirrord, "Plan.md", TEXT)
    page = mirrord.page("Plan.md")
    assert page is not None
    bare = [{key: value for key, value in node.items() if key != "attrs"} for node in before]
    bare[0]["attrs"] = {"level": 1}
    written = document(*bare, paragraph("new", textAlign="left"))
    change(mirrord.app, page.id, content=Jsonb(written))
    after = blocks_of(mirrord, "Plan.md", TEXT + "\nnew\n")

    assert [node["attrs"]["id"] for node in after[:4]] == [node["attrs"]["id"] for node in before]
    assert after[4]["attrs"].keys() == {"id", "textAlign"}
    row = row_of(mirrord.app, page.id)
    assert (row["version"], row["prior"]) == (page.version + 1, None)


def test_a_key_typed_in_an_editor_that_hardens_breaks_changes_one_character_of_the_file(mirrord: Mirrord) -> None:
    text = "one\ntwo __three__\nfour\n\nlast\nline\n"
    save(mirrord.file("Wrapped.md"), text)
    blocks = blocks_of(mirrord, "Wrapped.md", text)
    page = mirrord.page("Wrapped.md")
    assert page is not None
    bold = {"type": "text", "text": "three", "marks": [{"type": "bold"}]}
    hard: dict[str, Any] = {"type": "hardBreak"}
    typed = [{"type": "text", "text": "one!"}, hard, {"type": "text", "text": "two "}, bold, hard]
    written = document({**blocks[0], "content": [*typed, {"type": "text", "text": "four"}]}, blocks[1])
    change(mirrord.app, page.id, content=Jsonb(written))
    after = blocks_of(mirrord, "Wrapped.md", text.replace("one", "one!"))

    assert [node["text"] for node in after[0]["content"]] == ["one!\ntwo ", "three", "\nfour"]
    assert ids(document(*after)) == ids(document(*blocks))
    eventually(lambda: mirrord.text("Wrapped.md") == text.replace("one", "one!"), "the character in the file")
    assert row_of(mirrord.app, page.id)["version"] == page.version + 1


def test_a_block_that_an_app_copied_with_its_id_gets_one_of_its_own(mirrord: Mirrord) -> None:
    page = add_page(mirrord.app, name="Copy", content=Jsonb(document(paragraph("a", id="x"), paragraph("a", id="x"))))
    eventually(lambda: mirrord.text("Copy.md"), "the file of the row")
    content = row_of(mirrord.app, page)["content"]
    assert ids(content)[0] == "x"
    assert len(set(ids(content))) == 2
    assert row_of(mirrord.app, page)["version"] == 1


def test_the_document_before_is_kept_until_there_is_the_next(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    first, second = document(paragraph("a", id="x")), document(paragraph("b", id="y"))
    page = add_page(app_connection, content=Jsonb(first))
    assert row_of(app_connection, page)["prior"] is None
    render(daemon_connection, page, "a\n")
    for _ in range(2):
        change(app_connection, page, content=Jsonb(second))
        second["content"].append(paragraph("c"))
        assert row_of(app_connection, page)["prior"] == first
    change(app_connection, page, markdown="d\n")
    after = row_of(app_connection, page)
    assert (after["content"], after["prior"]) == (None, first)


def test_new_text_of_a_file_keeps_the_document_before(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    first = document(paragraph("a", id="x"))
    page = add_page(app_connection, content=Jsonb(first))
    render(daemon_connection, page, "a\n")
    version = row_of(app_connection, page)["version"]
    change(daemon_connection, page, markdown="b\n", content=None)
    after = row_of(app_connection, page)
    assert (after["content"], after["prior"], after["version"]) == (None, first, version + 1)


async def test_the_next_document_ends_the_one_before_and_makes_no_version(
    database: Database, tenant: TenantId, app_connection: Connection, daemon_connection: Connection
) -> None:
    page = add_page(app_connection, content=Jsonb(document(paragraph("a", id="x"))))
    render(daemon_connection, page, "a\n")
    change(app_connection, page, markdown="b\n")
    render(daemon_connection, page, "b\n")
    async with database.transaction(tenant) as connection:
        (underived,) = await derived_rows.load_underived(connection, tenant, 10, 1000, [])
        assert (underived.entry, underived.markdown, underived.prior_content is not None) == (page, "b\n", True)
        await derived_rows.store_content(connection, tenant, [(EntryId(page), underived.version, b'{"type": "doc"}')])
    after = row_of(app_connection, page)
    assert (after["content"], after["prior"], after["version"]) == ({"type": "doc"}, None, underived.version)


def test_apps_cannot_write_the_document_before(app_connection: Connection) -> None:
    page = add_page(app_connection, markdown="a\n")
    with pytest.raises(errors.InsufficientPrivilege):
        change(app_connection, page, prior=Jsonb(document()))
    with pytest.raises(errors.InsufficientPrivilege):
        add_page(app_connection, prior=Jsonb(document()))
