"""Questions of agents: filters over front matter, tags and times, ranking, misspelt words, facets, links, budgets."""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirrord.commands.core.answer_budget import ANSWER_BYTES, AnswerPart
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages import find_command
from mirrord.commands.pages.find_command import PagesFound, find_pages
from mirrord.commands.pages.page_filters import read_filter
from mirrord.commands.pages.search_command import SearchResults, search_pages
from tests.support.laws import scale_examples
from tests.unit.commands.conftest import page


def paths(answer: PagesFound) -> list[str]:
    return [page.path for page in answer.pages]


def hits(answer: SearchResults) -> list[str]:
    return [hit.path for hit in answer.results]


def found_where(session: Session, where: Mapping[str, object]) -> list[str]:
    return paths(find_pages(session, read_filter(where=where)))


@pytest.fixture
def mixed(root: Path) -> Path:
    """One key in many types."""
    for name, value in {
        "number": "3",
        "float": "2.5",
        "text": "Draft",
        "list": "[draft, 7]",
        "date": "2026-05-01",
        "time": "2026-05-01T10:00:00Z",
        "flag": "true",
        "map": "{a: {b: deep}}",
        "empty": "",
        "quoted": '"3"',
    }.items():
        page(root, f"{name}.md", f"---\nkey: {value}\n---\n\ntext\n")
    page(root, "bare.md", "text\n")
    page(root, "broken.md", "---\nkey: [\n---\n\ntext\n")
    return root


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("draft", ["list", "text"]),
        (3, ["number"]),
        (True, ["flag"]),
        (None, ["bare", "broken", "empty"]),
        ({"not": "draft"}, ["bare", "broken", "date", "empty", "flag", "float", "map", "number", "quoted", "time"]),
        ({"in": [3, "draft", True]}, ["flag", "list", "number", "text"]),
        ({"contains": "raf"}, ["text"]),
        ({"contains": 7}, ["list"]),
        ({"exists": True}, ["date", "flag", "float", "list", "map", "number", "quoted", "text", "time"]),
        ({"exists": False}, ["bare", "broken", "empty"]),
        ({"gt": 2.5}, ["list", "number"]),
        ({"gte": 2.5, "lt": 7}, ["float", "number"]),
        ("2026-05-01", ["date", "time"]),
        ({"gte": "2026-05-01", "lte": "2026-05-01"}, ["date", "time"]),
        ({"lt": "2026-05-01T09:00:00Z"}, []),
        ({"gt": "2026-05-01T09:00:00Z"}, ["time"]),
        ({"gt": "2026-04-30"}, ["date", "time"]),
        ({"gte": "c", "lt": "e"}, ["list", "text"]),
    ],
)
def test_a_condition_on_a_key_with_mixed_types_matches_its_own_type_only(
    session: Session, mixed: Path, condition: object, expected: list[str]
) -> None:
    assert found_where(session, {"key": condition}) == [f"{name}.md" for name in expected]


def test_conditions_lead_into_mappings_and_must_all_be_met(session: Session, mixed: Path) -> None:
    page(mixed, "both.md", "---\nkey: draft\nowner: Ann\n---\n")
    page(mixed, "spelt.md", '---\n"k\\u0065y": draft\nowner: Bo\n---\n')

    assert found_where(session, {"key.a.b": "DEEP"}) == ["map.md"]
    assert found_where(session, {"key": "draft", "owner": "ann"}) == ["both.md"]
    assert found_where(session, {"key": "draft", "owner": {"exists": True}}) == ["both.md", "spelt.md"]


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"a": {"like": 1}}, "has no 'like'; there are equals, not, in"),
        ({"a": {}}, "is empty"),
        ({"a": {"exists": "yes"}}, "needs true or false"),
        ({"a": {"gt": None}}, "needs a number, a date or a text"),
        ({"a": {"gt": True}}, "needs a number, a date or a text"),
        ({"a": {"in": "b"}}, "needs a list"),
        ({"a": ["b"]}, "needs a text, a number"),
        ({str(number): number for number in range(21)}, "more than 20 conditions"),
    ],
)
def test_a_condition_that_is_none_is_explained(where: Mapping[str, object], sentence: str) -> None:
    with pytest.raises(Failed, match=sentence) as failure:
        read_filter(where=where)
    assert failure.value.code == "INVALID_WHERE"
    assert "Give where by key" in failure.value.instruction


def test_a_key_that_no_page_has_is_named_with_the_nearest(session: Session, root: Path) -> None:
    page(root, "a.md", "---\nstatus: draft\n---\n\nword\n")

    answer = find_pages(session, read_filter(where={"statsu": "draft"}))

    assert (paths(answer), answer.total, answer.note) == ([], 0, "No page has the key 'statsu'; there is status.")
    assert search_pages(session, "word", page_filter=read_filter(where={"statsu": 1})).note == answer.note
    assert find_pages(session, read_filter(where={"status": "done"})).note is None


