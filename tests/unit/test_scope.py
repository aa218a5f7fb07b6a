"""Which paths a scope lets its holder read and write."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.place import name_key
from mirrord.domain.scope import (
    MAX_PATTERN_CHARACTERS,
    MAX_PATTERNS,
    UNLIMITED,
    PathPattern,
    Scope,
    check_reachable,
    is_name_like,
    parse_pattern,
    parse_scope,
    place_of,
    scope_of_claims,
)
from mirrord.errors import UserError

NAMES = ("a", "b", "ab", "aba", "A", "caf\u00e9", "cafe\u0301", "x.md", "a.md", "_index.md", "assets", "p.png")
SEGMENTS = ("a", "b", "*", "**", "a*", "*b", "a?a", "*.md", "A", "caf\u00e9", "_index.md", "?")

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5).map("/".join)
texts = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=4).map("/".join)
patterns = st.lists(texts.map(parse_pattern), max_size=3).map(tuple)
scopes = st.builds(Scope, patterns, patterns, patterns)


def scope_with(write: str = "", read: str = "", deny: str = "") -> Scope:
    return parse_scope(write.split(), read.split(), deny.split())


def fits_by_definition(segments: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """The meaning of a pattern, without regard to the time it takes."""
    if not segments:
        return not names
    if segments[0] == "**":
        return any(fits_by_definition(segments[1:], names[count:]) for count in range(len(names) + 1))
    return bool(names) and fits_name(segments[0], names[0]) and fits_by_definition(segments[1:], names[1:])


def fits_name(segment: str, name: str) -> bool:
    if not segment:
        return not name
    if segment[0] == "*":
        return any(fits_name(segment[1:], name[count:]) for count in range(len(name) + 1))
    return name != "" and segment[0] in ("?", name[0]) and fits_name(segment[1:], name[1:])


@pytest.mark.parametrize(
    ("pattern", "path", "is_permitted"),
    [
        ("Inbox/**", "Inbox/A.md", True),
        ("Inbox/**", "Inbox/a/b/C.md", True),
        ("Inbox/**", "Inbox/assets/p.png", True),
        ("Inbox/**", "Inbox", True),
        ("Inbox/**", "Inbox.md", True),
        ("Inbox/**", "Inbox/_index.md", True),
        ("Inbox/**", "inbox/A.md", True),
        ("Inbox/**", "Old/Inbox/A.md", False),
        ("Inbox/**", "Inbox2/A.md", False),
        ("Inbox", "Inbox/a/B.md", True),
        ("Inbox/", "Inbox/a/B.md", True),
        ("Inbox/A.md", "Inbox/A.md", True),
        ("Inbox/A.md", "Inbox/A/B.md", True),
        ("Inbox/A", "Inbox/A/_index.md", True),
        ("Inbox/A", "Inbox/AB.md", False),
        ("Inbox/*", "Inbox/A.md", True),
        ("Inbox/*", "Inbox/A/_index.md", True),
        ("Inbox/*", "Inbox/a/B.md", False),
        ("Inbox/*", "Inbox.md", False),
        ("**/A.md", "A.md", True),
        ("a/**/b.md", "a/b.md", True),
        ("a/**/b.md", "a/x/y/b.md", True),
        ("*.md", "A.md", True),
        ("*.md", "A/_index.md", True),
        ("*.md", "a/A.md", False),
        ("*.md", "p.png", False),
        ("**/*.md", "a/b/C.md", True),
        ("**/*.md", "a/b/c.png", False),
        ("202?/**", "2026/A.md", True),
        ("202?/**", "20260/A.md", False),
        ("[a].md", "a.md", False),
        ("caf\u00e9/**", "cafe\u0301/A.md", True),
    ],
)
def test_a_pattern_permits_what_it_means(pattern: str, path: str, is_permitted: bool) -> None:
    assert scope_with(read=pattern).can_read(path) is is_permitted
    assert scope_with(write=pattern).can_write(path) is is_permitted


@pytest.mark.parametrize(
    "path",
    [
        *("Private", "Private.md", "Private/_index.md", "Private/A.md", "private/A.md", "PRIVATE/x/B.md"),
        *("Private/assets/p.png", "private.MD", "Private.md/A.md"),
    ],
)
@pytest.mark.parametrize("pattern", ["Private", "Private/**", "private.md", "Priv*", "**/private", "?rivate/"])
def test_a_denial_means_all_spellings_and_all_below(pattern: str, path: str) -> None:
    scope = scope_with(write="**", deny=pattern)
    assert not scope.can_read(path)
    assert not scope.can_write(path)
    assert scope.can_write("Public.md")


@pytest.mark.parametrize(
    ("pattern", "denial"),
    [
        ("Private/**", "Private"),
        ("Private/**", "**"),
        ("Private/Plans/*.md", "private/**"),
        ("Private/Plans", "Priv*"),
        ("a/*/c", "a/*"),
        ("a/**", "a"),
        ("**/a", "**/*"),
        ("Inbox", "INBOX.md"),
    ],
)
def test_a_pattern_that_a_denial_takes_back_wholly_is_refused(pattern: str, denial: str) -> None:
    for scope in (scope_with(write=pattern, deny=denial), scope_with(read=f"Other {pattern}", deny=f"None {denial}")):
        with pytest.raises(UserError, match="would permit nothing"):
            check_reachable(scope)


@pytest.mark.parametrize(
    ("pattern", "denial"),
    [("Private/**", "Private/*"), ("**", "Private"), ("a*", "ab"), ("**/a", "b/a"), ("a", "a/b"), ("?", "a")],
)
def test_a_pattern_that_permits_a_part_is_none_to_refuse(pattern: str, denial: str) -> None:
    check_reachable(scope_with(write=pattern, deny=denial))


def test_without_permissions_all_that_is_not_denied_is_permitted() -> None:
    assert UNLIMITED.is_unlimited
    assert UNLIMITED.can_write("a/b.md")
    assert scope_with(deny="Private/**").can_write("a/b.md")
    assert not scope_with(deny="Private/**").is_unlimited


def test_with_permissions_nothing_else_is_seen() -> None:
    scope = scope_with(write="Inbox/**", read="Projects/Deep/*")
    assert scope.can_read("Projects/Deep/A.md")
    assert not scope.can_write("Projects/Deep/A.md")
    assert scope.can_read("Inbox/A.md")
    assert not scope.can_read("Other.md")
    assert not scope.can_read("Projects")
    assert scope.may_contain("Projects")
    assert not scope.may_contain_writable("Projects")
    assert not scope.may_contain("Other")
    assert not scope_with(read="Projects/**").can_write("Projects/A.md")


def test_the_root_is_read_as_what_may_be_seen_in_it_and_never_written() -> None:
    for scope in (UNLIMITED, scope_with(read="a"), scope_with(deny="**")):
        assert scope.can_read("")
        assert not scope.can_write("")
    assert not scope_with(deny="**").can_read("a.md")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("..", "no names"),
        ("a/../b", "no names"),
        ("./a", "no names"),
        ("/a", "root already"),
        ("/", "root already"),
        ("a\\b", "backslash"),
        ("a//b", "empty name"),
        ("a**/b", "stands alone"),
        ("a/***", "stands alone"),
        ("a\0", "control"),
        ("a\n", "control"),
        ("\udcff", "control"),
        ("a" * (MAX_PATTERN_CHARACTERS + 1), "more than"),
    ],
)
def test_a_text_that_is_no_pattern_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        parse_pattern(text)


def test_a_scope_has_a_limited_number_of_patterns() -> None:
    with pytest.raises(UserError, match="at most"):
        parse_scope(deny=[f"a{number}" for number in range(MAX_PATTERNS + 1)])


def test_a_scope_is_described_by_its_patterns() -> None:
    scope = scope_with(write="Inbox/**", read="a b", deny="Private")
    assert str(scope) == "write Inbox/**, read a b, deny Private"
    assert str(UNLIMITED) == "all paths"


def test_claims_of_a_newer_version_are_refused() -> None:
    with pytest.raises(UserError, match="not known"):
        scope_of_claims({"deny": ["a"], "audit": ["b"]})


def test_many_stars_are_matched_in_short_time() -> None:
    scope = scope_with(read="/".join(["**", "*a" * 50 + "*c"] * 2))
    assert not scope.can_read("/".join(["a" * 250] * 10))


@given(texts, paths)
def test_matching_follows_the_definition(text: str, path: str) -> None:
    pattern = parse_pattern(text)
    is_page = name_key(path).endswith(".md")
    is_meant = fits_by_definition(pattern.segments, place_of(path)) and (is_page or not pattern.is_of_pages)
    assert scope_with(read=text).can_read(path) is is_meant


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_names_are_compared_by_the_definition(segment: str, name: str) -> None:
    assert is_name_like(segment, name) is fits_name(segment, name)


@given(scopes)
def test_a_scope_is_its_claims(scope: Scope) -> None:
    assert scope_of_claims(scope.to_claims()).to_claims() == {
        kind: list(dict.fromkeys(patterns)) for kind, patterns in scope.to_claims().items()
    }


@given(scopes, paths)
def test_what_may_be_written_may_be_read(scope: Scope, path: str) -> None:
    assert not scope.can_write(path) or scope.can_read(path)


@given(scopes, paths, paths)
def test_nothing_below_a_denied_path_is_seen(scope: Scope, above: str, below: str) -> None:
    denied = Scope(scope.write, scope.read, (*scope.deny, PathPattern(above)))
    assert not denied.can_read(f"{above}/{below}")
    assert not denied.may_contain(above)


@given(scopes, texts.map(parse_pattern), paths)
def test_another_denial_reveals_nothing(scope: Scope, pattern: PathPattern, path: str) -> None:
    denied = Scope(scope.write, scope.read, (*scope.deny, pattern))
    assert scope.can_read(path) or not denied.can_read(path)
    assert scope.can_write(path) or not denied.can_write(path)
    assert scope.may_contain(path) or not denied.may_contain(path)


@given(texts.map(parse_pattern), texts.map(parse_pattern), paths)
def test_what_a_pattern_covers_all_of_is_covered_place_by_place(
    denial: PathPattern, pattern: PathPattern, path: str
) -> None:
    assert not denial.covers_all_of(pattern) or not pattern.permits(path) or denial.covers(path)


@given(scopes, paths)
def test_a_directory_above_what_is_seen_may_contain_it(scope: Scope, path: str) -> None:
    directories = ["", *("/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1))]
    assert not scope.can_read(path) or all(map(scope.may_contain, directories))
    assert not scope.can_write(path) or all(map(scope.may_contain_writable, directories))


@given(scopes, st.just("") | paths, paths)
def test_below_a_directory_that_is_seen_as_a_whole_everything_is_seen(scope: Scope, above: str, below: str) -> None:
    assert not scope.reads_all(above) or scope.can_read(f"{above}/{below}".lstrip("/"))
    assert not scope.owns(above) or scope.reads_all(above)


@given(scopes, paths)
def test_a_page_and_its_folder_are_denied_together(scope: Scope, path: str) -> None:
    denials = Scope(deny=scope.deny)
    bare = path.removesuffix("/_index.md").removesuffix(".md")
    forms = (bare, f"{bare}.md", f"{bare}/_index.md")
    assert len({denials.can_read(form) for form in forms}) == 1


@given(scopes, paths)
def test_spellings_that_read_as_equal_are_the_same(scope: Scope, path: str) -> None:
    spellings = [unicodedata.normalize(form, path) for form in ("NFD", "NFC")] + [path.upper(), path.lower()]
    assert len({scope.can_read(spelling) for spelling in spellings}) == 1
    assert len({scope.can_write(spelling) for spelling in spellings}) == 1
