"""Changes of front matter that are not read back: whatever stands around them, a reader of YAML finds what was set."""

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from mirrord.markdown.frontmatter.page_properties import Json, Removed, is_same_json, read_values, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.frontmatter.plain_changes import is_surely_read_back
from mirrord.markdown.frontmatter.yaml_reader import REMOVED
from tests.support.laws import scale_examples
from tests.unit.codec.test_frontmatter import RAW

PIECES = [
    *RAW.values(),
    *("k: v\n", "k: v # c\n", "k:  v\n", "k: !!str 5\n", "k: &a v\n", "k: a\n  b\n", "k:\n", "k: 'a'\n", "k: |\n  a\n"),
    *(
        "? k\n: v\n",
        "{k: v}\n",
        "{\nk: v,\nb: c\n}\n",
        "...\n",
        "--- x\n",
        "%YAML 1.2\n",
        "# a\n",
        "\n",
        "- a\n",
        "k\n",
    ),
    *(
        " k: v\n",
        "k: v\n",
        "k: a\x85b\n",
        "k: a\u2028\n",
        "k: a\u2028...\n",
        "new: [a,\nb: c]\n",
        "k: >+\n a\n\n",
        "tags:\n- a\n",
        "k: a\r\n",
    ),
    *("a: 'b\n", "c'\n", 'd: "e\n', "k: x\tc\n", "k : v\n", "k: v\n  # c\n", "k: 0x1\n", "<<: a\n", "k: *a\n"),
]
WORDS = [
    "v",
    "two words",
    "2024",
    "true",
    "yes",
    "nothing",
    "x-1",
    "01a21e67-5a00-78ea-baf4-11cb6511c225",
    "a: b",
    "",
    "é",
]
VALUES: st.SearchStrategy[Json] = st.sampled_from(WORDS) | st.integers(-(2**54), 2**54) | st.booleans() | st.none()
CHANGES = st.dictionaries(
    st.sampled_from(["k", "title", "new", "a b", "no", "tags", "plain", "id"]), VALUES, min_size=1
)


@given(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), CHANGES)
@example("k: v\n", {"k": "w"})
@example("# a\nk: v\n...\n", {"new": 1})
@example("{\nk: v,\nb: c\n}\n", {"k": "w"})
@example("k: a\u2028...\n", {"new": "w"})
@settings(max_examples=scale_examples(400), suppress_health_check=[HealthCheck.filter_too_much])
def test_a_change_that_is_not_read_back_would_be_read_as_it_was_meant(source: str, changes: dict[str, Json]) -> None:
    page = PageText(f"---\n{source}---\nbody\n")
    assume(page.views.error is None)
    values = read_values(page)
    changed = {key: value for key, value in changes.items() if not is_same_json(values.get(key, REMOVED), value)}
    assume(changed and is_surely_read_back(page, changed))

    result = PageText(with_keys(page, changed).text)

    assert is_same_json(read_values(result), {**values, **changed})
    assert (result.bom, result.body) == (page.bom, page.body)


@pytest.mark.parametrize(
    ("source", "changes", "answer"),
    [
        ("title: A\ntags: [x]\n", {"status": "final", "round": 3, "done": True}, True),
        ("title: A\nstatus: draft # why\n", {"status": "final"}, True),
        ("title: A\nstatus: 'draft'\n", {"status": "final"}, False),
        ("title: A\nstatus: draft\n  or not\n", {"status": "final"}, False),
        ("title: A\n", {"tags": ["x"]}, False),
        ("title: A\n", {"title": REMOVED}, False),
        ("title: A\n", {"status": "yes"}, False),
        ("title: A\n", {"round": 2**53 + 1}, False),
        ("title: A\n", {"id": "x"}, False),
        ("# why\ntitle: A\n", {"status": "final"}, False),
        ("", {"status": "final"}, False),
        (f"title: {'A' * 2_000}\n", {"status": "final"}, False),
        ("title: A\n", {"status": "word " * 100 + "word"}, False),
    ],
)
def test_only_short_plain_values_on_lines_of_their_own_are_not_read_back(
    source: str, changes: dict[str, Json | Removed], answer: bool
) -> None:
    assert is_surely_read_back(PageText(f"---\n{source}---\n"), changes) is answer


def test_front_matter_of_other_languages_is_read_back() -> None:
    for head in ("+++\ntitle = 'A'\n+++\n", '{\n"title": "A"\n}\n'):
        assert not is_surely_read_back(PageText(head), {"status": "final"})
