"""What an operator may write about the texts of earlier versions, and what that means."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.config import Flags, load
from mirrord.domain.history_rule import DEFAULT_NEWEST, HistoryRule, describe_removal, parse_history
from mirrord.errors import UserError


def test_without_a_word_every_text_is_kept() -> None:
    rules = parse_history({})
    assert rules.of_tenant("demo") == HistoryRule(None, DEFAULT_NEWEST)
    assert rules.of_tenant("demo").describe() == "forever"


def test_a_tenant_may_have_a_time_of_its_own() -> None:
    written = {"keep": "90d", "newest": 3, "tenants": {"research": "forever", "drafts": "1d"}}
    rules = parse_history(written)
    assert rules.of_tenant("demo") == HistoryRule(timedelta(days=90), 3)
    assert rules.of_tenant("research") == HistoryRule(None, 3)
    assert rules.of_tenant("drafts") == HistoryRule(timedelta(days=1), 3)
    assert rules.of_tenant("demo").describe() == "90 days, and the newest 3 of each page"


@given(days=st.integers(1, 99_999), newest=st.integers(1, 1_000_000))
def test_every_number_of_days_and_versions_is_taken_as_it_is_written(days: int, newest: int) -> None:
    rule = parse_history({"keep": f"{days}d", "newest": newest}).of_tenant("demo")
    assert rule == HistoryRule(timedelta(days=days), newest)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"keep": "0d"}, "history.keep is '0d'; write \"forever\", or a number of days"),
        ({"keep": "12h"}, "history.keep is '12h'"),
        ({"keep": "90"}, "history.keep is '90'"),
        ({"keep": "٩d"}, "history.keep"),
        ({"keep": "100000d"}, "history.keep"),
        ({"tenants": {"demo": "never"}}, "history.tenants.demo is 'never'"),
        ({"newest": 0}, "history.newest is 0; write a whole number of versions from 1"),
        ({"newest": True}, "history.newest is True"),
        ({"newest": "3"}, "history.newest is '3'"),
    ],
)
def test_what_is_no_rule_is_said(written: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_history(written)
    assert words in str(caught.value)


def test_the_file_of_an_installation_has_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "mirrord.toml"
    file.write_text('[history]\nkeep = "30d"\n[history.tenants]\nresearch = "forever"\n', encoding="utf-8")
    history = load(Flags(file=file), {}).history
    assert history.of_tenant("demo").age == timedelta(days=30)
    assert history.of_tenant("research").age is None
    file.write_text("[history]\nkept = 30\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"\[history\] has no key 'kept'"):
        load(Flags(file=file), {})


def test_the_sentence_about_a_removed_text_names_version_day_and_setting() -> None:
    sentence = describe_removal(3, datetime(2026, 1, 31, 12, tzinfo=UTC))
    assert sentence.startswith("The text of version 3 was removed on 2026-01-31: `history.keep`")
