"""Names of rows: which an app may give, and what holds once mirrord has placed them."""

import pytest
from psycopg import errors

from tests.support.entries import add_page, change, place, row_of
from tests.support.rows import Connection


@pytest.mark.parametrize("name", [".hidden", "assets", "ASSETS", "_index", "_Index", "a\u017fsets"])
def test_an_app_may_not_use_a_name_that_the_tree_keeps_for_itself(app_connection: Connection, name: str) -> None:
    with pytest.raises(errors.CheckViolation, match="reserved"):
        add_page(app_connection, name=name)
    page = add_page(app_connection)
    with pytest.raises(errors.CheckViolation, match="reserved"):
        change(app_connection, page, name=name)


@pytest.mark.parametrize("name", [None, "", "a/b:c?", "x" * 400, "assets.md", "CON", " "])
def test_any_other_name_is_mirrords_to_clean(app_connection: Connection, name: str | None) -> None:
    assert row_of(app_connection, add_page(app_connection, name=name))["name"] == name


def test_a_changed_name_is_not_placed_until_mirrord_has_cleaned_it(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    page = add_page(app_connection, name="Page")
    place(daemon_connection, page, "Page")
    change(app_connection, page, name="Other")
    assert (row_of(app_connection, page)["name_key"], row_of(app_connection, page)["version"]) == (None, 2)


def test_two_siblings_cannot_be_placed_under_equal_names(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    first, other = add_page(app_connection), add_page(app_connection)
    place(daemon_connection, first, "Caf\u00e9")
    with pytest.raises(errors.UniqueViolation, match="page_name_is_free"):
        place(daemon_connection, other, "cafe\u0301".upper())
    place(daemon_connection, other, "Café (2)")


def test_two_siblings_can_swap_their_names_in_one_transaction(
    app_connection: Connection, daemon_connection: Connection
) -> None:
    first, other = add_page(app_connection), add_page(app_connection)
    place(daemon_connection, first, "A")
    place(daemon_connection, other, "B")
    with daemon_connection.transaction():
        daemon_connection.execute("SET CONSTRAINTS ALL DEFERRED")
        place(daemon_connection, first, "B")
        place(daemon_connection, other, "A")
    assert (row_of(app_connection, first)["name"], row_of(app_connection, other)["name"]) == ("B", "A")
