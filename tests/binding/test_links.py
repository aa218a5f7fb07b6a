"""Links between pages of an app are links between their files, in both directions."""

import json
from typing import Any

import pytest

from tests.binding.knowledge_base import MAPPING, NOTES_MAPPING, TENANT, TWO_WAY_MAPPING, BoundWorld, document_of
from tests.support.entries import value
from tests.support.harness import eventually

LINKS = '[links]\nurl = "/pages/{id}"\n'
NOTES = "CREATE TABLE kb.notes (id serial PRIMARY KEY, title text NOT NULL, body text, deleted boolean DEFAULT false)"
TWO_WAY_NOTES = NOTES_MAPPING.replace('name = "notes"', 'name = "kb"\nmode = "both"').replace(
    'title = "title"', 'title = "title"\ndeleted = "deleted"\ncreate = { }'
)


def start(world: BoundWorld, mapping: str) -> BoundWorld:
    world.mapping.write_text(mapping.replace("[front]", LINKS + "[front]") if "[front]" in mapping else mapping + LINKS)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    return world


@pytest.fixture
def notes(world: BoundWorld) -> BoundWorld:
    """A binding in mode `both` of a table with Markdown."""
    world.app.connection.execute(NOTES)
    world.app.connection.execute("ALTER SEQUENCE kb.notes_id_seq RESTART 100")
    return start(world, TWO_WAY_NOTES)


def linking_document(target: str, text: str = "the beans", **attributes: object) -> dict[str, Any]:
    mark = {"type": "link", "attrs": {"href": target, **attributes}}
    content = [{"type": "text", "text": "See "}, {"type": "text", "text": text, "marks": [mark]}]
    other = {"type": "paragraph", "content": [{"type": "text", "text": "Other."}]}
    return {"type": "doc", "content": [{"type": "paragraph", "content": content}, other]}


def add_note(world: BoundWorld, number: int, title: str, body: str) -> None:
    world.app.connection.execute("INSERT INTO kb.notes (id, title, body) VALUES (%s, %s, %s)", [number, title, body])


def body_of(world: BoundWorld, number: int) -> str | None:
    row = world.app.connection.execute("SELECT body FROM kb.notes WHERE id = %s", [number]).fetchone()
    return str(row[0]) if row is not None else None


def await_note(world: BoundWorld, number: int, body: str) -> None:
    eventually(lambda: body_of(world, number) == body, f"{body!r} is the body of note {number}")


def await_links(world: BoundWorld, count: int) -> None:
    """Return when mirrord knows the meanings of *count* links: links follow moves from then on."""
    query = "SELECT count(*) FROM mirrord.page_link WHERE target_id IS NOT NULL AND NOT due"
    eventually(lambda: value(world.admin, query) == count, f"{count} links mean pages")


def test_an_address_of_the_app_is_a_link_to_the_file_which_follows_its_page(world: BoundWorld) -> None:
    garden = world.app.create("Garden", "G.")
    beans = world.app.create("My beans", "B.", parent=garden)
    page, unknown = world.app.create("Start"), world.app.create("Private", space_type="PRIVATE")
    world.app.save_document(page, linking_document(f"/pages/{beans}#sowing"))
    other = world.app.create("Other")
    world.app.save_document(other, linking_document(f"/pages/{unknown}"))
    start(world, MAPPING)
    world.await_text("Start.md", "See [the beans](Garden/My%20beans.md#sowing)")
    world.await_text("Other.md", f"[the beans](/pages/{unknown})")
    await_links(world, 1)
    world.app.change(beans, parent_id=None, title="Peas")
    world.await_text("Start.md", "See [the beans](Peas.md#sowing)")
    world.app.change(page, parent_id=garden)
    world.await_text("Garden/Start.md", "See [the beans](../Peas.md#sowing)")
    world.app.save_document(page, linking_document(f"/pages/{garden}"))
    world.await_text("Garden/Start.md", "See [the beans](../Garden.md)")
    world.await_rest()
    assert world.status()["problems"] == []


