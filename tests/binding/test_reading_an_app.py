"""Mode `in`: the rows of an app are pages and files, live, and the app stays right."""

import pytest

from tests.binding.knowledge_base import MAPPING, TENANT, BoundWorld, OutdatedError, document_of
from tests.support.clients import on_stdio, process
from tests.support.entries import value
from tests.support.harness import eventually


def test_pages_of_the_app_become_files_with_their_places_and_properties(world: BoundWorld) -> None:
    home = world.app.create("Home", "Welcome.", icon="🏠", summary="The start.", position=2)
    world.app.create("Plan", "Plant *beans*.", parent=home)
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    text = world.await_text("Home.md", "Welcome.", f"id: {home}", "title: Home", "position: a2", "summary: The start.")
    assert "🏠" in text
    assert r"Plant \*beans\*." in world.await_text("Home/Plan.md", "Plant")
    page = world.mirrord.page("Home/Plan.md")
    assert page is not None
    assert str(page.parent_id) == home


def test_an_edit_in_the_app_is_in_the_file_and_other_columns_do_not_matter(bound: BoundWorld) -> None:
    page = bound.app.create("Diary", "First.")
    bound.await_text("Diary.md", "First.")
    bound.app.save(page, "Second.", expected=1)
    bound.await_text("Diary.md", "Second.")
    with pytest.raises(OutdatedError):
        bound.app.save(page, "Of an old tab.", expected=1)
    bound.await_rest()
    before = bound.mirrord.page("Diary.md")
    bound.app.change(page, view_count=17)
    assert value(bound.admin, "SELECT count(*) FROM mirrord_bind.change") == 0
    assert bound.mirrord.page("Diary.md") == before


def test_renames_moves_and_positions_of_the_app_move_files(bound: BoundWorld) -> None:
    garden = bound.app.create("Garden")
    beans = bound.app.create("Beans", "Green.")
    bound.await_text("Beans.md", "Green.")
    bound.app.change(beans, parent_id=garden, title="Runner beans", position=5)
    bound.await_text("Garden/Runner beans.md", "Green.", "title: Runner beans", "position: a5", f"id: {beans}")
    bound.await_absence("Beans.md")
    bound.app.change(beans, parent_id=None)
    bound.await_text("Runner beans.md", "Green.")
    bound.await_absence("Garden/Runner beans.md")


def test_a_page_that_the_app_deletes_goes_and_its_children_come_to_the_top(bound: BoundWorld) -> None:
    parent = bound.app.create("Parent", "P.")
    bound.app.create("Child", "C.", parent=parent)
    for title in ("Stays", "Stays too", "And this"):
        bound.app.create(title)
    bound.await_text("Parent/Child.md", "C.")
    bound.app.delete(parent)
    bound.await_absence("Parent.md")
    bound.await_text("Child.md", "C.")
    bound.app.change(parent, deleted_at=None)
    bound.await_text("Parent.md", "P.", f"id: {parent}")
    bound.await_text("Parent/Child.md", "C.")


def test_a_page_and_those_below_it_that_the_app_restores_together_come_back(bound: BoundWorld) -> None:
    bound.delete_and_restore_family()


def test_private_pages_and_those_of_other_tenants_never_come(bound: BoundWorld) -> None:
    bound.app.create("Secret", "S.", space_type="PRIVATE")
    bound.app.create("Foreign", "F.", tenant_id="another")
    shared = bound.app.create("Shared", "Both.")
    bound.await_text("Shared.md", "Both.")
    bound.await_rest()
    assert sorted(path.name for path in bound.mirrord.root.glob("*.md")) == ["Shared.md"]
    bound.app.create("Second")
    bound.await_text("Second.md")
    bound.app.change(shared, space_type="PRIVATE")
    bound.await_absence("Shared.md")


