"""Postgres and Python agree on which names are equal."""

import re
import sys
import unicodedata

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirrord.domain.place import FOLDING, name_key
from tests.support.entries import value
from tests.support.laws import scale_examples
from tests.support.rows import Connection

SURROGATES = range(0xD800, 0xE000)  # no text of Postgres holds one
WITH_CASE = range(1, 0x20000)  # the planes of living and historic scripts; the others have no case
KEYS = "SELECT mirrord.name_key(name) FROM unnest(%s::text[]) WITH ORDINALITY AS n (name, at) ORDER BY at"
NORMAL = "SELECT normalize(name, NFC) FROM unnest(%s::text[]) WITH ORDINALITY AS n (name, at) ORDER BY at"


def letters(codes: range) -> list[str]:
    return [chr(code) for code in codes if code not in SURROGATES]


def asked(connection: Connection, query: str, names: list[str]) -> list[str]:
    return [answer for (answer,) in connection.execute(query.encode(), [names]).fetchall()]


def differing(names: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    return [ascii(name) for name, our, their in zip(names, ours, theirs, strict=True) if our != their]


def test_every_letter_of_a_plane_with_case_has_the_same_key_in_sql(app_connection: Connection) -> None:
    names = letters(WITH_CASE)
    assert differing(names, [name_key(name) for name in names], asked(app_connection, KEYS, names)) == []


def test_every_other_letter_is_only_normalised_and_to_the_same(app_connection: Connection) -> None:
    """Folding is slow in SQL, so here the table is compared instead of a million answers."""
    names = letters(range(WITH_CASE.stop, sys.maxunicode + 1))
    ours = [unicodedata.normalize("NFC", name) for name in names]
    assert differing(names, ours, asked(app_connection, NORMAL, names)) == []
    assert differing(names[::256], ours[::256], asked(app_connection, KEYS, names[::256])) == []


def test_the_table_in_sql_is_that_of_python(app_connection: Connection) -> None:
    source = value(app_connection, "SELECT pg_get_functiondef('mirrord.name_key'::regproc)")
    folded, folding = re.findall(r"'([^']+)'", source)
    assert dict(zip(map(ord, folded), map(ord, folding), strict=True)) == FOLDING


def test_every_decomposed_letter_that_folds_has_the_same_key_in_sql(app_connection: Connection) -> None:
    names = [unicodedata.normalize("NFD", chr(code)) for code in FOLDING]
    assert asked(app_connection, KEYS, names) == [name_key(name) for name in names]


@settings(max_examples=scale_examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cn", "Cs"]).filter(lambda c: c != "\0"))))
def test_whole_names_have_the_same_key_in_sql(app_connection: Connection, names: list[str]) -> None:
    assert asked(app_connection, KEYS, names) == [name_key(name) for name in names]