def test_a_tag_is_found_in_any_case_with_the_tags_below_it(session: Session, root: Path) -> None:
    page(root, "a.md", "---\ntags: [Work]\n---\n")
    page(root, "b.md", "---\ntags: work/plan\n---\n")
    page(root, "c.md", "---\ntags: [workshop]\n---\n")

    assert paths(find_pages(session, read_filter("#WORK"))) == ["a.md", "b.md"]
    with pytest.raises(Failed, match="tag is empty"):
        read_filter("# ")


def test_pages_are_found_by_the_time_of_their_change_the_newest_first(session: Session, root: Path) -> None:
    now = datetime.now().astimezone()
    for days, name in enumerate(("new", "older", "oldest")):
        file = page(root, f"{name}.md", "text\n")
        moment = (now - timedelta(days=10 * days, hours=1)).timestamp()
        os.utime(file, (moment, moment))
    stated_day = (now - timedelta(days=15)).date().isoformat()
    page(root, "said.md", f"---\nupdated: {stated_day}\ncreated: 2020-02-02\n---\n")
    page(root, "future.md", "---\nupdated: 2999-01-01\n---\n")

    answer = find_pages(session, read_filter(modified_after="16 days ago"))

    assert paths(answer) == ["future.md", "new.md", "older.md", "said.md"]
    assert (answer.pages[-1].modified, answer.pages[-1].created) == (stated_day, "2020-02-02")
    assert datetime.fromisoformat(answer.pages[1].modified) < now
    assert paths(find_pages(session, read_filter(modified_before="12 days ago"))) == ["said.md", "oldest.md"]
    assert paths(find_pages(session, read_filter(modified_after="30 days ago", modified_before=stated_day))) == [
        "oldest.md"
    ]
    assert hits(search_pages(session, "text", page_filter=read_filter(modified_before="2 weeks ago"))) == ["oldest.md"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2999-01-01", "is in the future; it is 20"),
        ("soon", "'soon' is no time"),
        ("2026-13-01", "is no time"),
        ("20260101", "is no time"),
        ("", "'' is no time"),
        ("99999 years ago", "is no time"),
    ],
)
def test_a_time_that_is_none_or_in_the_future_is_explained(text: str, sentence: str) -> None:
    for arguments in ((text, None), (None, text)):
        with pytest.raises(Failed, match=sentence) as failure:
            read_filter(None, None, *arguments)
        assert failure.value.code == "INVALID_TIME"
        assert "2 hours ago" in failure.value.instruction


def test_results_are_ranked_by_title_heading_tag_and_text(session: Session, root: Path) -> None:
    page(root, "a.md", "about whales and orcas\n")
    page(root, "b.md", "---\ntags: [whales]\n---\n\norcas\n")
    page(root, "c.md", "# Intro\n\n## On whales\n\norcas\n")
    page(root, "d.md", "---\ntitle: Whales\n---\n\norcas\n")
    page(root, "e.md", "---\ntitle: Orcas and whales\n---\n")
    page(root, "f.md", "# Orcas, whales\n")
    page(root, "g.md", "```\n# whales\n```\n\norcas\n")

    expected = ["e.md", "d.md", "f.md", "c.md", "b.md", "a.md", "g.md"]
    assert hits(search_pages(session, "whales orcas")) == expected
    for limit in (1, 2, 3):
        found_hits, cursor = list[str](), None
        while cursor is not None or not found_hits:
            answer = search_pages(session, "whales orcas", part=AnswerPart(limit=limit, cursor=cursor))
            found_hits, cursor = found_hits + hits(answer), answer.next_cursor
        assert found_hits == expected


def test_results_go_on_where_the_last_page_lost_its_rank(session: Session, root: Path) -> None:
    for name in ("a", "b", "c"):
        page(root, f"{name}.md", "# Whales\n")
    cursor = search_pages(session, "whales", part=AnswerPart(limit=2)).next_cursor

    (root / "b.md").write_text("whales, no longer a heading\n")

    assert hits(search_pages(session, "whales", part=AnswerPart(cursor=cursor))) == ["c.md", "b.md"]


