"""mirrord.search() finds pages by words, phrases, tags, paths and dates, of one tenant only."""

import random
from collections.abc import Callable, Sequence
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from mirrord.db.database import Database, app_dsn, daemon_dsn
from mirrord.domain.entry import TenantId
from mirrord.web.rows.search_rows import load_recent
from tests.support.entries import add_folder, add_page, change, delete, place, value
from tests.support.laws import scale_examples
from tests.support.rows import Connection
from tests.support.searches import make_searchable, titles_of

PAGES = {
    "Sourdough": "# Sourdough\n\nMix **flour** and water. Feed the starter.\n",
    "Bread at home": "# Bread at home\n\n## Sourdough starter\n\nIt needs rye.\n",
    "Diary": "# Diary\n\nToday I baked a sourdough bread from flour.\n",
    "Crêpes": "# Crêpes\n\nEggs, milk, 1/2 cup of flour and a pinch of salt.\n",
    "Lentil soup": "# Lentil soup\n\nBoil red lentils, then add two tomatoes.\n",
    "Lentil salad": "# Lentil salad\n\nLentils, red onions and/or chives.\n",
    "Kepler's laws": "# Kepler's laws\n\nPlanets move in ellipses: see `orbit_of(planet)`.\n",
    "Αστρονομία": "# Αστρονομία\n\nΟ ήλιος και οι πλανήτες.\n",
    "日記": "# 日記\n\n今日は日本語の検索を試した。\n",
    "Straße": "# Straße\n\nEin ÆTHER fließt über die ŁÓDŹ.\n",
    "Большой дом": "# Большой дом\n\nВ доме тихо.\n",
}


@pytest.fixture
def app(app_connection: Connection, daemon_connection: Connection, tenant: TenantId) -> Connection:
    """An app's connection to a tenant with PAGES."""
    for title, markdown in PAGES.items():
        add_page(app_connection, title=title, markdown=markdown)
    make_searchable(daemon_connection, tenant)
    return app_connection


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("flour sourdough", {"Sourdough", "Diary"}),
        ("SOURDOUGH", {"Sourdough", "Bread at home", "Diary"}),
        ("sourd", {"Sourdough", "Bread at home", "Diary"}),
        ("urdough", set()),
        ("crepes", {"Crêpes"}),
        ("CRÊPES", {"Crêpes"}),
        ("cre\u0302pes", {"Crêpes"}),
        ('"red lentils"', {"Lentil soup"}),
        ('"lentils red"', {"Lentil salad"}),
        ("red lentils", {"Lentil soup", "Lentil salad"}),
        ("lentils -onions", {"Lentil soup"}),
        ("lentil -title:salad", {"Lentil soup"}),
        ("title:lentil", {"Lentil soup", "Lentil salad"}),
        ("title:flour", set()),
        ("kepler", {"Kepler's laws"}),
        ("kepler's laws", {"Kepler's laws"}),
        ("orbit_of", {"Kepler's laws"}),
        ("or chives", {"Lentil salad"}),
        ("1/2", {"Crêpes"}),
        ("αστρονομια", {"Αστρονομία"}),
        ("ΗΛΙΟΣ", {"Αστρονομία"}),
        ("検索", {"日記"}),
        ("日本語", {"日記"}),
        ("索検", set()),
        ("strasse", {"Straße"}),
        ("aether lodz", {"Straße"}),
        ("большой", {"Большой дом"}),
        ("ДОМЕ", {"Большой дом"}),
    ],
)
def test_a_query_finds_pages_by_their_words(app: Connection, query: str, titles: set[str]) -> None:
    assert set(titles_of(app, query)) == titles


@pytest.mark.parametrize("query", ["", "   ", '""', "-", "#", "tag:", "...", "after:never"])
def test_a_query_without_words_finds_nothing(app: Connection, query: str) -> None:
    assert titles_of(app, query) == []


def test_pages_with_the_words_in_titles_come_before_those_in_headings_and_texts(app: Connection) -> None:
    assert titles_of(app, "sourdough") == ["Sourdough", "Bread at home", "Diary"]


