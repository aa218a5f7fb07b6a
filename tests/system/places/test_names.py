"""Spellings, collisions, and names that some systems cannot hold (docs/design/sync.md, L6 and L8)."""

import unicodedata

import pytest

from mirrord.domain.entry import digest_of
from mirrord.domain.place import numbered_name
from tests.support.entries import add, add_attachment, add_page, change
from tests.support.mirrors import Mirror

NFC, NFD = (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD"))
SPELLINGS = pytest.mark.parametrize(
    ("old", "new"), [("plan", "PLAN"), (NFC, NFD), (NFD, NFC)], ids=["case", "NFC-to-NFD", "NFD-to-NFC"]
)
SHAPES = pytest.mark.parametrize(
    "shape",
    [["{}.md"], ["{}/x.md"], ["{}.md", "{}/x.md"], ["{}/_index.md", "{}/x.md"]],
    ids=["leaf", "folder", "note", "index"],
)

SHORT_SHAPES = pytest.mark.parametrize("shape", [["{}.md", "{}/x.md"], ["{}/_index.md"]], ids=["note", "index"])


async def rename_in_rows(mirror: Mirror, old: str, new: str, shape: list[str]) -> None:
    """An app writes another name; the same page has it in the files then."""
    mirror.write({path.format(old): "text\n" for path in shape})
    await mirror.settle()
    (page,) = mirror.ids(old)
    change(mirror.app, page, name=new)
    await mirror.settle()
    assert mirror.ids(new) == [page]
    assert mirror.files().keys() == {path.format(new) for path in shape}
    assert mirror.problems() == {}


@SPELLINGS
@SHORT_SHAPES
async def test_another_spelling_of_a_name_in_files_is_a_new_name_of_the_same_page(
    mirror: Mirror, old: str, new: str, shape: list[str]
) -> None:
    mirror.write({path.format(old): "text\n" for path in shape})
    await mirror.settle()
    (page,) = mirror.ids(old)
    count = mirror.count_living()
    mirror.rename(*((top, top.replace(old, new)) for top in {path.format(old).split("/")[0] for path in shape}))
    await mirror.settle()
    assert mirror.ids(new) == [page]
    assert mirror.files().keys() == {path.format(new) for path in shape}
    assert mirror.count_living() == count
    assert mirror.problems() == {}


@pytest.mark.parametrize(("old", "new"), [("plan", "PLAN"), (NFD, NFC)], ids=["case", "NFD-to-NFC"])
@SHAPES
async def test_another_spelling_of_a_name_in_rows_renames_the_file(
    mirror: Mirror, old: str, new: str, shape: list[str]
) -> None:
    await rename_in_rows(mirror, old, new, shape)


async def test_two_pages_made_at_one_path_on_both_sides_are_two_pages(mirror: Mirror) -> None:
    row_id = add_page(mirror.app, name="Same", markdown="from an app\n")
    mirror.write({"Same.md": "from a file\n"})
    await mirror.settle()
    texts = list(mirror.files().values())
    assert len(texts) == mirror.count_living() == 2
    assert any("from an app" in text for text in texts)
    assert any("from a file" in text for text in texts)
    assert "from an app" in (mirror.page("Same").markdown or "")
    assert mirror.page("Same").id == row_id


async def test_a_row_renamed_to_a_name_that_a_new_file_has_taken_waits_for_it(mirror: Mirror) -> None:
    mirror.write({"old.md": "old\n"})
    await mirror.settle()
    (page,) = mirror.ids("old")
    change(mirror.app, page, name="new")
    mirror.write({"new.md": "new\n"})
    await mirror.settle()
    assert mirror.ids("new") == [page]
    assert mirror.files() == {"new.md": "old\n", "new (2).md": "new\n"}
    assert mirror.rows() == {"new": "old\n", "new (2)": "new\n"}
    assert {code for _, code in mirror.problems()} <= {"twin"}


async def test_a_file_renamed_to_a_name_that_a_new_row_has_taken_gets_a_number(mirror: Mirror) -> None:
    mirror.write({"old.md": "old\n"})
    await mirror.settle()
    (page,) = mirror.ids("old")
    row_id = add_page(mirror.app, name="new", markdown="new\n")
    mirror.rename(("old.md", "new.md"))
    await mirror.settle()
    assert mirror.count_living() == len(mirror.files()) == 2
    assert sorted(mirror.rows()) == ["new", "new (2)"]
    assert {page, row_id} == set(mirror.ids("new", "new (2)"))
    assert "old\n" in mirror.files().values()


async def test_whoever_has_many_twins_finds_a_free_name_in_a_few_transactions(mirror: Mirror) -> None:
    mirror.write({"Same.md": "1\n"} | {f"{numbered_name('Same', number)}.md": f"{number}\n" for number in range(2, 60)})
    await mirror.settle()
    before = _transactions(mirror)
    add_page(mirror.app, name="Same", markdown="from an app\n")
    await mirror.settle()
    assert "from an app\n" in mirror.files()["Same (60).md"]
    mirror.write({"SAME.md": "from a file\n"})
    await mirror.settle()
    assert mirror.rows()["SAME (61)"] == "from a file\n"
    assert _transactions(mirror) - before < 50


def _transactions(mirror: Mirror) -> int:
    """How many wrote something so far, those that failed too."""
    row = mirror.app.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("path", "listed", "why"),
    [
        ("CON/page.md", "CON", "device on Windows"),
        ("dot./page.md", "dot.", "ends in a blank or a dot"),
        ("assets/what?.png", "assets/what?.png", "Windows refuses"),
        ("assets/aux/a.png", "assets/aux/a.png", "device on Windows"),
    ],
)
async def test_the_name_of_a_directory_or_attachment_that_is_not_portable_is_a_problem(
    mirror: Mirror, path: str, listed: str, why: str
) -> None:
    mirror.write({path: "text\n"})
    await mirror.settle()
    assert why in mirror.problems()[listed, "name"]
    mirror.rename((listed, "assets/portable.png" if "assets" in path else "portable"))
    await mirror.settle()
    assert mirror.problems() == {}