def test_misspelt_words_are_taken_for_near_ones_only_when_nothing_fits(session: Session, root: Path) -> None:
    page(root, "a.md", "a zebrafish and a lake\n")
    page(root, "b.md", "zebrafishes\n")
    page(root, "c.md", "# Architecture\n\nlake\n")

    for query in ("zebrafsh", "zebrafissh", "zbrafish", "zerbafish", "ZEBRAFISK lake"):
        answer = search_pages(session, query)
        assert hits(answer) == ["a.md"]
        assert answer.note == f'No page has "{query.split()[0]}": these have "zebrafish".'
    assert search_pages(session, "zebrafish").note is None
    assert hits(search_pages(session, "Architectrue lake")) == ["c.md"]
    assert hits(search_pages(session, "zebrafsh", case_sensitive=True)) == []


def test_a_search_without_results_says_why(session: Session, root: Path) -> None:
    page(root, "a.md", "one apple\n")
    page(root, "b.md", "one pear\n")

    assert search_pages(session, "apple pear").note == (
        "Each word occurs, but no page has all of them: search for fewer words."
    )
    assert search_pages(session, "apple qqqqq").note == 'No page has "qqqqq", or a word like it.'
    assert search_pages(session, "qx").note == 'No page has "qx".'


def test_a_search_in_some_pages_does_not_say_that_no_page_has_a_word(session: Session, root: Path) -> None:
    page(root, "a.md", "one apple\n")
    page(root, "Folder/b.md", "---\nstatus: open\n---\none pear\n")

    for limits in (read_filter(where={"status": "open"}), read_filter(path="Folder")):
        answer = search_pages(session, "apple", limits)
        assert hits(answer) == []
        assert answer.note is not None
        assert answer.note.endswith("Only pages that fit path, tag, where and times were searched.")


def test_misspelt_words_go_on_with_the_cursor(session: Session, root: Path) -> None:
    for number in range(5):
        page(root, f"p{number}.md", "zebrafish\n")

    first = search_pages(session, "zebrafsh", part=AnswerPart(limit=2))
    second = search_pages(session, "zebrafsh", part=AnswerPart(limit=10, cursor=first.next_cursor))

    assert hits(first) + hits(second) == [f"p{number}.md" for number in range(5)]
    assert first.note == second.note


def test_filters_and_words_meet(session: Session, root: Path) -> None:
    page(root, "a.md", "---\nstatus: draft\ntags: [x]\n---\n\nword\n")
    page(root, "b.md", "---\nstatus: done\n---\n\nword\n")
    page(root, "sub/c.md", "---\nstatus: draft\n---\n\nword\n")
    draft = read_filter(where={"status": "draft"})

    assert hits(search_pages(session, "word", page_filter=draft)) == ["a.md", "sub/c.md"]
    assert hits(search_pages(session, "word", replace(draft, path="sub"))) == ["sub/c.md"]
    assert hits(search_pages(session, "w.rd", regex=True, page_filter=draft)) == ["a.md", "sub/c.md"]
    assert hits(search_pages(session, "word", page_filter=read_filter("x", {"status": "draft"}))) == ["a.md"]
    cursor = search_pages(session, "word", page_filter=draft, part=AnswerPart(limit=1)).next_cursor
    with pytest.raises(Failed, match="cursor does not belong"):
        search_pages(session, "word", part=AnswerPart(cursor=cursor))


def test_facets_count_all_matching_pages(session: Session, root: Path) -> None:
    for number in range(30):
        text = (
            f"---\nstatus: {'draft' if number % 3 else 'done'}\ntags: [t{number % 2}]\nnumber: {number}\n---\n\nword\n"
        )
        page(root, f"{'sub/' if number < 10 else ''}p{number:02}.md", text)
    page(root, "other.md", "other\n")

    answer = search_pages(session, "word", part=AnswerPart(limit=3, facets=True))

    assert (len(answer.results), answer.total) == (3, 30)
    assert answer.facets is not None
    assert answer.facets.tags == {"t0": 15, "t1": 15}
    assert answer.facets.folders == {"": 20, "sub": 10}
    assert answer.facets.keys["status"].values == {"draft": 20, "done": 10}
    assert (answer.facets.keys["number"].pages, answer.facets.keys["number"].values) == (30, {})
    again = search_pages(session, "word", part=AnswerPart(limit=30, cursor=answer.next_cursor, facets=True))
    assert (len(again.results), again.facets) == (27, None)
    listed = find_pages(session, read_filter(), part=AnswerPart(facets=True))
    assert (listed.total, listed.facets and listed.facets.folders) == (31, {"": 21, "sub": 10})