def test_an_edit_of_a_file_is_taken_back_and_its_text_is_in_the_history(bound: BoundWorld) -> None:
    page = bound.app.create("Rules", "The app is right.")
    original = bound.await_text("Rules.md", "The app is right.")
    bound.mirrord.file("Rules.md").write_text(original + "\nI disagree.\n")
    eventually(lambda: bound.status()["problems"], "the edit is a problem")
    bound.await_text("Rules.md", "The app is right.")
    eventually(lambda: bound.mirrord.text("Rules.md") == original, "the file is as the app says")
    (problem,) = bound.status()["problems"]
    assert "only reads the app" in problem["sentence"]
    refused = value(bound.admin, "SELECT count(*) FROM mirrord.page_revision WHERE markdown ~ 'I disagree.'")
    assert refused >= 1
    assert value(bound.admin, "SELECT content FROM kb.blocks WHERE page_id = %s", page) == document_of(
        "The app is right."
    )
    bound.app.save(page, "The app goes on.")
    bound.await_text("Rules.md", "The app goes on.")
    eventually(lambda: not bound.status()["problems"], "the problem is over")


def test_a_removed_or_renamed_file_comes_back(bound: BoundWorld) -> None:
    page = bound.app.create("Keep", "Kept.")
    bound.app.create("Other", "O.")
    bound.await_text("Keep.md", "Kept.")
    bound.await_text("Other.md", "O.")
    bound.await_rest()  # a file that goes before its page is known to have one is written again
    bound.mirrord.file("Keep.md").unlink()
    eventually(lambda: bound.status()["problems"], "the deletion is a problem")
    bound.await_text("Keep.md", "Kept.", f"id: {page}")
    bound.mirrord.file("Other.md").rename(bound.mirrord.file("Mine.md"))
    bound.await_absence("Mine.md")
    bound.await_text("Other.md", "O.")


def test_a_file_of_a_person_stays_a_page_beside_those_of_the_app(bound: BoundWorld) -> None:
    bound.app.create("Of the app", "A.")
    bound.await_text("Of the app.md", "A.")
    bound.mirrord.file("Mine.md").write_text("My own.\n")
    eventually(lambda: bound.mirrord.page("Mine.md"), "the file is a page")
    bound.await_rest()
    assert bound.mirrord.text("Mine.md") == "My own.\n"
    assert value(bound.admin, "SELECT count(*) FROM kb.pages WHERE tenant_id = %s", TENANT) == 1


def test_a_body_of_very_many_blocks_is_a_problem_of_its_page_alone(bound: BoundWorld) -> None:
    page = bound.app.create("Huge", "H.")
    bound.await_text("Huge.md", "H.")
    bound.app.connection.execute(
        "UPDATE kb.blocks SET content = jsonb_build_object('type', 'doc', 'content', "
        "(SELECT jsonb_agg(jsonb_build_object('type', 'paragraph')) FROM generate_series(1, 250001))) "
        "WHERE page_id = %s",
        [page],
    )
    other = bound.app.create("Usual", "U.")
    bound.await_text("Usual.md", "U.", f"id: {other}")
    (problem,) = eventually(lambda: bound.status()["problems"], "the body is a problem")
    assert "its body has more than 250,000 nodes and marks" in problem["sentence"]
    assert "H." in (bound.mirrord.text("Huge.md") or "")
    bound.app.save(page, "Short.")
    bound.await_text("Huge.md", "Short.")


def test_equal_titles_get_numbers_and_keep_them(bound: BoundWorld) -> None:
    first, second = bound.app.create("Twin", "One."), bound.app.create("Twin", "Two.")
    texts = {bound.await_text("Twin.md"), bound.await_text("Twin (2).md")}
    assert {f"id: {first}", f"id: {second}"} == {line for text in texts for line in text.splitlines() if "id: " in line}
    bound.app.save(first, "One again.")
    bound.app.save(second, "Two again.")
    eventually(
        lambda: (
            {"One again.", "Two again."}
            == {(bound.mirrord.text(path) or "").strip().splitlines()[-1] for path in ("Twin.md", "Twin (2).md")}
        ),
        "both names have the new texts",
    )