@pytest.mark.usefixtures("ignoring_case")
@pytest.mark.parametrize(("old", "new"), [("plan", "PLAN"), ("PLAN", "plan")])
@SHORT_SHAPES
async def test_where_case_is_ignored_another_spelling_in_rows_goes_over_a_temporary_name(
    mirror: Mirror, old: str, new: str, shape: list[str]
) -> None:
    await rename_in_rows(mirror, old, new, shape)


@pytest.mark.usefixtures("ignoring_case")
@pytest.mark.parametrize(("old", "new"), [("plan", "PLAN"), ("PLAN", "plan")])
@SHORT_SHAPES
async def test_where_case_is_ignored_another_spelling_in_files_is_one_page(
    mirror: Mirror, old: str, new: str, shape: list[str]
) -> None:
    mirror.write({path.format(old): "text\n" for path in shape})
    await mirror.settle()
    (page,) = mirror.ids(old)
    count = mirror.count_living()
    mirror.rename(*((top, top.replace(old, new)) for top in {path.format(old).split("/")[0] for path in shape}))
    mirror.engine.queue.mark([path.format(name) for path in shape for name in (old, new)], forced=True)
    await mirror.settle()
    assert mirror.ids(new) == [page]
    assert mirror.count_living() == count
    assert mirror.files().keys() == {path.format(new) for path in shape}
    mirror.write({path.format(new): "edited\n" for path in shape})
    await mirror.settle()
    assert set(mirror.rows().values()) <= {"edited\n", None}


@pytest.mark.usefixtures("ignoring_case")
async def test_where_case_is_ignored_two_rows_can_still_exchange_names(mirror: Mirror) -> None:
    mirror.write({"plan.md": "plan\n", "draft.md": "draft\n"})
    await mirror.settle()
    plan, draft = mirror.ids("plan", "draft")
    with mirror.app.transaction():
        change(mirror.app, plan, name="DRAFT")
        change(mirror.app, draft, name="Plan")
    await mirror.settle()
    assert mirror.files() == {"DRAFT.md": "plan\n", "Plan.md": "draft\n"}
    assert mirror.ids("DRAFT", "Plan") == [plan, draft]


@pytest.mark.parametrize("side", ["file", "row"])
async def test_an_attachment_of_a_taken_name_gets_its_number_before_its_ending(mirror: Mirror, side: str) -> None:
    mirror.write({"assets/in/plan.png": "one"})
    await mirror.settle()
    if side == "file":
        mirror.write({"assets/in/PLAN.png": "two"})
    else:
        data = b"two"
        mirror.app.execute("INSERT INTO mirrord.blob (digest, part, bytes) VALUES (%s, 0, %s)", [digest_of(data), data])
        add_attachment(mirror.app, name="in/PLAN.png", digest=digest_of(data), size=len(data))
    await mirror.settle()
    assert sorted(mirror.files().items()) == [("assets/in/PLAN (2).png", "two"), ("assets/in/plan.png", "one")]


@pytest.mark.parametrize(
    ("markdown", "name"),
    [
        ("---\ntitle: The garden\n---\n# Another heading\n", "The garden"),
        ("Some words.\n\n# The harvest\n\nText.\n", "The harvest"),
        ("---\ntags: [x]\n---\n## Seeds: what/when?\n", "Seeds- what-when-"),
    ],
)
async def test_a_text_that_an_app_gives_no_name_is_called_by_its_title_or_first_heading(
    mirror: Mirror, markdown: str, name: str
) -> None:
    add(mirror.app, "page", markdown=markdown)
    await mirror.settle()
    assert list(mirror.files()) == [f"{name}.md"]