def test_a_link_to_a_page_that_comes_later_becomes_one_when_it_comes(world: BoundWorld) -> None:
    start(world, MAPPING)
    page, coming = world.app.create("Start"), "11111111-2222-4333-8444-555555555555"
    world.app.save_document(page, linking_document(f"/pages/{coming}"))
    world.await_text("Start.md", f"[the beans](/pages/{coming})")
    world.app.connection.execute(
        "INSERT INTO kb.pages (id, tenant_id, title) VALUES (%s, %s, 'Beans')", [coming, TENANT]
    )
    world.await_text("Start.md", "[the beans](Beans.md)")


def test_a_first_comparison_of_many_pages_links_them_all(world: BoundWorld) -> None:
    pages = [world.app.create(f"Page {number}") for number in range(60)]
    for number, page in enumerate(pages):
        world.app.save_document(page, linking_document(f"/pages/{pages[(number + 7) % 60]}"))
    start(world, MAPPING)
    for number in range(60):
        world.await_text(f"Page {number}.md", f"[the beans](Page%20{(number + 7) % 60}.md)")


def test_an_edit_leaves_links_of_the_app_as_they_are(world: BoundWorld) -> None:
    beans, page = world.app.create("Beans", "B."), world.app.create("Start")
    world.app.save_document(page, linking_document(f"/pages/{beans}", rel="noopener noreferrer nofollow"))
    start(world, TWO_WAY_MAPPING)
    text = world.await_text("Start.md", "See [the beans](Beans.md)")
    before = world.app.block(page)["content"]["content"][0]
    world.mirrord.file("Start.md").write_text(text.replace("Other.", "Edited."))
    world.await_body(page, "Edited.")
    assert world.app.block(page)["content"]["content"][0] == before
    await_links(world, 1)
    world.mirrord.file("Beans.md").rename(world.mirrord.file("Peas.md"))
    world.await_column(beans, "title", "Peas")
    text = world.await_text("Start.md", "Edited.")
    world.mirrord.file("Start.md").write_text(text.replace("Edited.", "Edited twice."))
    world.await_body(page, "Edited twice.")
    assert world.app.block(page)["content"]["content"][0] == before


def test_a_link_that_a_person_writes_is_an_address_in_the_app(notes: BoundWorld) -> None:
    add_note(notes, 1, "Beans", "B.\n")
    add_note(notes, 2, "Start", "See [beans](/pages/1 'x').\n\nOther.\n")
    text = notes.await_text("Start.md", "See [beans](Beans.md 'x').")
    add_note(notes, 3, "Peas", "P.\n")
    notes.await_text("Peas.md", "P.")
    notes.mirrord.file("Start.md").write_text(text.replace("Other.", "[Peas](/Peas.md#top) and [none](Nowhere.md)."))
    await_note(notes, 2, "See [beans](/pages/1 'x').\n\n[Peas](/pages/3#top) and [none](Nowhere.md).\n")
    notes.await_rest()
    assert "[Peas](/Peas.md#top) and [none](Nowhere.md)." in (notes.mirrord.text("Start.md") or "")
    assert notes.status()["problems"] == []


def test_a_link_to_what_no_file_can_be_keeps_no_edit_from_the_app(notes: BoundWorld) -> None:
    add_note(notes, 1, "Start", "S.\n")
    text = notes.await_text("Start.md", "S.")
    notes.mirrord.file("Start.md").write_text(text.replace("S.", "[none](a%00b.md)."))
    notes.mirrord.file("New.md").write_text("[none](a%00b.md)\n")
    await_note(notes, 1, "[none](a%00b.md).\n")
    await_note(notes, 100, "[none](a%00b.md)\n")
    notes.await_rest()
    assert notes.status()["problems"] == []


def test_a_new_page_links_to_the_app_and_the_app_to_it(notes: BoundWorld) -> None:
    add_note(notes, 1, "Beans", "B.\n")
    notes.await_text("Beans.md", "B.")
    notes.mirrord.file("New.md").write_text("See [beans](Beans.md).\n")
    await_note(notes, 100, "See [beans](/pages/1).\n")
    notes.app.connection.execute("UPDATE kb.notes SET body = 'To [new](/pages/100).' WHERE id = 1")
    notes.await_text("Beans.md", "To [new](New.md).")
    notes.await_text("New.md", "See [beans](Beans.md).")


