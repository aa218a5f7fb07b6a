"""Postgres and Python agree on which names are equal."""

import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirrord.domain.folding import FOLDING
from mirrord.domain.place import name_key
from tests.system.rows import Connection

SURROGATES = range(0xD800, 0xE000)  # no text of Postgres holds one
KEYS = "SELECT mirrord.name_key(name) FROM unnest(%s::text[]) WITH ORDINALITY AS n (name, at) ORDER BY at"


def keys_in_sql(connection: Connection, names: list[str]) -> list[str]:
    return [key for (key,) in connection.execute(KEYS, [names]).fetchall()]


def test_every_letter_has_the_same_key_in_sql(app_connection: Connection) -> None:
    letters = [chr(code) for code in range(1, sys.maxunicode + 1) if code not in SURROGATES]
    differing = [
        f"{ord(letter):X}"
        for letter, key in zip(letters, keys_in_sql(app_connection, letters), strict=True)
        if key != name_key(letter)
    ]
    assert differing == []


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_every_letter_that_folds_has_the_key_of_its_folding(app_connection: Connection, form: str) -> None:
    letters = [unicodedata.normalize(form, chr(code)) for code in FOLDING]
    assert keys_in_sql(app_connection, letters) == [name_key(letter) for letter in letters]


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cn", "Cs"]).filter(lambda c: c != "\0"))))
def test_whole_names_have_the_same_key_in_sql(app_connection: Connection, names: list[str]) -> None:
    assert keys_in_sql(app_connection, names) == [name_key(name) for name in names]
