"""Which pages the patterns of a category mean."""

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.place import name_key
from mirrord.research.collections.collection_rules import MAX_PATTERN_CHARACTERS, Globs, fault_in

PAGES = ("A.md", "_index.md", "Note.md", "drafts/B.md", "novels/C.md", "novels/drafts/D.md", "novels/long/_index.md")


def meant(*patterns: str) -> list[str]:
    globs = Globs(patterns)
    return [path for path in PAGES if globs.match(path)]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], PAGES),
        (["**"], PAGES),
        (["*.md"], PAGES),
        (["/*.md"], ("A.md", "_index.md", "Note.md")),
        (["A"], ("A.md",)),
        (["a.MD"], ("A.md",)),
        (["[ab]"], ("A.md", "drafts/B.md")),
        (["[!ab]"], ("novels/C.md", "novels/drafts/D.md")),
        (["?"], ("A.md", "drafts/B.md", "novels/C.md", "novels/drafts/D.md")),
        (["novels/*"], ("novels/C.md", "novels/long/_index.md")),
        (["novels/**"], ("novels/C.md", "novels/drafts/D.md", "novels/long/_index.md")),
        (["novels/long"], ("novels/long/_index.md",)),
        (["drafts/"], ("drafts/B.md", "novels/drafts/D.md")),
        (["/drafts/"], ("drafts/B.md",)),
        (["**/drafts/*"], ("drafts/B.md", "novels/drafts/D.md")),
        (["novels/", "!drafts/"], ("novels/C.md", "novels/long/_index.md")),
        (["!drafts/", "novels/drafts/"], ("A.md", "_index.md", "Note.md", *PAGES[4:])),
        (["!*"], ()),
        (["nothing"], ()),
    ],
)
def test_patterns_mean_these_pages(patterns: list[str], expected: tuple[str, ...]) -> None:
    assert meant(*patterns) == list(expected)


_NAMES = st.text("ab*?[]! .é", min_size=1, max_size=6)
_PATTERNS = st.lists(st.one_of(_NAMES, st.just("**"), st.just("drafts")), min_size=1, max_size=5).map("/".join)


@given(_PATTERNS, st.lists(st.text("abé", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join))
def test_every_pattern_is_understood_and_its_opposite_means_the_other_pages(pattern: str, path: str) -> None:
    pattern = pattern.lstrip("!")
    if fault_in(pattern) is None:
        assert Globs([pattern]).match(path + ".md") is not Globs([f"!{pattern}"]).match(path + ".md")


_PATHS = st.lists(st.one_of(st.text("abé.", min_size=1, max_size=4), st.just("drafts")), min_size=1, max_size=5)


@given(_PATTERNS, _PATHS, st.booleans())
def test_a_pattern_means_what_it_means_name_by_name(pattern: str, names: list[str], is_index: bool) -> None:
    pattern = pattern.lstrip("!")
    path = "/".join(names) + ("/_index.md" if is_index else ".md")
    if fault_in(pattern) is None:
        spellings = [path, path.removesuffix(".md"), *(["/".join(names)] if is_index else [])]
        fits = any(_fits(_parts(pattern), name_key(spelling).split("/")) for spelling in spellings)
        assert Globs([pattern]).match(path) is fits


def _parts(pattern: str) -> list[str]:
    text = pattern if "/" in pattern.rstrip("/") else f"**/{pattern}"
    return [name_key(part) for part in (text + "**" if text.endswith("/") else text).split("/") if part]


def _fits(parts: list[str], names: list[str]) -> bool:
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**":
        return len(parts) == 1 or _fits(parts[1:], names) or _fits(parts, names[1:])
    return fnmatchcase(names[0], parts[0]) and _fits(parts[1:], names[1:])


@given(st.text("abc/", min_size=1, max_size=20).map(lambda text: f"{text.strip('/')}x.md"))
def test_a_path_is_a_pattern_for_itself(path: str) -> None:
    path = "/".join(part for part in path.split("/") if part)
    assert Globs([f"/{path}"]).match(path)
    assert Globs([f"/{path.removesuffix('.md')}"]).match(path.removesuffix(".md") + "/_index.md")


def test_patterns_made_to_be_slow_are_not() -> None:
    begin = time.process_time()
    assert not Globs(["*a" * 99 + "b", "**/" * 60 + "x", "?*" * 90 + "c/d"]).match(
        "a" * 255 + "/" + "a/" * 200 + "y.md"
    )
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize(
    "pattern", ["", " ", "!", "/", "../x", "a/../b", "./a", "a\nb", "a\0", "x" * (MAX_PATTERN_CHARACTERS + 1)]
)
def test_patterns_that_mean_no_page_are_refused(pattern: str) -> None:
    assert fault_in(pattern) is not None