def test_a_title_that_is_the_query_comes_first(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    for title in ("Bread", "Bread and butter", "About bread"):
        add_page(app, title=title, markdown="text\n")
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "bread")[:2] == ["Bread", "Bread and butter"]


@pytest.mark.parametrize(
    ("query", "title", "near_words"),
    [
        ("tomatos", "Lentil soup", ["tomatoes"]),
        ("keplers", "Kepler's laws", ["kepler"]),
        ("sourduogh", "Sourdough", ["sourdough"]),
        ("лентил дом", None, None),
        ("болшой", "Большой дом", ["большои"]),  # as it is compared
    ],
)
def test_a_misspelt_word_finds_the_words_like_it(
    app: Connection, query: str, title: str | None, near_words: Sequence[str] | None
) -> None:
    row = app.execute("SELECT title, near FROM mirrord.search(%s)", [query]).fetchone()
    assert row == ((title, near_words) if title else None)


def test_a_word_that_occurs_has_no_words_like_it(app: Connection) -> None:
    assert value(app, "SELECT near FROM mirrord.search('lentils')") is None
    assert titles_of(app, "lentils tomatos") == ["Lentil soup"]
    assert titles_of(app, '"red tomatos"') == []  # a phrase is meant as it is


def test_tags_are_found_with_those_below_them(app: Connection, daemon_connection: Connection, tenant: TenantId) -> None:
    tagged = {"Plan": ["garden", "2026"], "Roses": ["Garden/Flowers"], "Gardening": ["work"]}
    for title, tags in tagged.items():
        add_page(app, title=title, frontmatter=Jsonb({"tags": tags}))
    add_page(app, title="One text", frontmatter=Jsonb({"tags": "garden, home"}))
    make_searchable(daemon_connection, tenant)
    assert set(titles_of(app, "tag:garden")) == {"Plan", "Roses", "One text"}
    assert set(titles_of(app, "#garden")) == {"Plan", "Roses", "One text"}
    assert titles_of(app, "#garden/flowers") == ["Roses"]
    assert titles_of(app, "#garden -#home -tag:garden/flowers") == ["Plan"]
    assert titles_of(app, "tag:2026 plan") == ["Plan"]
    assert titles_of(app, "#gard") == []


def _add_placed(app: Connection, daemon: Connection, name: str, parent: UUID | None, *, kind: str = "page") -> UUID:
    add = add_page if kind == "page" else add_folder
    page = add(app, title=name, parent_id=parent, **({"markdown": "a note\n"} if kind == "page" else {"name": name}))
    place(daemon, page, name)
    return page


def test_paths_are_found_by_their_ends(app: Connection, daemon_connection: Connection, tenant: TenantId) -> None:
    kitchen = _add_placed(app, daemon_connection, "Kitchen", None, kind="folder")
    recipes = _add_placed(app, daemon_connection, "Recipes", kitchen, kind="folder")
    other = _add_placed(app, daemon_connection, "Recipes", None, kind="folder")
    _add_placed(app, daemon_connection, "Dal", recipes)
    _add_placed(app, daemon_connection, "Pie", other)
    make_searchable(daemon_connection, tenant)
    assert set(titles_of(app, "path:recipes note")) == {"Dal", "Pie"}
    assert titles_of(app, "path:kitchen/recipes note") == ["Dal"]
    assert titles_of(app, "path:/recipes note") == ["Pie"]
    assert titles_of(app, 'note path:"/Kitchen"') == ["Dal"]
    assert titles_of(app, "path:kit note") == ["Dal"]
    assert titles_of(app, "note -path:kitchen") == ["Pie"]
    assert titles_of(app, "path:cellar note") == []
    change(app, recipes, parent_id=None, name="Recipes 2")
    assert titles_of(app, "path:kitchen note") == []  # at once: paths are not in the index


