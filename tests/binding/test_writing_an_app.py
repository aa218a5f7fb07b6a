"""Mode `both`: what is done to pages is done to the rows of the app, and both edits of one page are merged."""

import json
from typing import Any

import pytest

from tests.binding.knowledge_base import TENANT, TWO_WAY_MAPPING, BoundWorld, OutdatedError, document_of
from tests.support.entries import value
from tests.support.harness import eventually


@pytest.fixture
def both(world: BoundWorld) -> BoundWorld:
    """A world with a binding in mode `both`; its daemon runs."""
    world.mapping.write_text(TWO_WAY_MAPPING)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    return world


def test_an_edit_of_a_file_is_a_save_in_the_app(both: BoundWorld) -> None:
    page = both.app.create("Rules", "First.", "Second.")
    text = both.await_text("Rules.md", "First.")
    both.mirrord.file("Rules.md").write_text(text.replace("Second.", "Second, *changed*."))
    both.await_body(page, "changed")
    block = both.app.block(page)
    assert block["version"] == 2
    assert block["plain_text"] == "First.\nSecond, changed."
    assert block["content"]["content"][1]["content"][1] == {
        "type": "text",
        "text": "changed",
        "marks": [{"type": "italic"}],
    }
    with pytest.raises(OutdatedError):
        both.app.save(page, "Of an old tab.", expected=1)
    both.app.save(page, "Of a new tab.", expected=2)
    both.await_text("Rules.md", "Of a new tab.")
    both.await_rest()
    assert both.status()["problems"] == []


def test_rows_that_the_app_restores_together_have_their_pages_again(both: BoundWorld) -> None:
    both.delete_and_restore_family()


def test_only_changed_blocks_of_a_document_are_written(both: BoundWorld) -> None:
    strange = {"type": "poll", "attrs": {"question": "Why?", "votes": [1, 2]}}
    styled = {
        "type": "paragraph",
        "attrs": {"textAlign": "left", "indent": 0},
        "content": [{"type": "text", "text": "A"}],
    }
    page = both.app.create("Mixed", "Old.")
    both.app.save_document(page, {"type": "doc", "content": [strange, styled, *document_of("Old.")["content"]]})
    text = both.await_text("Mixed.md", "Why?", "Old.")
    both.mirrord.file("Mixed.md").write_text(text.replace("Old.", "New."))
    both.await_body(page, "New.")
    assert both.app.block(page)["content"]["content"][:2] == [strange, styled]


def test_a_renamed_file_and_a_changed_title_are_titles_in_the_app(both: BoundWorld) -> None:
    first, second = both.app.create("Draft", "D."), both.app.create("Notes", "N.")
    both.await_text("Draft.md", "D.")
    text = both.await_text("Notes.md", "N.")
    both.mirrord.file("Draft.md").rename(both.mirrord.file("Final.md"))
    both.mirrord.file("Notes.md").write_text(text.replace("title: Notes", "title: Diary"))
    both.await_column(first, "title", "Final")
    both.await_column(second, "title", "Diary")
    both.await_text("Final.md", "title: Final", "D.")
    both.await_text("Diary.md", "title: Diary", "N.")
    assert both.app.page(first)["updated_at"] > both.app.block(first)["updated_at"]


def test_a_moved_file_has_its_new_parent_in_the_app(both: BoundWorld) -> None:
    garden, beans = both.app.create("Garden", "G."), both.app.create("Beans", "B.")
    both.await_text("Garden.md", "G.")
    both.await_text("Beans.md", "B.")
    both.mirrord.file("Garden").mkdir(exist_ok=True)
    both.mirrord.file("Beans.md").rename(both.mirrord.file("Garden/Beans.md"))
    both.await_column(beans, "parent_id", garden)
    both.mirrord.file("Garden/Beans.md").rename(both.mirrord.file("Beans.md"))
    both.await_column(beans, "parent_id", None)


def test_keys_go_the_way_that_their_owner_says(both: BoundWorld) -> None:
    page = both.app.create("Keys", "K.", icon="🏠", summary="Of the app.")
    text = both.await_text("Keys.md", "Of the app.")
    both.mirrord.file("Keys.md").write_text(
        text.replace("🏠", "🌱").replace("Of the app.", "Mine.").replace("position: a0", "note: private\nposition: 7")
    )
    both.await_column(page, "icon", "🌱")
    assert both.app.page(page)["position"] == 7
    both.await_text("Keys.md", "summary: Of the app.", "🌱", "note: private")
    assert both.app.page(page)["summary"] == "Of the app."
    (problem,) = eventually(lambda: both.status()["problems"], "the edit of the app's key is a problem")
    assert "a key that the app owns" in problem["sentence"]
    both.app.change(page, icon=None)
    eventually(lambda: "icon" not in (both.mirrord.text("Keys.md") or "icon"), "the key is gone")
    both.await_text("Keys.md", "note: private")


