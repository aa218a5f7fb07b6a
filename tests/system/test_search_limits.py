"""Whatever an app writes is indexed, and whatever it asks is answered soon."""

import random
from contextlib import suppress

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.domain.entry import TenantId
from tests.support.entries import add_folder, add_page, place, value
from tests.support.rows import Connection
from tests.support.searches import make_searchable, titles_of


@pytest.fixture
def app(app_connection: Connection, daemon_connection: Connection) -> Connection:
    """An app's connection. Statements end after half a minute, as those that never end."""
    for connection in (app_connection, daemon_connection):
        connection.execute("SET statement_timeout = '30s'")
    return app_connection


def _write_words(count: int) -> str:
    letters = random.Random(count)
    return " ".join(f"w{letters.getrandbits(80):x}" for _ in range(count))


@pytest.mark.parametrize("frontmatter", [3, "text", True, None, ["a", "b"], []])
def test_front_matter_that_is_no_object_is_indexed_without_it(
    app: Connection, daemon_connection: Connection, tenant: TenantId, frontmatter: object
) -> None:
    add_page(app, title="Odd", markdown="quokka\n", frontmatter=Jsonb(frontmatter))
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "quokka") == ["Odd"]


@pytest.mark.parametrize("markdown", ["quokka\n", f"quokka {_write_words(60_000)}\n"])
@pytest.mark.parametrize(
    "frontmatter",
    [
        {"x": _write_words(100_000)},
        {"tags": [_write_words(100_000)]},
        {"tags": [f"{number}/{'/'.join('ab' * 160)}" for number in range(3_000)]},
        {"tags": " ".join(f"{number}/{'/'.join('ab' * 160)}" for number in range(3_000))},
        {"aliases": [_write_words(500 + number) for number in range(200)]},
    ],
    ids=["texts", "tag", "tags", "tags in one text", "aliases"],
)
def test_front_matter_with_more_words_than_an_index_holds_leaves_the_page_found(
    app: Connection, daemon_connection: Connection, tenant: TenantId, frontmatter: dict[str, object], markdown: str
) -> None:
    add_page(app, title="Large", markdown=markdown, frontmatter=Jsonb(frontmatter))
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "quokka") == ["Large"]
    assert titles_of(app, "title:large") == ["Large"]


@pytest.mark.parametrize("size", [1_000, 100_000])
def test_a_title_or_heading_with_many_words_leaves_the_page_found(
    app: Connection, daemon_connection: Connection, tenant: TenantId, size: int
) -> None:
    words = _write_words(size)
    add_page(app, title=f"Large {words}", markdown="quokka\n")
    add_page(app, title="Headed", markdown=f"quokka\n\n# {words}\n")
    add_page(app, title="Scripts", markdown="quokka\n", frontmatter=Jsonb({"x": "\ufdfa" * 100_000}))
    make_searchable(daemon_connection, tenant)
    assert set(titles_of(app, "title:large")) == {f"Large {words}"}
    assert {title.partition(" ")[0] for title in titles_of(app, "quokka")} == {"Large", "Headed", "Scripts"}


def test_nested_front_matter_leaves_the_page_found(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    page = add_page(app, title="Nested", markdown="quokka\n")
    for depth in range(30_000, 1_000, -1_000):  # the deepest that Postgres takes in
        with suppress(psycopg.errors.StatementTooComplex):
            nested = '{"x": ' * depth + '"deep"' + "}" * depth
            app.execute("UPDATE mirrord.page SET frontmatter = %s::jsonb WHERE id = %s", [nested, page])
            break
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "quokka") == ["Nested"]


def test_the_tags_above_a_tag_that_is_too_long_are_found(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    add_page(app, title="Deep", frontmatter=Jsonb({"tags": ["top/" + "/".join("ж" * 190 for _ in range(9)), "other"]}))
    make_searchable(daemon_connection, tenant)
    assert titles_of(app, "tag:top") == titles_of(app, "tag:other") == ["Deep"]
    lexemes = "SELECT max(octet_length(lexeme)) FROM mirrord.page_search, unnest(tsvector_to_array(words)) AS lexeme"
    assert 500 < int(str(value(app, lexemes))) <= 1_000


def test_pages_below_many_excluded_paths_are_not_found(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    folders = [add_folder(app, title=f"Area {number}", name=f"Area {number}") for number in range(3)]
    app.execute(
        "INSERT INTO mirrord.page (title, markdown, parent_id)"
        " SELECT 'Page ' || n, 'quokka', (%s::uuid[])[1 + n %% 3] FROM generate_series(1, 900) AS n",
        [folders],
    )
    for number, folder in enumerate(folders):
        place(daemon_connection, folder, f"Area {number}")
    make_searchable(daemon_connection, tenant)
    app.execute("SET statement_timeout = '2s'")
    titles = titles_of(app, "quokka" + ' -path:"area 1"' * 9 + ' -path:"area 2"' * 9, most=100)
    assert len(titles) == 100
    assert {int(title.removeprefix("Page ")) % 3 for title in titles} == {0}


def test_a_phrase_of_common_words_is_ranked_soon(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    words = [f"w{number}" for number in range(40)]
    for number in range(40):
        add_page(app, title=f"Page {number}", markdown=" ".join(words * 250))
    make_searchable(daemon_connection, tenant)
    app.execute("SET statement_timeout = '5s'")
    assert len(titles_of(app, f'"{" ".join(words)}"', most=100)) == 40


def test_signs_of_patterns_stand_for_themselves_in_parts_of_names(
    app: Connection, daemon_connection: Connection, tenant: TenantId
) -> None:
    for title in ("Rate 5%x", "Rate 5 or x", "a_b_c", "aXb c", "back\\slash"):
        add_page(app, title=title)
    make_searchable(daemon_connection, tenant)

    def parts(letters: str) -> list[tuple[object, ...]]:
        return app.execute(
            "SELECT title FROM mirrord.pages_named_like(%s, NULL) AS l JOIN mirrord.page AS p ON p.id = l.page_id",
            [letters],
        ).fetchall()

    assert parts("5%x") == [("Rate 5%x",)]
    assert parts("a_b") == [("a_b_c",)]
    assert parts("k\\s") == [("back\\slash",)]
    assert parts("%%") == parts("__") == []