def test_dates_are_those_that_pages_state(app: Connection, daemon_connection: Connection, tenant: TenantId) -> None:
    for title, updated in {"Old": "2019-04-01", "Newer": "2024-02-29", "Wrong": "2024-02-30"}.items():
        add_page(app, title=title, frontmatter=Jsonb({"updated": updated, "tags": ["dated"]}))
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "#dated before:2020") == ["Old"]
    assert titles_of(app, "#dated before:2024-02-29") == ["Old"]
    assert titles_of(app, "#dated after:2024-02-29 before:2024-03") == ["Newer"]
    assert set(titles_of(app, "#dated after:2024")) == {"Newer", "Wrong"}
    assert titles_of(app, "#dated -after:2024") == ["Old"]
    assert set(titles_of(app, "#dated after:2024-13-01")) == {"Old", "Newer", "Wrong"}  # not a date yet


def test_results_come_in_parts(app: Connection) -> None:
    everything = titles_of(app, "after:1970", most=100)
    assert len(everything) == len(PAGES)
    assert titles_of(app, "after:1970", most=3, skip=2) == everything[2:5]
    assert value(app, "SELECT matches FROM mirrord.search('after:1970', 1)") == len(PAGES)


def test_titles_are_found_by_parts_of_words_too(app: Connection) -> None:
    assert titles_of(app, "ent sou", in_titles=True) == []
    assert set(titles_of(app, "lentil s", in_titles=True)) == {"Lentil soup", "Lentil salad"}
    assert titles_of(app, "s le", in_titles=True) == titles_of(app, "lentil s", in_titles=True)
    assert titles_of(app, "epler", in_titles=True) == ["Kepler's laws"]
    assert titles_of(app, "flour", in_titles=True) == []
    assert set(titles_of(app, "lentl", in_titles=True)) == {"Lentil soup", "Lentil salad"}


def test_aliases_are_names(app: Connection, daemon_connection: Connection, tenant: TenantId) -> None:
    add_page(app, title="Sol", frontmatter=Jsonb({"aliases": ["The Sun", 3, ""]}))
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "sun", in_titles=True) == ["Sol"]
    assert titles_of(app, "the sun") == ["Sol"]


def test_a_deleted_page_is_not_found_even_before_it_is_indexed_again(app: Connection) -> None:
    page = UUID(str(value(app, "SELECT page_id FROM mirrord.search('crepes')")))
    delete(app, page)
    assert titles_of(app, "crepes") == []
    change(app, page, deleted_at=None)
    assert titles_of(app, "crepes") == ["Crêpes"]