def test_a_link_to_a_page_that_is_gone_is_kept_in_the_app(notes: BoundWorld) -> None:
    for number in range(4, 9):
        add_note(notes, number, f"Stays {number}", "S.\n")
    add_note(notes, 1, "Beans", "B.\n")
    add_note(notes, 2, "Start", "See [beans](/pages/1).\n\nOther.\n")
    text = notes.await_text("Start.md", "[beans](Beans.md)")
    notes.await_text("Stays 8.md", "S.")
    notes.app.connection.execute("UPDATE kb.notes SET deleted = true WHERE id = 1")
    notes.await_absence("Beans.md")
    notes.mirrord.file("Start.md").write_text(text.replace("Other.", "Edited."))
    await_note(notes, 2, "See [beans](/pages/1).\n\nEdited.\n")


def test_an_address_is_kept_where_the_agreed_text_is_gone_from_the_history(notes: BoundWorld) -> None:
    for number in range(4, 9):
        add_note(notes, number, f"Stays {number}", "S.\n")
    add_note(notes, 1, "Beans", "B.\n")
    add_note(notes, 2, "Start", "See [beans](/pages/1).\n\nOther.\n")
    text = notes.await_text("Start.md", "[beans](Beans.md)")
    notes.await_text("Stays 8.md", "S.")
    notes.app.connection.execute("UPDATE kb.notes SET deleted = true WHERE id = 1")
    notes.await_absence("Beans.md")
    notes.await_rest()
    notes.bind("pause", "kb")
    notes.admin.execute("SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant")
    notes.admin.execute(
        "UPDATE mirrord.page_revision AS r SET markdown = NULL FROM mirrord.page AS p "
        "WHERE p.name = 'Start' AND (r.tenant_id, r.page_id) = (p.tenant_id, p.id)"
    )
    notes.mirrord.file("Start.md").write_text(text.replace("Other.", "Edited."))
    notes.mirrord.flush()
    notes.bind("resume", "kb")
    eventually(lambda: notes.status()["problems"], "the link without a page is listed")
    assert "means no page of the app any more" in str(notes.status()["problems"])
    assert body_of(notes, 2) == "See [beans](/pages/1).\n\nOther.\n"


def test_both_sides_change_a_page_with_links(notes: BoundWorld) -> None:
    add_note(notes, 1, "Beans", "B.\n")
    add_note(notes, 2, "Start", "See [beans](/pages/1).\n\nMiddle.\n\nLast.\n")
    text = notes.await_text("Start.md", "[beans](Beans.md)")
    await_links(notes, 1)
    notes.bind("pause", "kb")
    notes.app.connection.execute("UPDATE kb.notes SET title = 'Peas' WHERE id = 1")
    body = "See [beans](/pages/1).\n\nMiddle.\n\nLast [of the app](/pages/2).\n"
    notes.app.connection.execute("UPDATE kb.notes SET body = %s WHERE id = 2", [body])
    notes.mirrord.file("Start.md").write_text(text.replace("Middle.", "Middle [of a file](Beans.md)."))
    notes.mirrord.flush()
    notes.bind("resume", "kb")
    await_note(notes, 2, body.replace("Middle.", "Middle [of a file](/pages/1)."))
    notes.await_text("Start.md", "See [beans](Peas.md).", "Middle [of a file](Peas.md).", "[of the app](Start.md)")
    assert notes.conflicts() == []


def test_links_that_the_app_spells_as_files_stay_as_they_are(notes: BoundWorld) -> None:
    add_note(notes, 1, "Beans", "B.\n")
    body = "[a](Beans.md) and [b](/pages/1) and [c](/pages/%31).\n\nOther.\n"
    add_note(notes, 2, "Start", body)
    text = notes.await_text("Start.md", "[a](Beans.md) and [b](/pages/1) and [c](/pages/%31).")
    notes.mirrord.file("Start.md").write_text(text.replace("Other.", "Edited."))
    await_note(notes, 2, body.replace("Other.", "Edited."))


def test_the_check_refuses_an_address_without_an_id(world: BoundWorld) -> None:
    world.mapping.write_text(MAPPING.replace("[front]", '[links]\nurl = "/pages"\n[front]'))
    assert "`links.url` must be the address" in world.bind("check", str(world.mapping), code=2)
    world.mapping.write_text(MAPPING.replace("[front]", '[links]\nurls = "/pages/{id}"\n[front]'))
    assert "Did you mean `links.url`?" in world.bind("check", str(world.mapping), code=2)
    world.mapping.write_text(MAPPING.replace("[front]", LINKS + "[front]"))
    report: dict[str, Any] = json.loads(world.mirrord.run("bind", "check", str(world.mapping), "--json").stdout)
    assert report["failures"] == []