def test_find_goes_on_with_the_cursor(session: Session, root: Path) -> None:
    names = [f"a rather long folder/a rather long name of a page {number:03}.md" for number in range(120)]
    for name in names:
        page(root, name, "text\n")

    found_paths, cursor, answers = list[str](), None, 0
    while cursor is not None or not answers:
        answer = find_pages(session, read_filter(path="a rather long folder"), part=AnswerPart(cursor=cursor))
        found_paths, cursor, answers = found_paths + paths(answer), answer.next_cursor, answers + 1

    assert found_paths == names
    assert 120 * 150 / ANSWER_BYTES < answers < 120 * 300 / ANSWER_BYTES
    assert len(find_pages(session, read_filter(), part=AnswerPart(limit=100)).pages) == 100
    for limit in (0, 101):
        with pytest.raises(Failed, match="limit is a number"):
            find_pages(session, read_filter(), part=AnswerPart(limit=limit))


@pytest.fixture
def linked(root: Path) -> Path:
    page(root, "a.md", "[[b]] [[nowhere]] ![[picture.png]] [x](missing/file.md) [web](https://example.org)\n")
    page(root, "b.md", "`[[code]]` and [[twin]], [[#part]]\n")
    page(root, "x/twin.md", "[[x/twin]] itself\n")
    page(root, "y/twin.md", "[a](../a.md)\n")
    page(root, "in code.md", "`[[orphan]]`\n")
    page(root, "orphan.md", "text\n")
    return root


def test_pages_that_nobody_links_to_are_found(session: Session, linked: Path) -> None:
    assert paths(find_pages(session, read_filter(), links="orphan")) == [
        *("in code.md", "orphan.md", "x/twin.md", "y/twin.md")
    ]
    page(linked, "new.md", "[[orphan]]\n")
    assert "orphan.md" not in paths(find_pages(session, read_filter(), links="orphan"))


def test_broken_and_ambiguous_links_are_found_with_their_targets(session: Session, linked: Path) -> None:
    broken = find_pages(session, read_filter(), links="broken")
    ambiguous = find_pages(session, read_filter(), links="ambiguous")

    assert [(page.path, page.targets) for page in broken.pages] == [
        ("a.md", ("nowhere", "picture.png", "missing/file.md"))
    ]
    assert [(page.path, page.targets) for page in ambiguous.pages] == [("b.md", ("twin",))]
    assert broken.total == 1
    page(linked, "nowhere.md", "")
    assert find_pages(session, read_filter(), links="broken").pages[0].targets == ("picture.png", "missing/file.md")
    with pytest.raises(Failed, match="Links have no facets"):
        find_pages(session, read_filter(), links="broken", part=AnswerPart(facets=True))


def test_a_long_look_at_links_goes_on_with_the_cursor(
    session: Session, linked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = paths(find_pages(session, read_filter(), links="orphan"))
    monkeypatch.setattr(find_command, "MAX_LINK_SECONDS", -1.0)

    found_paths, cursor, answers = list[str](), None, 0
    while cursor is not None or not answers:
        answer = find_pages(session, read_filter(), links="orphan", part=AnswerPart(cursor=cursor))
        found_paths, cursor, answers = found_paths + paths(answer), answer.next_cursor, answers + 1
        assert (answer.note is None) == (cursor is None)

    assert (found_paths, answers) == (expected, 6)
    monkeypatch.undo()
    first = find_pages(session, read_filter(), links="orphan", part=AnswerPart(limit=3))
    assert (
        paths(first)
        + paths(find_pages(session, read_filter(), links="orphan", part=AnswerPart(cursor=first.next_cursor)))
        == expected
    )


_WORDS = st.lists(st.sampled_from(["apple", "pear", "plum"]), max_size=3).map(" ".join)
_PAGES = st.lists(
    st.fixed_dictionaries({"title": _WORDS, "heading": _WORDS, "tag": _WORDS, "text": _WORDS}), max_size=7
)


@settings(max_examples=scale_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_PAGES, st.lists(st.sampled_from(["apple", "pear", "plum"]), min_size=1, max_size=3, unique=True))
def test_the_order_is_that_of_a_plain_count_of_words(
    session: Session, root: Path, pages: list[dict[str, str]], words: list[str]
) -> None:
    for file in root.glob("*.md"):
        file.unlink()
    for number, parts in enumerate(pages):
        front = f"---\ntitle: {parts['title'] or 'none'}\ntags: [{parts['tag'].replace(' ', ', ')}]\n---\n"
        page(root, f"p{number}.md", f"{front}\n# {parts['heading'] or 'none'}\n\n{parts['text']}\n")

    def rank(number: int) -> tuple[int, ...]:
        title, heading, tag = (
            {word for word in words if word in pages[number][part]} for part in ("title", "heading", "tag")
        )
        return (-len(title), -len(heading), -len(title | tag), number)

    fitting = [number for number, parts in enumerate(pages) if all(word in " ".join(parts.values()) for word in words)]
    answer = search_pages(session, " ".join(words), part=AnswerPart(limit=100))

    assert hits(answer) == [f"p{number}.md" for number in sorted(fitting, key=rank)]