def test_a_change_of_names_is_indexed_when_links_follow(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    page = UUID(str(value(app, "SELECT page_id FROM mirrord.search('crepes')")))
    daemon_connection.execute("UPDATE mirrord.page SET content = '{}', ahead = '{}' WHERE id = %s", [page])
    daemon_connection.execute(
        "INSERT INTO mirrord.link_cursor (tenant_id, seq, entry_id) VALUES (%s, 0, gen_random_uuid())", [tenant]
    )
    change(app, page, title="Galettes", name="Galettes")
    assert titles_of(app, "title:galettes") == []
    daemon_connection.execute("UPDATE mirrord.link_cursor SET seq = 1")
    assert titles_of(app, "title:galettes") == ["Galettes"]
    assert value(daemon_connection, "SELECT count(*) FROM mirrord.search_due") == 0


def test_a_text_is_indexed_with_its_document(app: Connection, daemon_connection: Connection) -> None:
    page = add_page(app, title="Fresh", markdown="zebrafish\n")
    assert titles_of(app, "zebrafish") == []
    daemon_connection.execute(
        """UPDATE mirrord.page SET content = '{"type": "doc"}', ahead = '{}' WHERE id = %s""", [page]
    )
    assert titles_of(app, "zebrafish") == ["Fresh"]


def test_a_text_beside_many_others_is_indexed_when_links_follow(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    page = add_page(app, title="Fresh", markdown="zebrafish\n")
    daemon_connection.execute(
        "INSERT INTO mirrord.link_cursor (tenant_id, seq, entry_id) VALUES (%s, 0, gen_random_uuid())", [tenant]
    )
    with daemon_connection.transaction():
        daemon_connection.execute("SET LOCAL mirrord.words = 'later'")
        daemon_connection.execute(
            """UPDATE mirrord.page SET content = '{"type": "doc"}', ahead = '{}' WHERE id = %s""", [page]
        )
    assert titles_of(app, "zebrafish") == []
    daemon_connection.execute("UPDATE mirrord.link_cursor SET seq = 1")
    assert titles_of(app, "zebrafish") == ["Fresh"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("“Crêpes” — naïve…", "crepes naive"),
        ("ŁÓDŹ & Straße", "lodz strasse"),
        ("한국어", "한국어"),
        ("か\u3099き", "が き"),
        ("क़लम हिन्दी", "क\u093cलम हिन्दी"),
        ("ὈΔΥΣΣΕΎΣ", "οδυσσευσ"),
        ("日本語", "日 本 語"),
        ("e.g. a/b-c@d", "e g a b c d"),
        ("½ ﬁne Ⅷ ²x", "1 2 fine viii 2x"),
    ],
)
def test_texts_are_compared_without_accents_signs_and_capitals(
    daemon_connection: Connection, text: str, words: str
) -> None:
    assert str(value(daemon_connection, "SELECT mirrord.search_text(%s)", text)).split() == words.split()


def test_a_page_that_an_app_has_locked_stays_due_and_delays_none(
    app: Connection,
    daemon_connection: Connection,
    tenant: TenantId,
    connect: Callable[[str], Connection],
    admin_dsn: str,
) -> None:
    page = UUID(str(value(app, "SELECT page_id FROM mirrord.search('crepes')")))
    other = connect(app_dsn(admin_dsn, tenant))
    value(daemon_connection, "SELECT mirrord.rebuild_search()")
    with other.transaction():
        other.execute("SELECT FROM mirrord.page WHERE id = %s FOR UPDATE", [page])
        daemon_connection.execute("SELECT mirrord.index_due_pages(%s)", [tenant])
        due = daemon_connection.execute("SELECT page_id FROM mirrord.search_due").fetchall()
    assert due == [(page,)]


def test_more_words_than_an_index_holds_leave_the_page_found_by_the_first(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    letters = random.Random(1)
    words = [f"w{letters.getrandbits(80):x}" for _ in range(80_000)]
    add_page(app, title="Data", markdown=f"beginning {' '.join(words)} ending\n")
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "beginning") == ["Data"]
    assert titles_of(app, words[10_000]) == ["Data"]


def test_pictures_within_a_text_are_no_words(app: Connection, daemon_connection: Connection, tenant: TenantId) -> None:
    add_page(app, title="Picture", markdown="![a](data:image/png;base64,QUJD/abcdef+ghij==) after it\n")
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "ghij") == []
    assert titles_of(app, "after it picture") == ["Picture"]


# Another tenant -------------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(admin_dsn: str, other_tenant: TenantId, connect: Callable[[str], Connection]) -> Connection:
    """An app of another tenant, which has a page of its own."""
    connection, daemon = connect(app_dsn(admin_dsn, other_tenant)), connect(daemon_dsn(admin_dsn))
    daemon.execute(f"SET mirrord.tenant = '{other_tenant}'".encode())
    add_page(connection, title="Stranger", markdown="only one lantern\n")
    make_searchable(daemon, other_tenant)
    return connection


@pytest.mark.parametrize(
    "query",
    ["sourdough", "title:lentil", "tomatos", "after:1970 crepes", "lantern -sourdough -stranger", '"red lentils"'],
)
def test_words_of_another_tenant_are_neither_found_nor_suggested(
    app: Connection, stranger: Connection, query: str
) -> None:
    assert titles_of(app, query.partition(" -")[0]) or "lantern" in query
    assert titles_of(stranger, query) == []
    assert titles_of(stranger, query, in_titles=True) == []


