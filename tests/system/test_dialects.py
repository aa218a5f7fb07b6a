"""The dialect of a tree: documents are derived by it, again if it changes, and apps write its syntax unharmed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.support.commands import Near
from tests.support.editors import save
from tests.support.harness import Mirrord, eventually

TEXT = "# Head\n\nsee {{ page.a_b }} and [x]({{ site.url }}/*a*) here\n"
RAW = {"type": "rawInline", "attrs": {"raw": "{{ page.a_b }}"}}


@pytest.fixture
def mirrord(fresh_dsn: str, tmp_path: Path) -> Any:
    with Near(tmp_path, dsn=fresh_dsn) as daemon:
        daemon.up()
        save(daemon.file("Page.md"), TEXT)
        yield daemon


def _document_of(mirrord: Mirrord, holds: Callable[[list[Any]], bool]) -> tuple[int, dict[str, Any]]:
    """Version and document of the page, once the inside of its last block is such."""

    def load() -> tuple[int, dict[str, Any]] | None:
        row = mirrord.app.execute("SELECT version, content FROM page WHERE name = 'Page'").fetchone()
        return row if row and row[1] and holds(row[1]["content"][-1]["content"]) else None

    return eventually(load, "the document of the page")


def _dialect_of(mirrord: Mirrord) -> str:
    row = mirrord.app.execute("SELECT dialect FROM mirrord.tenant").fetchone()
    return str(row[0]) if row else ""


def test_documents_follow_the_dialect_that_the_tree_shows(mirrord: Mirrord) -> None:
    version, before = _document_of(mirrord, lambda content: RAW not in content)
    (mirrord.root / "_config.yml").write_text("title: x\n")
    mirrord.restart()
    again, after = _document_of(mirrord, lambda content: RAW in content)

    assert _dialect_of(mirrord) == "jekyll"
    assert again == version
    assert [block["attrs"]["id"] for block in after["content"]] == [block["attrs"]["id"] for block in before["content"]]

    (mirrord.root / "_config.yml").unlink()
    mirrord.restart()
    assert _dialect_of(mirrord) == "jekyll"
    assert mirrord.text("Page.md") == TEXT


def test_a_link_with_the_name_of_a_sign_does_not_keep_a_tree_from_opening(mirrord: Mirrord) -> None:
    (mirrord.root / "logseq").symlink_to(mirrord.directory)
    mirrord.restart()
    save(mirrord.file("After.md"), "after\n")
    eventually(lambda: mirrord.page("After"), "the row of a page that was saved after the start")
    assert _dialect_of(mirrord) == "plain"


def test_a_paragraph_of_a_dialect_becomes_a_heading_with_its_syntax_and_typed_syntax_is_raw(mirrord: Mirrord) -> None:
    (mirrord.directory / "mirrord.toml").write_text('[markdown]\ndialect = "jekyll"\n')
    mirrord.stop()
    mirrord.surroundings["MIRRORD_CONFIG"] = str(mirrord.directory / "mirrord.toml")
    mirrord.up()
    version, document = _document_of(mirrord, lambda content: RAW in content)
    document["content"][-1] |= {"type": "heading", "attrs": {"level": 2}}
    document["content"][-1]["content"].append({"type": "text", "text": " {{ typed }}"})
    mirrord.app.execute("UPDATE page SET content = %s WHERE name = 'Page'", [Jsonb(document)])
    eventually(
        lambda: mirrord.text("Page.md") == TEXT.replace("see", "## see").replace("here", "here {{ typed }}"),
        "the heading in the file",
    )
    typed = {"type": "rawInline", "attrs": {"raw": "{{ typed }}"}}

    assert _document_of(mirrord, lambda content: typed in content)[0] == version + 1


def test_syntax_of_a_dialect_in_a_row_that_an_app_inserts_is_raw(mirrord: Mirrord) -> None:
    (mirrord.root / "mkdocs.yml").write_text("site_name: x\n")
    mirrord.restart()
    raw = "!!! note\n    inside"
    content = {"type": "doc", "content": [{"type": "rawBlock", "attrs": {"raw": raw}}]}
    mirrord.app.execute("INSERT INTO page (name, content) VALUES ('New', %s)", [Jsonb(content)])
    eventually(lambda: raw in (mirrord.text("New.md") or ""), "the page of the app")
    row = mirrord.app.execute("SELECT content FROM page WHERE name = 'New'").fetchone()

    assert _dialect_of(mirrord) == "mkdocs"
    assert row is not None
    assert [(each["type"], each["attrs"]["raw"]) for each in row[0]["content"]] == [("rawBlock", raw)]


def test_two_edits_of_one_line_that_another_program_reads_are_a_conflict(mirrord: Mirrord) -> None:
    tag = "{% include one.html at=two %}\n"
    (mirrord.root / "_config.yml").write_text("title: x\n")
    mirrord.restart()
    save(mirrord.file("Tag.md"), tag)
    page = eventually(lambda: mirrord.page("Tag"), "the row of the page with the tag")
    with mirrord.frozen():
        save(mirrord.file("Tag.md"), tag.replace("one", "ONE"))
        mirrord.app.execute("UPDATE page SET markdown = %s WHERE id = %s", [tag.replace("two", "TWO"), page.id])
    eventually(
        lambda: mirrord.app.execute("SELECT 1 FROM conflict WHERE entry_id = %s", [page.id]).fetchone(), "a conflict"
    )

    assert json.loads((mirrord.root / ".mirrord" / "id").read_text())["dialect"] == "jekyll"
    eventually(lambda: mirrord.text("Tag.md") == tag.replace("two", "TWO"), "the text of the row in the file")


def test_a_document_follows_the_dialect_though_an_app_wrote_a_title_meanwhile(fresh_dsn: str, tmp_path: Path) -> None:
    with Near(tmp_path, dsn=fresh_dsn) as mirrord:
        mirrord.up()
        save(mirrord.file("Page.md"), TEXT)
        _document_of(mirrord, lambda content: RAW not in content)
        mirrord.stop()
        mirrord.app.execute("UPDATE page SET title = 'Renamed' WHERE name = 'Page'")
        (mirrord.root / "_config.yml").write_text("title: x\n")
        mirrord.up()

        _document_of(mirrord, lambda content: RAW in content)
        eventually(lambda: mirrord.text("Page.md") == f"---\ntitle: Renamed\n---\n{TEXT}", "the title in the file")


def _meanings_on(mirrord: Mirrord, name: str) -> dict[str, str | None]:
    """What the links of the page mean, by their targets: the names of pages, with that of their folder."""
    rows = mirrord.app.execute(
        "SELECT l.target, concat_ws('/', f.name, p.name) FROM page_link AS l JOIN page AS s ON s.id = l.source_id"
        " LEFT JOIN page AS p ON p.id = l.target_id LEFT JOIN page AS f ON f.id = p.parent_id WHERE s.name = %s",
        [name],
    )
    return {target: meaning or None for target, meaning in rows.fetchall()}


def test_links_have_the_meanings_of_obsidian_once_the_tree_shows_it(mirrord: Mirrord) -> None:
    for path in ("Note.md", "Deep/Note.md", "Deep/Down/Only.md"):
        mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
        save(mirrord.file(path), f"text of {path}\n")
    save(mirrord.file("Deep/Home.md"), "[[Note]] [a](Only.md)\n")
    as_plain = {"Note": "Deep/Note", "Only.md": None}
    eventually(lambda: _meanings_on(mirrord, "Home") == as_plain, "the meanings of plain pages")

    (mirrord.root / ".obsidian").mkdir()
    mirrord.restart()
    in_obsidian = {"Note": "Note", "Only.md": "Down/Only"}
    eventually(lambda: _meanings_on(mirrord, "Home") == in_obsidian, "the meanings of Obsidian")

    mirrord.app.execute("UPDATE page SET name = 'Sole' WHERE name = 'Only'")
    eventually(lambda: mirrord.text("Deep/Home.md") == "[[Note]] [a](Sole.md)\n", "the link to the renamed page")


def test_links_find_pages_of_logseq_by_namespaces_and_aliases_and_follow_them(mirrord: Mirrord) -> None:
    (mirrord.root / "pages").mkdir()
    save(mirrord.file("pages/Tools___Editors.md"), "- text\n")
    save(mirrord.file("pages/Called.md"), "alias:: Rocket\n\n- text\n")
    save(mirrord.file("pages/Home.md"), "- [[tools/editors]] [[rocket]]\n")
    eventually(lambda: _meanings_on(mirrord, "Home") == {"tools/editors": None, "rocket": None}, "links to nothing")

    (mirrord.root / "logseq").mkdir()
    mirrord.restart()
    in_logseq = {"tools/editors": "pages/Tools___Editors", "rocket": "pages/Called"}
    eventually(lambda: _meanings_on(mirrord, "Home") == in_logseq, "the meanings of Logseq")

    mirrord.app.execute("UPDATE page SET name = 'Tools___Apps' WHERE name = 'Tools___Editors'")
    eventually(lambda: mirrord.text("pages/Home.md") == "- [[Tools/Apps]] [[rocket]]\n", "the link to the renamed page")
    save(mirrord.file("pages/Called.md"), "alias:: Ship\n\n- text\n")
    after = {"Tools/Apps": "pages/Tools___Apps", "rocket": None}
    eventually(lambda: _meanings_on(mirrord, "Home") == after, "a link to an alias that is gone")


def test_a_tree_of_sphinx_is_myst_if_its_configuration_names_it(mirrord: Mirrord) -> None:
    configuration = mirrord.root / "conf.py"
    configuration.write_text('extensions = ["sphinx.ext.autodoc"]\n')
    mirrord.restart()
    assert _dialect_of(mirrord) == "plain"

    configuration.write_text('extensions = ["myst_parser"]\n')
    mirrord.restart()
    save(mirrord.file("Guide.md"), "see {ref}`a_b`\n")
    role = {"type": "rawInline", "attrs": {"raw": "{ref}`a_b`"}}
    query = "SELECT content FROM page WHERE name = 'Guide' AND content IS NOT NULL"
    content = eventually(lambda: mirrord.app.execute(query).fetchone(), "the document")[0]["content"]

    assert _dialect_of(mirrord) == "myst"
    assert content[0]["content"][1] == role


def test_days_are_called_as_the_configuration_of_a_graph_says(mirrord: Mirrord) -> None:
    (mirrord.root / "logseq").mkdir()
    config = mirrord.root / "logseq/config.edn"
    config.write_text('{:journal/page-title-format "yyyy-MM-dd EEE" :journal/file-name-format "yyyyMMdd"}')
    mirrord.restart()
    for day in ("20230105", "20230107"):
        save(mirrord.file(f"{day}.md"), f"- text of {day}\n")
    save(mirrord.file("Home.md"), "- [[2023-01-05 Thu]] [[2023-01-07 Sat]] [[Jan 5th, 2023]]\n")
    meanings = {"2023-01-05 Thu": "20230105", "2023-01-07 Sat": "20230107", "Jan 5th, 2023": None}
    eventually(lambda: _meanings_on(mirrord, "Home") == meanings, "the meanings of the names of days")

    mirrord.app.execute("UPDATE page SET name = '20230106' WHERE name = '20230105'")
    moved = "- [[2023-01-06 Fri]] [[2023-01-07 Sat]] [[Jan 5th, 2023]]\n"
    eventually(lambda: mirrord.text("Home.md") == moved, "the link to the moved day")

    config.write_text("{}")
    mirrord.restart()
    eventually(lambda: _meanings_on(mirrord, "Home").get("2023-01-07 Sat", "") is None, "a name that is no day now")


def test_tags_of_logseq_mean_pages_and_follow_them(mirrord: Mirrord) -> None:
    (mirrord.root / "logseq").mkdir()
    mirrord.restart()
    (mirrord.root / "pages").mkdir()
    save(mirrord.file("pages/draft.md"), "- text\n")
    save(mirrord.file("pages/Home.md"), "- a #Draft, #[[draft]] and #none\n")
    meanings = {"Draft": "pages/draft", "draft": "pages/draft", "none": None}
    eventually(lambda: _meanings_on(mirrord, "Home") == meanings, "the pages of tags")

    mirrord.app.execute("UPDATE page SET name = 'In work' WHERE name = 'draft'")
    renamed = "- a #[[In work]], #[[In work]] and #none\n"
    eventually(lambda: mirrord.text("pages/Home.md") == renamed, "the tags of the renamed page")


def test_a_rename_right_after_another_dialect_moves_the_links_that_mean_the_page_by_it(
    fresh_dsn: str, tmp_path: Path
) -> None:
    with Near(tmp_path, dsn=fresh_dsn) as mirrord:
        mirrord.up()
        for path in ("Note.md", "Deep/Note.md", "Deep/Down/Only.md"):
            mirrord.file(path).parent.mkdir(parents=True, exist_ok=True)
            save(mirrord.file(path), f"text of {path}\n")
        others = "[[nothing]]\n" * 5_000
        save(mirrord.file("Deep/Home.md"), f"{others}\n[[Note]] [a](Only.md)\n")
        as_plain = {"nothing": None, "Note": "Deep/Note", "Only.md": None}
        eventually(lambda: _meanings_on(mirrord, "Home") == as_plain, "the meanings of plain pages", 60.0)

        mirrord.stop()
        (mirrord.root / ".obsidian").mkdir()
        mirrord.app.execute("UPDATE page SET name = 'Sole' WHERE name = 'Only'")
        deep = "(SELECT id FROM page WHERE name = 'Deep')"
        mirrord.app.execute(f"UPDATE page SET name = 'Other' WHERE name = 'Note' AND parent_id = {deep}".encode())
        mirrord.up()
        in_obsidian = {"nothing": None, "Note": "Note", "Sole.md": "Down/Sole"}
        followed = f"{others}\n[[Note]] [a](Sole.md)\n"
        eventually(lambda: mirrord.text("Deep/Home.md") == followed, "the link to the renamed page")
        eventually(lambda: _meanings_on(mirrord, "Home") == in_obsidian, "the meanings of Obsidian")
