"""Rules of what agents write: the longest pattern that fits counts, and of several files the strictest."""

import pytest

from mirrord.domain.write_rules import WriteMode, WriteRules, parse_write_rules
from mirrord.errors import UserError

RULES = parse_write_rules(
    {
        "write": "review",
        "folders": {"Inbox/**": "act", "Inbox/Closed/**": "review", "*.md": "act"},
        "move_page": "SUGGEST",
    }
)


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("Inbox/a.md", "act"),
        ("Inbox/deep/er/a.md", "act"),
        ("Inbox/Closed/a.md", "review"),
        ("Inbox.md", "act"),
        ("Projects/a.md", "review"),
        ("Inbox/_index.md", "act"),
        ("inbox/a.md", "act"),
        ("Inbox/closed.md", "review"),
        ("INBOX/CLOSED/_index.md", "review"),
        ("Inbox/Closed door.md", "act"),
    ],
)
def test_the_longest_pattern_that_fits_counts(path: str, mode: str) -> None:
    assert RULES.mode_of(path) == mode


def test_the_strictest_of_several_files_counts() -> None:
    assert not RULES.reviews(["Inbox/a.md", ".mirrord/drafts/x"])
    assert RULES.reviews(["Inbox/a.md", "Projects/a.md"])
    assert RULES.reviews([])


def test_a_reviewed_token_may_write_at_once_only_where_a_pattern_says_so() -> None:
    assert WriteRules().reviewing_all().mode_of("a.md") is WriteMode.REVIEW
    assert not WriteRules().may_review
    assert not parse_write_rules({"folders": {"A/**": "act"}}).reviewing_all().reviews(["A/x.md"])


@pytest.mark.parametrize(
    "written",
    [{"write": "suggest"}, {"folders": {"../x": "act"}}, {"folders": {"/x": "act"}}, {"folders": {"a**/b": "act"}}],
)
def test_what_is_no_mode_and_no_pattern_is_refused(written: dict[str, object]) -> None:
    with pytest.raises(UserError):
        parse_write_rules(written)