def test_counts_and_ranks_do_not_depend_on_another_tenant(
    app: Connection, stranger: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    query = "SELECT title, rank, near, matches FROM mirrord.search('lantern lanterm')"
    before = stranger.execute(query).fetchall()
    for number in range(20):
        add_page(app, title=f"Lantern {number}", markdown="lantern lanterm\n")
    make_searchable(daemon_connection, tenant)
    assert stranger.execute(query).fetchall() == before


def test_a_word_like_the_key_of_another_tenant_finds_nothing_of_it(
    app: Connection, stranger: Connection, tenant: TenantId
) -> None:
    key = str(tenant).replace("-", "")
    for query in (key, f"={key}", f'"={key}"', f"tag:={key}", f"-x after:1970 #={key}", f"lantern | '={key}'"):
        assert set(titles_of(stranger, query)) <= {"Stranger"}
    assert value(stranger, "SELECT count(*) FROM mirrord.page_search") == 1
    assert value(stranger, "SELECT count(*) FROM mirrord.matching_pages('after:1970', false, NULL)") == 1
    assert value(stranger, "SELECT count(*) FROM mirrord.pages_named_like('e', NULL)") == 0
    assert value(stranger, "SELECT count(*) FROM mirrord.pages_named_like('er', NULL)") == 1


def test_an_app_writes_neither_the_index_nor_what_is_due(app: Connection, tenant: TenantId) -> None:
    for statement in (
        "DELETE FROM mirrord.page_search",
        "UPDATE mirrord.page_search SET words = ''",
        "INSERT INTO mirrord.search_due VALUES (mirrord.current_tenant(), gen_random_uuid())",
        "SELECT mirrord.rebuild_search()",
        "SELECT mirrord.index_page(mirrord.current_tenant(), gen_random_uuid())",
        "SELECT mirrord.index_due_pages(mirrord.current_tenant())",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(statement.encode())


def test_a_search_without_a_tenant_is_an_error(admin_dsn: str, connect: Callable[[str], Connection]) -> None:
    connection = connect(daemon_dsn(admin_dsn))
    connection.execute("SET mirrord.tenant = ''")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT * FROM mirrord.search('x')")


ATTACKS = (
    "' OR '1'='1", "'; DROP TABLE mirrord.page; --", "%", "_", "\\", "'\\''", ":*", "a:*b", "!!x", "a & | b", "<->",
    "((((", "$1", "{0}", "tag:'", "path:%", "path:///", "path:\\", "title:'", "after:'", "\x01", "a" * 5_000, "-" * 500,
    "tag:a/b/c/../../", '"' * 99, "\U0001f35e", "\u202e", "é" * 900,
)  # fmt: skip


@pytest.mark.parametrize("query", ATTACKS)
def test_a_query_is_words_whatever_it_looks_like(app: Connection, query: str) -> None:
    titles_of(app, query)
    titles_of(app, query, in_titles=True)
    assert value(app, "SELECT count(*) FROM mirrord.page") == len(PAGES)


@settings(max_examples=scale_examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80))
def test_every_text_is_a_query(app: Connection, query: str) -> None:
    titles_of(app, query)


@settings(max_examples=scale_examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.from_regex(r"[^\W\d_]{1,12}", fullmatch=True), min_size=1, max_size=4))
def test_a_page_is_found_by_each_of_its_words(
    app: Connection, daemon_connection: Connection, tenant: TenantId, words: list[str]
) -> None:
    page = add_page(app, title="Words", markdown=f"{' '.join(words)}\n")
    daemon_connection.execute("SELECT mirrord.index_page(%s, %s)", [tenant, page])
    for word in words:
        if value(app, "SELECT count(*) FROM mirrord.search_terms(%s)", word):
            assert page in {
                row[0] for row in app.execute("SELECT page_id FROM mirrord.search(%s, 100)", [word]).fetchall()
            }


async def test_pages_that_wait_to_be_indexed_are_among_those_changed_last(
    app: Connection, daemon_connection: Connection, database: Database, tenant: TenantId
) -> None:
    newest = app.execute("SELECT title FROM mirrord.page ORDER BY updated_at DESC, id LIMIT 3").fetchall()
    daemon_connection.execute("DELETE FROM mirrord.page_search")
    async with database.transaction(tenant) as connection:
        recent = await load_recent(connection, 3)

    assert [page.title for page in recent] == [title for (title,) in newest]