def test_a_body_that_cannot_be_carried_over_is_a_problem_of_its_page_alone(bound: BoundWorld) -> None:
    page = bound.app.create("Broken", "Fine.")
    bound.await_text("Broken.md", "Fine.")
    bound.app.connection.execute("UPDATE kb.blocks SET content = '[]' WHERE page_id = %s", [page])
    bound.app.create("Whole", "Fine, too.")
    bound.await_text("Whole.md", "Fine, too.")
    (problem,) = eventually(lambda: bound.status()["problems"], "the body is a problem")
    assert "its body is no document" in problem["sentence"]
    bound.await_text("Broken.md", "Fine.")
    bound.app.save(page, "Mended.")
    bound.await_text("Broken.md", "Mended.")
    eventually(lambda: not bound.status()["problems"], "the problem is over")


def test_rows_that_are_below_each_other_come_to_the_top(bound: BoundWorld) -> None:
    first, second = bound.app.create("First", "1"), bound.app.create("Second", "2")
    bound.await_text("First.md")
    bound.await_text("Second.md")
    with bound.app.connection.transaction():
        bound.app.change(first, parent_id=second)
        bound.app.change(second, parent_id=first)
    problems = eventually(lambda: bound.status()["problems"], "the circle is a problem")
    assert all("below itself" in problem["sentence"] for problem in problems)
    bound.app.change(second, parent_id=None)
    bound.await_text("Second/First.md", "1")
    bound.await_text("Second.md", "2")


async def test_agents_are_told_to_change_a_page_of_the_app_in_the_app(world: BoundWorld) -> None:
    world.mapping.write_text(MAPPING.replace("[body]", 'url = "https://kb.example/p/{id}"\n[body]'))
    page = world.app.create("Theirs", "Of the app.")
    world.bind("add", str(world.mapping))
    world.mirrord.up()
    text = world.await_text("Theirs.md", "Of the app.", "bound_to: kb", f"bound_url: https://kb.example/p/{page}")
    world.mirrord.file("Mine.md").write_text("See [[Theirs]].\n")
    eventually(lambda: world.mirrord.page("Mine.md"), "the file is a page")
    async with on_stdio(process(world.mirrord.mirror)) as agent:
        assert (await agent.call("read_page", path="Theirs"))["content"] == text
        pages = (await agent.call("list_pages"))["pages"]
        assert {page["path"]: page.get("boundTo") for page in pages} == {"Mine.md": None, "Theirs.md": "kb"}
        edit = {"path": "Theirs", "edits": [{"find": "Of", "replace": "Not of"}]}
        for tool, arguments in (
            ("edit_page", edit),
            ("edit_page", {**edit, "dryRun": True}),
            ("write_page", {"path": "Theirs", "content": "Mine now."}),
            ("move_page", {"sourcePath": "Theirs", "destinationPath": "Ours"}),
            ("delete_page", {"path": "Theirs"}),
        ):
            refusal = await agent.refused(tool, **arguments)
            assert (refusal["code"], refusal["error_type"]) == ("READ_ONLY", "forbidden")
            assert "the binding 'kb' only reads" in refusal["error"]
            assert f"https://kb.example/p/{page}" in refusal["instruction"]
        await agent.call("edit_page", path="Mine", edits=[{"find": "See", "replace": "Read"}])
    assert world.mirrord.text("Theirs.md") == text


def test_a_new_row_below_one_that_is_restored_with_it_is_below_its_page(bound: BoundWorld) -> None:
    garden = bound.app.create("Garden", "G.")
    for title in ("Stays", "Stays too", "And this", "And that"):  # else most pages would be gone
        bound.app.create(title, "S.")
        bound.await_text(f"{title}.md", "S.")
    bound.await_text("Garden.md", "G.")
    bound.app.delete(garden)
    bound.await_absence("Garden.md")
    bound.await_rest()
    with bound.app.connection.transaction():
        bound.app.change(garden, deleted_at=None)
        bound.app.create("Beans", "B.", parent=garden)
    bound.await_text("Garden/Beans.md", "B.")