def test_edits_of_both_sides_are_merged(both: BoundWorld) -> None:
    page = both.app.create("Plan", "Alpha.", "Beta.", "Gamma.")
    text = both.await_text("Plan.md", "Gamma.")
    both.bind("pause", "kb")
    both.app.save(page, "Alpha of the app.", "Beta.", "Gamma.")
    both.mirrord.file("Plan.md").write_text(text.replace("Gamma.", "Gamma of a file."))
    both.mirrord.flush()
    both.bind("resume", "kb")
    both.await_text("Plan.md", "Alpha of the app.", "Beta.", "Gamma of a file.")
    both.await_body(page, "Alpha of the app.")
    both.await_body(page, "Gamma of a file.")
    assert both.conflicts() == []


def test_the_same_words_changed_on_both_sides_are_a_conflict_that_keeps_both(both: BoundWorld) -> None:
    page = both.app.create("Plan", "Alpha.")
    text = both.await_text("Plan.md", "Alpha.")
    both.bind("pause", "kb")
    both.app.save(page, "Omega of the app.")
    both.mirrord.file("Plan.md").write_text(text.replace("Alpha.", "Psi of a file."))
    both.mirrord.flush()
    both.bind("resume", "kb")
    both.await_text("Plan.md", "Omega of the app.")
    (conflict,) = eventually(both.conflicts, "both texts are listed")
    (sibling,) = eventually(lambda: list(both.mirrord.root.glob("Plan (conflict*.md")), "the other text has a file")
    assert "Psi of a file." in sibling.read_text()
    both.await_body(page, "Omega of the app.")
    assert value(both.admin, "SELECT count(*) FROM kb.pages WHERE tenant_id = %s", TENANT) == 1
    assert conflict["path"] == "Plan.md"


def test_a_deleted_file_is_in_the_trash_of_the_app_and_back_again(both: BoundWorld) -> None:
    page = both.app.create("Old", "O.")
    for title in ("Stays", "Stays too", "And this"):
        both.app.create(title)
    both.await_text("Old.md", "O.")
    both.await_text("And this.md")
    both.await_rest()  # a file that goes before the engine has noted it is written once more
    both.mirrord.file("Old.md").unlink()
    eventually(lambda: both.app.page(page)["deleted_at"] is not None, "the page is in the app's trash")
    both.app.change(page, deleted_at=None)
    both.await_text("Old.md", "O.", f"id: {page}")


def test_an_edit_of_a_file_outlives_a_deletion_in_the_app(both: BoundWorld) -> None:
    page = both.app.create("Keep", "K.")
    for title in ("Stays", "Stays too", "And this"):
        both.app.create(title)
    text = both.await_text("Keep.md", "K.")
    both.await_text("And this.md")
    both.bind("pause", "kb")
    both.app.delete(page)
    both.mirrord.file("Keep.md").write_text(text.replace("K.", "Kept."))
    both.mirrord.flush()
    both.bind("resume", "kb")
    both.await_body(page, "Kept.")
    assert both.app.page(page)["deleted_at"] is None
    both.await_text("Keep.md", "Kept.")


def test_many_deleted_files_halt_the_binding_and_the_app_keeps_its_pages(both: BoundWorld) -> None:
    pages = [both.app.create(f"Page {number}", "P.") for number in range(4)]
    both.await_text("Page 3.md")
    both.await_rest()
    both.admin.execute("SELECT set_config('mirrord.tenant', id::text, false) FROM mirrord.tenant")
    both.admin.execute("UPDATE mirrord.page SET deleted_at = now() WHERE id = ANY (%s)", [pages])
    status = both.await_state("halted")
    assert "are gone from the pages of the app" in status["sentence"]
    assert all(both.app.page(page)["deleted_at"] is None for page in pages)
    both.bind("resume", "kb", "--deletions")
    eventually(lambda: both.app.page(pages[0])["deleted_at"] is not None, "the deletions are meant")


def test_a_node_that_the_editor_of_the_app_lacks_is_not_written(both: BoundWorld) -> None:
    page = both.app.create("Simple", "S.")
    text = both.await_text("Simple.md", "S.")
    both.mirrord.file("Simple.md").write_text(text.replace("S.", "See [[Another page]]."))
    (problem,) = eventually(lambda: both.status()["problems"], "the node is a problem")
    assert "`wikilink`" in problem["sentence"]
    assert both.app.block(page)["content"] == document_of("S.")
    assert "[[Another page]]" in (both.mirrord.text("Simple.md") or "")
    both.mirrord.file("Simple.md").write_text(text.replace("S.", "See another page."))
    both.await_body(page, "See another page.")
    eventually(lambda: not both.status()["problems"], "the problem is over")