def test_new_pages_that_link_to_each_other_have_addresses_in_the_app(notes: BoundWorld) -> None:
    notes.bind("pause", "kb")
    for name, links in {
        "A": "[b](B.md#part) [c](C.md) [none](None.md) [self](A.md)",
        "B": "[a](A.md) [c](/C.md)",
        "C": "[a](<A.md> 'x')",
    }.items():
        notes.mirrord.file(f"{name}.md").write_text(f"---\ntitle: {name}\n---\n{links}\n")
    notes.mirrord.flush()
    notes.bind("resume", "kb")
    query = "SELECT title, id FROM kb.notes"

    def ids_of_all() -> dict[str, int] | None:
        ids: dict[str, int] = dict(notes.app.connection.execute(query).fetchall())
        return ids if len(ids) == 3 else None

    ids = eventually(ids_of_all, "all have rows")
    await_note(
        notes,
        ids["A"],
        f"[b](/pages/{ids['B']}#part) [c](/pages/{ids['C']}) [none](None.md) [self](/pages/{ids['A']})\n",
    )
    await_note(notes, ids["B"], f"[a](/pages/{ids['A']}) [c](/pages/{ids['C']})\n")
    await_note(notes, ids["C"], f"[a](</pages/{ids['A']}> 'x')\n")
    notes.await_rest()
    assert (notes.mirrord.text("A.md") or "").endswith("[b](B.md#part) [c](C.md) [none](None.md) [self](A.md)\n")
    assert (notes.mirrord.text("B.md") or "").endswith("[a](A.md) [c](/C.md)\n")
    assert (notes.mirrord.text("C.md") or "").endswith("[a](<A.md> 'x')\n")
    assert notes.status()["problems"] == []


def test_nodes_that_link_to_pages_are_links_to_files_and_stay_nodes_in_the_app(world: BoundWorld) -> None:
    def wikilink(page: str, name: str, **attributes: object) -> dict[str, Any]:
        return {"type": "wikilink", "attrs": {"pageId": page, "pageName": name, **attributes}}

    beans, peas, page = world.app.create("Beans", "B."), world.app.create("Peas", "P."), world.app.create("Start")
    unknown = "11111111-2222-4333-8444-555555555555"
    nodes = [wikilink(beans, "the beans", icon="x"), {"type": "text", "text": " "}, wikilink(unknown, "none")]
    body = document_of("Other.")
    body["content"].insert(0, {"type": "paragraph", "content": nodes})
    world.app.save_document(page, body)
    section = LINKS + 'node = "wikilink"\nid = "pageId"\ntitle = "pageName"\n'
    world.mapping.write_text(TWO_WAY_MAPPING.replace("[front]", section + "[front]"))
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    world.await_text("Start.md", f"[the beans](Beans.md) [none](/pages/{unknown})")
    await_links(world, 1)
    world.app.change(beans, title="Broad beans")
    text = world.await_text("Start.md", "[the beans](Broad%20beans.md)")
    world.mirrord.file("Start.md").write_text(
        text.replace("Other.", "See [some peas](Peas.md#sowing), [peas](Peas.md).")
    )
    world.await_body(page, "some peas")
    first, second = world.app.block(page)["content"]["content"]
    assert first["content"] == nodes
    mark = {"type": "link", "attrs": {"href": f"/pages/{peas}#sowing"}}
    assert second["content"][1] == {"type": "text", "text": "some peas", "marks": [mark]}
    assert second["content"][3] == wikilink(peas, "peas")
    text = world.await_text("Start.md", "[some peas](Peas.md#sowing), [peas](Peas.md)")
    world.mirrord.file("Start.md").write_text(text.replace("[the beans]", "[beans]"))
    world.await_body(page, '"beans"')
    assert world.app.block(page)["content"]["content"][0]["content"][0] == wikilink(beans, "beans", icon="x")
    world.await_rest()
    assert world.status()["problems"] == []
