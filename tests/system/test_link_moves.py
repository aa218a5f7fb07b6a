"""Links follow renames and moves, wherever these come from; nothing else of a page changes, and no edit is lost."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from mirrord.db.database import Database, app_dsn
from mirrord.documents import link_rewriting
from mirrord.documents.derivation_schedule import follow_batch
from mirrord.documents.link_rewriting import rewrite_pages
from mirrord.domain.entry import TenantId
from mirrord.domain.link_rule import LinkRule
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.page_links import links_of, target_span
from tests.support.entries import change, delete, history, value
from tests.support.link_tenants import derive, let_links_follow, pending_count, targets_of
from tests.support.mirrors import Mirror, opened_mirror
from tests.support.rows import Connection

FORMS = """---
see: '[[Dal]]'
---
[[Dal]] and [[Kitchen/Dal#Rice|the dal]], ![[dal]] [d](Kitchen/Dal.md#rice 'hint') <!-- [[Dal]] -->

`[[Dal]]` \\[[Dal]] [[Dhal]] [out](https://example.org/Dal.md)\r

[d]: <Kitchen/Dal.md>
"""
FORMS_AFTER = (
    FORMS.replace("see: '[[Dal]]'", "see: '[[Tarka dal]]'")
    .replace("\n[[Dal]] and [[Kitchen/Dal#", "\n[[Tarka dal]] and [[Kitchen/Tarka dal#")
    .replace("![[dal]]", "![[Tarka dal]]")
    .replace("(Kitchen/Dal.md#rice", "(Kitchen/Tarka%20dal.md#rice")
    .replace("<Kitchen/Dal.md>", "<Kitchen/Tarka dal.md>")
)

REFUSING_TRIGGER = """
CREATE FUNCTION public.refuse_soup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no soup';
END
$$;
CREATE TRIGGER refuse_soup BEFORE UPDATE ON mirrord.page FOR EACH ROW
    WHEN (NEW.markdown LIKE '%[[Soup]] refused%') EXECUTE FUNCTION public.refuse_soup()"""


async def _start(mirror: Mirror, **texts: str) -> None:
    mirror.write({f"{path}.md": text for path, text in texts.items()})
    await let_links_follow(mirror)


async def test_a_rename_by_an_app_changes_the_targets_of_links_and_no_other_byte(mirror: Mirror) -> None:
    await _start(mirror, **{"Kitchen/Dal": "Dal\n", "Home": FORMS})
    dal, home = mirror.ids("Kitchen/Dal", "Home")

    change(mirror.app, dal, name="Tarka dal")
    await let_links_follow(mirror)

    assert mirror.files() == {"Kitchen/Tarka dal.md": "Dal\n", "Home.md": FORMS_AFTER}
    assert set(targets_of(mirror, home)) == {dal, None}
    assert pending_count(mirror) == 0


async def test_links_and_images_of_html_follow_moves(mirror: Mirror) -> None:
    before = '<p>\n<a class="x" href="Kitchen/Dal.md#rice">dal</a>\n</p>\n\nand <img width=3 src=\'Kitchen/Dal.md\'>\n'
    await _start(mirror, **{"Kitchen/Dal": "Dal\n", "Home": before})
    dal, home = mirror.ids("Kitchen/Dal", "Home")
    assert targets_of(mirror, home) == [dal, dal]

    change(mirror.app, dal, name="Tarka dal")
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == before.replace("Kitchen/Dal.md", "Kitchen/Tarka%20dal.md")


async def test_a_rename_back_gives_every_page_its_bytes_back(mirror: Mirror) -> None:
    await _start(mirror, **{"Kitchen/Dal": "Dal\n", "Home": FORMS.replace("![[dal]]", "![[Dal]]")})
    (dal,) = mirror.ids("Kitchen/Dal")
    before = mirror.files()

    for name in ("Tarka dal", "Dal"):
        change(mirror.app, dal, name=name)
        await let_links_follow(mirror)

    assert mirror.files() == before


async def test_the_history_says_for_whom_links_were_rewritten(mirror: Mirror) -> None:
    await _start(mirror, Dal="Dal\n", Home="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")

    with mirror.app.transaction():
        mirror.app.execute("""SET LOCAL mirrord.actor = '{"kind": "human", "name": "ada", "channel": "console"}'""")
        change(mirror.app, dal, name="Soup")
    await let_links_follow(mirror)

    assert history(mirror.app, home)[-1]["actor"] == {"kind": "daemon", "name": "mirrord", "for": "human ada"}


async def test_a_move_changes_paths_and_leaves_names_that_still_mean_the_page(mirror: Mirror) -> None:
    await _start(
        mirror,
        **{
            "Kitchen/Dal": "[home](../Home.md) ![p](assets/p.png) [[Rice]]\n",
            "Kitchen/Rice": "[d](Dal.md) [[Dal]]\n",
            "Archive/Old": "x\n",
            "Home": "[[Dal]] [d](Kitchen/Dal.md) [[Kitchen/Dal]]\n",
        },
    )
    mirror.write({"Kitchen/assets/p.png": "png"})
    await let_links_follow(mirror)
    dal, archive = mirror.ids("Kitchen/Dal", "Archive")

    change(mirror.app, dal, parent_id=archive)
    await let_links_follow(mirror)

    assert mirror.files() == {
        "Archive/Dal.md": "[home](../Home.md) ![p](../Kitchen/assets/p.png) [[Rice]]\n",
        "Kitchen/Rice.md": "[d](../Archive/Dal.md) [[Dal]]\n",
        "Archive/Old.md": "x\n",
        "Home.md": "[[Dal]] [d](Archive/Dal.md) [[Archive/Dal]]\n",
        "Kitchen/assets/p.png": "png",
    }


async def test_a_link_that_is_due_while_its_target_has_no_place_yet_keeps_its_meaning(
    mirror: Mirror, daemon_connection: Connection
) -> None:
    await _start(mirror, **{"Kitchen/Dal/Rice": "x\n", "Home": "[r](Kitchen/Dal/Rice.md)\n"})
    dal, rice, home = mirror.ids("Kitchen/Dal", "Kitchen/Dal/Rice", "Home")

    daemon_connection.execute("UPDATE mirrord.page_link SET due = true")
    change(mirror.app, dal, parent_id=None)
    await follow_batch(mirror.engine.sides)
    assert targets_of(mirror, home) == [rice]
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == "[r](Dal/Rice.md)\n"


async def test_a_page_with_links_by_name_only_gets_no_version_by_a_move(mirror: Mirror) -> None:
    await _start(mirror, **{"Kitchen/Dal": "x\n", "Archive/Old": "x\n", "Home": "[[Dal]]\n"})
    dal, archive, home = mirror.ids("Kitchen/Dal", "Archive", "Home")
    version = mirror.versions()[home]

    change(mirror.app, dal, parent_id=archive)
    await let_links_follow(mirror)

    assert mirror.versions()[home] == version


async def test_a_new_title_changes_links_by_title(mirror: Mirror) -> None:
    await _start(mirror, dal="---\ntitle: Tarka dal\n---\nx\n", Home="[[Tarka dal]] [[Tarka dal#Rice|soup]] [[dal]]\n")
    (dal,) = mirror.ids("dal")

    change(mirror.app, dal, title="Red dal")
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == "[[dal]] [[dal#Rice|soup]] [[dal]]\n"


async def test_a_renamed_folder_of_many_pages_takes_links_along(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_rewriting, "MAX_PAGES", 4)
    count = 10
    pages = {f"Deep/Page {number}": f"[next](Page%20{(number + 1) % count}.md)\n" for number in range(count)}
    links = {f"Links/{number}": f"[p](../Deep/Page%20{number}.md) [[Deep/Page {number}]]\n" for number in range(count)}
    await _start(mirror, **pages, **links)
    (deep,) = mirror.ids("Deep")

    change(mirror.app, deep, name="Flat")
    await let_links_follow(mirror)

    files = mirror.files()
    assert [files[f"Links/{n}.md"] for n in range(count)] == [
        f"[p](../Flat/Page%20{n}.md) [[Flat/Page {n}]]\n" for n in range(count)
    ]
    assert [files[f"Flat/Page {n}.md"] for n in range(count)] == list(pages.values())


async def test_a_renamed_attachment_takes_links_along(mirror: Mirror) -> None:
    mirror.write({"Notes/assets/plan.png": "png"})
    await _start(
        mirror, **{"Notes/Plan": "![p](assets/plan.png)\n", "Home": "![[plan.png]] [p](Notes/assets/plan.png)\n"}
    )
    mirror.engine.sides.links = LinkRule.ALWAYS  # attachments move with their files only

    mirror.rename(("Notes/assets/plan.png", "Notes/assets/sketch.png"))
    await let_links_follow(mirror)

    assert mirror.files()["Notes/Plan.md"] == "![p](assets/sketch.png)\n"
    assert mirror.files()["Home.md"] == "![[sketch.png]] [p](Notes/assets/sketch.png)\n"


@pytest.mark.parametrize(
    ("rule", "is_file", "expected"),
    [
        (LinkRule.TOOLS, False, "[[Soup]]\n"),
        (LinkRule.TOOLS, True, "[[Dal]]\n"),
        (LinkRule.ALWAYS, False, "[[Soup]]\n"),
        (LinkRule.ALWAYS, True, "[[Soup]]\n"),
        (LinkRule.NEVER, False, "[[Dal]]\n"),
        (LinkRule.NEVER, True, "[[Dal]]\n"),
    ],
)
async def test_the_configuration_says_which_moves_links_follow(
    mirror: Mirror, rule: LinkRule, is_file: bool, expected: str
) -> None:
    mirror.engine.sides.links = rule
    await _start(mirror, Dal="Some text of a page.\n", Home="[[Dal]]\n")

    if is_file:
        mirror.rename(("Dal.md", "Soup.md"))
    else:
        change(mirror.app, mirror.page("Dal").id, name="Soup")
    await let_links_follow(mirror)

    assert mirror.files() == {"Soup.md": "Some text of a page.\n", "Home.md": expected}


async def test_a_folder_that_a_row_moved_takes_a_page_along_that_a_file_renamed(mirror: Mirror) -> None:
    await _start(mirror, **{"Kitchen/Dal": "Some text of a page.\n", "Home": "[d](Kitchen/Dal.md)\n"})
    mirror.rename(("Kitchen/Dal.md", "Kitchen/Soup.md"))
    await derive(mirror)
    assert mirror.files()["Home.md"] == "[d](Kitchen/Dal.md)\n"

    mirror.rename(("Kitchen/Soup.md", "Kitchen/Dal.md"))
    await derive(mirror)
    change(mirror.app, mirror.page("Kitchen").id, name="Cellar")
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == "[d](Cellar/Dal.md)\n"


async def test_an_ambiguous_link_stays_and_one_that_becomes_ambiguous_says_which_page_it_means(mirror: Mirror) -> None:
    await _start(
        mirror, **{"A/Note": "x\n", "B/Note": "y\n", "A/Plan": "z\n", "B/Other": "w\n", "Home": "[[Note]] [[Plan]]\n"}
    )
    (other,) = mirror.ids("B/Other")
    change(mirror.app, mirror.page("A/Note").id, name="Memo")
    change(mirror.app, other, name="Plan")
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == "[[Note]] [[A/Plan]]\n"


async def test_two_renames_before_anything_followed_are_one(mirror: Mirror) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")
    version = mirror.versions()[home]

    change(mirror.app, dal, name="Soup")
    change(mirror.app, dal, name="Stew")
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == "[[Stew]]\n"
    assert mirror.versions()[home] == version + 1


async def test_a_target_that_waits_follows_further_renames_and_is_forgotten_with_the_first_name(mirror: Mirror) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")
    version = mirror.versions()[home]

    for name, count in (("Soup", 1), ("Stew", 1), ("Dal", 0), ("Roti", 1)):
        change(mirror.app, dal, name=name)
        await derive(mirror)
        assert pending_count(mirror) == count
        assert mirror.versions()[home] == version
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == "[[Roti]]\n"


async def test_what_an_app_writes_between_the_move_and_the_rewriting_is_kept(mirror: Mirror) -> None:
    await _start(mirror, Dal="x\n", Home="First.\n\n[[Dal]]\n\nLast.\n")
    dal, home = mirror.ids("Dal", "Home")

    change(mirror.app, dal, name="Soup")
    await derive(mirror)
    change(mirror.app, home, markdown="First, and more.\n\nAdded: [[Dal|d]]\n\n[[Dal]]\n\nLast.\n")
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == "First, and more.\n\nAdded: [[Soup|d]]\n\n[[Soup]]\n\nLast.\n"


async def test_a_save_of_the_linking_page_right_after_the_move_is_merged(mirror: Mirror) -> None:
    await _start(mirror, Dal="x\n", Home="First.\n\nSee [[Dal]] now.\n\nLast.\n")
    (dal,) = mirror.ids("Dal")
    await derive(mirror)

    change(mirror.app, dal, name="Soup")
    await derive(mirror)
    await rewrite_pages(mirror.engine.sides)
    mirror.write({"Home.md": "First of all.\n\nSee [[Dal]] now.\n\nLast of all.\n"})
    await let_links_follow(mirror)

    assert mirror.files() == {"Soup.md": "x\n", "Home.md": "First of all.\n\nSee [[Soup]] now.\n\nLast of all.\n"}


async def test_a_page_that_an_app_has_locked_follows_later_and_holds_up_no_other(
    mirror: Mirror, admin_dsn: str, connect: Callable[[str], Connection]
) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]]\n", Work="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")
    change(mirror.app, dal, name="Soup")
    await derive(mirror)

    other = connect(app_dsn(admin_dsn, mirror.engine.sides.tenant))
    with other.transaction():
        other.execute("SELECT FROM mirrord.page WHERE id = %s FOR UPDATE", [home])
        await rewrite_pages(mirror.engine.sides)
        assert mirror.rows()["Work"] == "[[Soup]]\n"
        assert mirror.rows()["Home"] == "[[Dal]]\n"
    await let_links_follow(mirror)

    assert mirror.rows()["Home"] == "[[Soup]]\n"


async def test_a_page_whose_row_is_held_follows_when_it_is_written_again(mirror: Mirror) -> None:
    text = "Long enough to be held. " * 12 + "[[Dal]] [[Dal|a]] [[Dal|b]]\n"
    await _start(mirror, Dal="x\n", Home=text)
    dal, home = mirror.ids("Dal", "Home")
    mirror.app.execute("""UPDATE mirrord.page SET content = '{"type": "doc", "content": []}' WHERE id = %s""", [home])
    change(mirror.app, dal, name="Soup")
    await let_links_follow(mirror)
    assert (mirror.rows()["Home"], pending_count(mirror)) == (text, 3)

    change(mirror.app, home, markdown=text + "More.\n")
    await let_links_follow(mirror)

    assert mirror.files()["Home.md"] == text.replace("[[Dal", "[[Soup") + "More.\n"


async def test_a_page_deleted_in_its_file_does_not_come_back_for_its_links(mirror: Mirror) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")

    change(mirror.app, dal, name="Soup")
    await derive(mirror)
    (mirror.root / "Home.md").unlink()
    await rewrite_pages(mirror.engine.sides)
    await let_links_follow(mirror)

    assert mirror.files() == {"Soup.md": "x\n"}
    assert value(mirror.app, "SELECT deleted_at IS NOT NULL FROM mirrord.page WHERE name = 'Home'")

    mirror.app.execute("UPDATE mirrord.page SET deleted_at = NULL WHERE id = %s", [home])
    await let_links_follow(mirror)
    assert mirror.files() == {"Soup.md": "x\n", "Home.md": "[[Soup]]\n"}


async def test_a_halted_page_waits_for_the_decision(mirror: Mirror, daemon_connection: Connection) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")
    change(mirror.app, dal, name="Soup")
    await derive(mirror)
    sides = mirror.engine.sides
    daemon_connection.execute(
        "INSERT INTO mirrord.halt (tenant_id, mirror_id, reason, sentence, entries) VALUES (%s, %s, 'x', 'x', %s)",
        [sides.tenant, sides.mirror, [home]],
    )

    await rewrite_pages(sides)
    assert (mirror.rows()["Home"], pending_count(mirror)) == ("[[Dal]]\n", 1)

    daemon_connection.execute("UPDATE mirrord.halt SET closed_at = now()")
    await rewrite_pages(sides)
    assert mirror.rows()["Home"] == "[[Soup]]\n"


async def test_a_page_that_a_trigger_refuses_keeps_its_links_and_holds_up_no_other(
    mirror: Mirror, admin_dsn: str, connect: Callable[[str], Connection]
) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]] refused\n", Work="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")
    admin = connect(admin_dsn)
    admin.execute(REFUSING_TRIGGER)
    try:
        change(mirror.app, dal, name="Soup")
        await let_links_follow(mirror)
    finally:
        admin.execute("DROP FUNCTION public.refuse_soup CASCADE")

    assert (mirror.rows()["Home"], mirror.rows()["Work"]) == ("[[Dal]] refused\n", "[[Soup]]\n")
    assert (targets_of(mirror, home), pending_count(mirror)) == ([None], 0)


async def test_a_deleted_target_is_no_move(mirror: Mirror) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]]\n")
    delete(mirror.app, mirror.page("Dal").id)
    await let_links_follow(mirror)

    assert mirror.files() == {"Home.md": "[[Dal]]\n"}


@pytest.mark.parametrize(
    "name",
    [
        "a]] [[Home",
        "x | y",
        "# head",
        "C# (50%)",
        "![[x]]",
        "`code`",
        "<script>",
        "--- ---",
        "a\\b",
        "[x](y.md)",
        "$x$",
        "<!-- x",
        "é 日本",
        "%20",
        "'); DROP TABLE page; --",
        "a&amp;b;c",
        "^id",
        "http:x",
        "%%x%%",
        '"q"',
    ],
)
async def test_a_name_that_looks_like_markdown_changes_only_targets(mirror: Mirror, name: str) -> None:
    head = "---\nsee: '[[Dal]]'\nalso: \"[[Dal]]\"\n---\n"
    text = head + "[[Dal|d]] [d](Dal.md) ![[Dal]] | [[Dal]] |\n\n| a |\n| - |\n| [[Dal\\|x]] |\n"
    await _start(mirror, Dal="x\n", Home=text)
    dal, home = mirror.ids("Dal", "Home")

    change(mirror.app, dal, name=name)
    await let_links_follow(mirror)

    kinds = [row[0] for row in mirror.app.execute("SELECT kind FROM mirrord.page_link ORDER BY number").fetchall()]
    assert kinds == ["wikilink", "wikilink", "wikilink", "markdown", "embed", "wikilink", "wikilink"]
    assert targets_of(mirror, home)[3] == dal  # a path can be escaped
    assert _without_targets(mirror.files()["Home.md"]) == _without_targets(text)
    assert set(targets_of(mirror, home)) <= {dal, None}
    assert mirror.page("Home").markdown == mirror.files()["Home.md"]
    assert pending_count(mirror) == 0


def _without_targets(text: str) -> str:
    page = PageText(text)
    for link in reversed(links_of(page)):
        start, end = target_span(text, link)
        text = text[:start] + text[end:]
    return text


@pytest.mark.parametrize("seed", range(3))
async def test_after_any_moves_every_link_means_what_it_meant(mirror: Mirror, seed: int) -> None:
    """Moves and renames of pages and folders, followed at once, later, or several together."""
    chance = random.Random(seed)
    pages = [f"{folder}{name}" for folder in ("", "A/", "A/B/", "C/") for name in ("One", "Two", "Three")]
    forms = ("[[{0}]]", "[[{1}|x]]", "[x]({2}.md)", "![[{1}#h]]", "[x](/{1}.md)")
    texts = {}
    for page in pages:
        others = [chance.choice(pages) for _ in range(6)]
        written = [chance.choice(forms).format(p.rpartition("/")[2], p, "../" * page.count("/") + p) for p in others]
        texts[page] = " ".join(written) + "\n"
    await _start(mirror, **texts)
    before = _meanings(mirror)
    assert any(target for targets in before.values() for target in targets)

    for _ in range(8):
        _move_something(mirror, chance)
        await (derive(mirror) if chance.random() < 0.5 else let_links_follow(mirror))
    await let_links_follow(mirror)

    after = _meanings(mirror)
    changed = {
        page: (old, new)
        for page, targets in before.items()
        for old, new in zip(targets, after[page], strict=True)
        if old is not None and old != new
    }
    assert changed == {}


def _meanings(mirror: Mirror) -> dict[UUID, list[UUID | None]]:
    return {page: targets_of(mirror, page) for page in mirror.versions()}


def _move_something(mirror: Mirror, chance: random.Random) -> None:
    """Rename or move a page or folder in its row; what the rows refuse does not happen."""
    rows = mirror.app.execute("SELECT id, kind FROM mirrord.page WHERE deleted_at IS NULL ORDER BY created_at, id")
    entries = rows.fetchall()
    entry, _ = chance.choice(entries)
    name = chance.choice(["One", "Two", "Other", "A", "Z z"])
    parent = chance.choice([None, *(folder for folder, kind in entries if kind == "folder")])
    columns = chance.choice([{"name": name}, {"parent_id": parent}, {"name": name, "parent_id": parent}])
    with suppress(psycopg.Error):
        change(mirror.app, entry, **columns)


async def test_two_hosts_rewrite_once(
    mirror: Mirror, database: Database, app_connection: Connection, tenant: TenantId, tmp_path: Path
) -> None:
    await _start(mirror, Dal="x\n", Home="[[Dal]]\n")
    dal, home = mirror.ids("Dal", "Home")
    async with opened_mirror(database, app_connection, tmp_path / "other", tenant) as second:
        await let_links_follow(second)
        version = mirror.versions()[home]
        change(mirror.app, dal, name="Soup")
        await derive(mirror)
        await derive(second)
        await rewrite_pages(second.engine.sides)
        await rewrite_pages(mirror.engine.sides)
        await let_links_follow(second)
        await let_links_follow(mirror)

        assert mirror.versions()[home] == version + 1
        assert mirror.files() == second.files() == {"Soup.md": "x\n", "Home.md": "[[Soup]]\n"}
    assert await follow_batch(mirror.engine.sides) == 0