def test_a_row_that_a_transaction_of_the_app_holds_is_written_when_it_is_free(both: BoundWorld) -> None:
    page, other = both.app.create("Held", "H."), both.app.create("Free", "F.")
    text, text_of_other = both.await_text("Held.md", "H."), both.await_text("Free.md", "F.")
    with both.app.connection.transaction():
        both.app.connection.execute("SELECT FROM kb.blocks WHERE page_id = %s FOR UPDATE", [page])
        both.mirrord.file("Held.md").write_text(text.replace("H.", "Changed."))
        both.mirrord.file("Free.md").write_text(text_of_other.replace("F.", "Changed."))
        eventually(
            lambda: value(both.admin, "SELECT content::text FROM kb.blocks WHERE page_id = %s", other).count("Changed"),
            "the other page is written meanwhile",
        )
    both.await_body(page, "Changed.")


def test_what_the_app_refuses_is_a_problem_and_stays_in_the_file(both: BoundWorld) -> None:
    both.app.connection.execute("ALTER TABLE kb.pages ADD CHECK (title <> 'Forbidden')")
    page = both.app.create("Allowed", "A.")
    text = both.await_text("Allowed.md", "A.")
    both.mirrord.file("Allowed.md").write_text(text.replace("title: Allowed", "title: Forbidden").replace("A.", "B."))
    (problem,) = eventually(lambda: both.status()["problems"], "the refusal is a problem")
    assert "violates check constraint" in problem["sentence"]
    assert both.app.page(page)["title"] == "Allowed"
    assert both.app.block(page)["content"] == document_of("A.")
    both.mirrord.file("Allowed.md").write_text(text.replace("A.", "B."))
    both.await_body(page, "B.")


def test_what_a_trigger_of_the_app_alters_comes_back_once(both: BoundWorld) -> None:
    both.app.connection.execute(
        "CREATE FUNCTION kb.tidy() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.title := trim(NEW.title) || '!'; RETURN NEW; END $$"
    )
    page = both.app.create("Title", "T.")
    text = both.await_text("Title.md", "T.")
    both.app.connection.execute("CREATE TRIGGER tidy BEFORE UPDATE ON kb.pages FOR EACH ROW EXECUTE FUNCTION kb.tidy()")
    both.mirrord.file("Title.md").write_text(text.replace("title: Title", "title: Better"))
    both.await_text("Better!.md", "title: Better!")
    both.await_rest()
    assert both.app.page(page)["title"] == "Better!"


def test_the_queue_is_empty_when_both_sides_are_equal(both: BoundWorld) -> None:
    page = both.app.create("Echo", "E.")
    text = both.await_text("Echo.md", "E.")
    both.mirrord.file("Echo.md").write_text(text.replace("E.", "Edited."))
    both.await_body(page, "Edited.")
    both.await_rest()
    before = both.mirrord.page("Echo.md"), both.app.block(page)
    both.app.create("Another", "A.")
    both.await_text("Another.md", "A.")
    both.await_rest()
    assert (both.mirrord.page("Echo.md"), both.app.block(page)) == before
    assert value(both.admin, "SELECT count(*) FROM mirrord_bind.change") == 0


def test_the_check_says_what_is_written(world: BoundWorld) -> None:
    world.mapping.write_text(TWO_WAY_MAPPING)
    report: dict[str, Any] = json.loads(world.mirrord.run("bind", "check", str(world.mapping), "--json").stdout)
    assert report["written"] == {
        "kb.pages": ["title", "parent_id", "position", "deleted_at", "icon", "updated_at"],
        "kb.blocks": ["content", "plain_text", "updated_at", "version"],
    }
    assert any("GRANT UPDATE" in statement for statement in report["sql"])


@pytest.mark.parametrize(
    "line",
    ["position: --5", "position: " + "9" * 5_000, "icon: [[[[1]]]]", "icon: ["],
)
def test_front_matter_that_no_column_holds_is_a_problem_of_its_page_alone(both: BoundWorld, line: str) -> None:
    page, other = both.app.create("Odd", "O.", icon="1"), both.app.create("Plain", "P.")
    odd, plain = both.await_text("Odd.md", "O."), both.await_text("Plain.md", "P.")
    key = line.partition(":")[0]
    lines = [part for part in odd.split("\n") if not part.startswith(f"{key}:")]
    both.mirrord.file("Odd.md").write_text("\n".join([lines[0], line, *lines[1:]]))
    both.mirrord.file("Plain.md").write_text(plain.replace("P.", "Edited."))
    both.await_body(other, "Edited.")
    both.await_rest()
    assert both.status()["state"] == "running"
    eventually(lambda: len(both.status()["problems"]) == 1, "the front matter is a problem")
    assert both.app.page(page)["icon"] == "1"
