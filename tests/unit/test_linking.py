"""What a link means, of pages and attachments that have its key."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.link_meaning import (
    MAX_KEY_CHARACTERS,
    Candidate,
    NameKind,
    Origin,
    key_of,
    names_of_page,
    resolve_link,
    target_key,
)

NOWHERE, MANY = "nothing", "several"


def entry(label: str) -> EntryId:
    return EntryId(uuid.uuid5(uuid.NAMESPACE_OID, label))


def kind_of(label: str) -> Kind:
    if "/assets/" in f"/{label}":
        return Kind.ATTACHMENT
    return Kind.FOLDER if label.endswith("/") else Kind.PAGE


def names(label: str, *others: tuple[NameKind, str]) -> list[Candidate]:
    """`Projects/Alpha` is a page, `Projects/` a directory, `Projects/assets/a.png` an attachment."""
    path = tuple(label.rstrip("/").split("/"))
    kinds_and_names = [(NameKind.NAME, path[-1]), *others]
    return [Candidate(entry(label), kind_of(label), path, sort, name) for sort, name in kinds_and_names]


TREE = {
    "Home": names("Home"),
    "Projects/": names("Projects/"),
    "Projects/Projects": names("Projects/Projects"),
    "Projects/Alpha": names("Projects/Alpha", (NameKind.TITLE, "The first"), (NameKind.ALIAS, "A/B")),
    "Projects/Notes": names("Projects/Notes"),
    "Projects/Deep/Notes": names("Projects/Deep/Notes"),
    "Archive/Notes": names("Archive/Notes"),
    "Archive/": names("Archive/"),
    "Archive/alpha": names("Archive/alpha", (NameKind.TITLE, "Old"), (NameKind.ALIAS, "Home")),
    "One/Same": names("One/Same", (NameKind.TITLE, "Twin")),
    "Two/Same": names("Two/Same", (NameKind.TITLE, "Twin")),
    "Two/Café": names("Two/Café"),
    "Two/v1.md": names("Two/v1.md"),
    "Projects/assets/map.png": names("Projects/assets/map.png"),
    "Two/assets/2024/map.png": names("Two/assets/2024/map.png"),
    "Two/map.png": names("Two/map.png"),
}


def meant(kind: str, target: str, page: str) -> str:
    """The label of what a link on *page* means, found as Postgres finds it: by key."""
    origin = Origin(entry(page), tuple(page.split("/")[:-1]))
    key = target_key(kind, target, origin)
    candidates = [candidate for group in TREE.values() for candidate in group if key_of(candidate.name) == key]
    meaning = resolve_link(kind, target, origin, candidates)
    if meaning.entry is None:
        return MANY if meaning.ambiguous else NOWHERE
    return next(label for label in TREE if entry(label) == meaning.entry)


@pytest.mark.parametrize(
    ("target", "page", "expected"),
    [
        ("Home", "Projects/Alpha", "Home"),
        ("home.md", "Projects/Alpha", "Home"),
        (" Home ", "Two/Same", "Home"),
        ("Alpha", "Two/Same", "Projects/Alpha"),  # the same spelling beats a nearer one in another case
        ("alpha", "Projects/Notes", "Archive/alpha"),
        ("ALPHA", "Archive/Notes", "Archive/alpha"),  # neither is spelt so: the nearer one
        ("Notes", "Projects/Alpha", "Projects/Notes"),
        ("Notes", "Projects/Deep/x", "Projects/Deep/Notes"),
        ("Notes", "Archive/alpha", "Archive/Notes"),
        ("Notes", "Two/Same", MANY),
        ("Deep/Notes", "Archive/alpha", "Projects/Deep/Notes"),
        ("Projects/Notes", "Archive/alpha", "Projects/Notes"),
        ("projects/deep/NOTES.md", "Home", "Projects/Deep/Notes"),
        ("/Archive/Notes", "Projects/Alpha", "Archive/Notes"),
        ("/Notes", "Projects/Alpha", NOWHERE),
        ("./Notes", "Archive/alpha", "Archive/Notes"),
        ("../Archive/Notes", "Projects/Alpha", "Archive/Notes"),
        ("../../Notes", "Projects/Alpha", NOWHERE),
        ("Same", "One/x", "One/Same"),
        ("Same", "Home", MANY),
        ("Twin", "Two/x", "Two/Same"),
        ("twin", "Home", MANY),
        ("the first", "Home", "Projects/Alpha"),
        ("A/B", "Home", "Projects/Alpha"),
        ("B", "Home", NOWHERE),
        ("old", "Home", "Archive/alpha"),
        ("Cafe\u0301", "Home", "Two/Café"),
        ("CAFÉ", "Home", "Two/Café"),
        ("v1.md", "Home", "Two/v1.md"),
        ("v1.md.md", "Home", "Two/v1.md"),
        ("Projects", "Home", "Projects/Projects"),
        ("Archive", "Home", "Archive/"),
        ("Archive/_index", "Home", "Archive/"),
        ("map.png", "Projects/Alpha", "Two/map.png"),
        ("Nobody", "Home", NOWHERE),
        ("", "Home", "Home"),
        ("..", "Home", NOWHERE),
        ("/", "Home", NOWHERE),
        (".md", "Home", NOWHERE),
    ],
)
def test_a_wikilink_means(target: str, page: str, expected: str) -> None:
    assert meant("wikilink", target, page) == expected


@pytest.mark.parametrize(
    ("target", "page", "expected"),
    [
        ("map.png", "Projects/Alpha", "Projects/assets/map.png"),
        ("2024/map.png", "Projects/Alpha", "Two/assets/2024/map.png"),
        ("Alpha", "Home", "Projects/Alpha"),
    ],
)
def test_an_embed_means_a_file_first(target: str, page: str, expected: str) -> None:
    assert meant("embed", target, page) == expected


@pytest.mark.parametrize(
    ("kind", "target", "page", "expected"),
    [
        ("markdown", "Alpha.md", "Projects/Notes", "Projects/Alpha"),
        ("markdown", "Alpha", "Projects/Notes", "Projects/Alpha"),
        ("markdown", "alpha.md", "Projects/Notes", "Projects/Alpha"),
        ("markdown", "../Archive/Notes.md", "Projects/Alpha", "Archive/Notes"),
        ("markdown", "./Deep/../Notes.md", "Projects/Alpha", "Projects/Notes"),
        ("markdown", "Projects/Alpha.md", "Archive/Notes", "Projects/Alpha"),  # from the root, where nothing is nearer
        ("markdown", "/Home.md", "Archive/Notes", "Home"),
        ("markdown", "Notes.md", "Home", NOWHERE),  # a path, not the end of one
        ("markdown", "The first", "Home", NOWHERE),
        ("markdown", "../../Home.md", "Projects/Alpha", NOWHERE),
        ("markdown", "Projects/", "Home", "Projects/Projects"),
        ("markdown", "Archive/", "Home", "Archive/"),
        ("markdown", "..", "Archive/Deep/x", "Archive/"),
        ("markdown", "Archive/_index.md", "Home", "Archive/"),
        ("markdown", "assets/map.png", "Projects/Alpha", "Projects/assets/map.png"),
        ("markdown", "v1.md.md", "Two/x", "Two/v1.md"),
        ("markdown", "", "Home", "Home"),
        ("image", "assets/map.png", "Projects/Alpha", "Projects/assets/map.png"),
        ("image", "../Two/assets/2024/map.png", "Projects/Alpha", "Two/assets/2024/map.png"),
        ("image", "map.png", "Projects/Alpha", NOWHERE),
    ],
)
def test_a_markdown_link_means(kind: str, target: str, page: str, expected: str) -> None:
    assert meant(kind, target, page) == expected


@pytest.mark.parametrize(
    ("aliases", "expected"),
    [
        (None, []),
        (" One ", ["One"]),
        (["One", "", 3, "Page", "One", ["x"], "Two"], ["One", "Two"]),
        ({"a": "b"}, []),
    ],
)
def test_a_page_is_called_by_its_file_its_title_and_its_aliases(aliases: object, expected: list[str]) -> None:
    assert names_of_page("Page", "Title", aliases) == [
        (NameKind.NAME, "Page"),
        (NameKind.TITLE, "Title"),
        *((NameKind.ALIAS, alias) for alias in expected),
    ]


def test_a_title_that_is_the_name_is_not_said_twice() -> None:
    assert names_of_page("Page", "Page", ["Page"]) == [(NameKind.NAME, "Page")]
    assert names_of_page("Page", None, None) == [(NameKind.NAME, "Page")]


def test_a_key_fits_into_an_index() -> None:
    assert len(key_of("x" * 9999)) == MAX_KEY_CHARACTERS


@given(
    st.sampled_from(["wikilink", "embed", "markdown", "image"]),
    st.text(st.sampled_from("aB./# é"), max_size=12),
    st.sampled_from(sorted(TREE)),
)
def test_whatever_is_found_shares_the_key_of_the_link(kind: str, target: str, page: str) -> None:
    """Else the candidates found by key would not hold it."""
    origin = Origin(entry(page), tuple(page.split("/")[:-1]))
    everything = [candidate for group in TREE.values() for candidate in group]
    meaning = resolve_link(kind, target, origin, everything)
    if meaning.entry is not None and meaning.entry != origin.entry:
        key = target_key(kind, target, origin)
        assert key in {key_of(candidate.name) for candidate in everything if candidate.entry == meaning.entry}
