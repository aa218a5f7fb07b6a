"""After a move every link means what it meant, and no byte changed but in the targets of links."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.link_meaning import Names, Site, candidates_of, group_by_key, site_of, wikilink_path
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_updates import RelinkedPage, relink_page
from mirrord.markdown.page_links import links_of, target_span
from tests.unit.codec.documents import fragments

Tree = Mapping[str, tuple[str | None, tuple[str, ...]]]  # path of a file -> title, aliases

TREE: Tree = {
    "Home.md": (None, ()),
    "Projects/_index.md": ("All projects", ()),
    "Projects/Alpha.md": ("The first", ("A1",)),
    "Projects/Beta.md": (None, ()),
    "Projects/assets/map.png": (None, ()),
    "Archive/Alpha.md": (None, ()),
    "Archive/My Notes.md": (None, ()),
    "Archive/assets/old.png": (None, ()),
    "Work/Deep/Gamma.md": (None, ()),
}


def entry(path: str) -> EntryId:
    """Of the file that is at *path* before anything moves."""
    return EntryId(uuid.uuid5(uuid.NAMESPACE_OID, path))


def names(tree: Tree, moves: Mapping[str, str]) -> Names:
    """The tree once *moves*, old path -> new, are done."""
    named, files = [], {}
    for path, (title, aliases) in tree.items():
        new_path = moves.get(path, path)
        kind = Kind.ATTACHMENT if "/assets/" in new_path else Kind.PAGE
        named += candidates_of(entry(path), kind, new_path, title, aliases)
        files[entry(path)] = new_path
    return Names(group_by_key(named), files)


def sites(page: str, moves: Mapping[str, str], tree: Tree = TREE) -> tuple[Site, Site]:
    """*page* before and after."""
    before, after = names(tree, {}), names(tree, moves)
    return site_of(entry(page), page, before), site_of(entry(page), moves.get(page, page), after)


def moved(text: str, page: str, **moves: str) -> str:
    return relink_page(PageText(text), *sites(page, moves)).page.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Beta]]", "[[Beta]]"),  # a bare name that stays unambiguous
        ("[[Projects/Beta]]", "[[Archive/Beta]]"),
        ("[[Projects/Beta.md#Part|shown]]", "[[Archive/Beta.md#Part|shown]]"),
        ("[[ Projects/Beta |x]]", "[[ Archive/Beta |x]]"),
        ("[[/Projects/Beta]]", "[[/Archive/Beta]]"),
        ("[[./Projects/Beta]]", "[[./Archive/Beta]]"),
        ("![[Projects/Beta#^id]]", "![[Archive/Beta#^id]]"),
        ("|a|\n|-|\n|[[Projects/Beta\\|b]]|\n", "|a|\n|-|\n|[[Archive/Beta\\|b]]|\n"),
        ("[b](Projects/Beta.md)", "[b](Archive/Beta.md)"),
        ("[b](./Projects/Beta.md#part 'title')", "[b](./Archive/Beta.md#part 'title')"),
        ("[b](</Projects/Beta.md>)", "[b](</Archive/Beta.md>)"),
        ("[b](Projects/Beta)", "[b](Archive/Beta)"),
        ("[b]: Projects/Beta.md 'x'\n\n[b]", "[b]: Archive/Beta.md 'x'\n\n[b]"),
        ("[![a](Projects/assets/map.png)](Projects/Beta.md)", "[![a](Projects/assets/map.png)](Archive/Beta.md)"),
        ("---\nsee: '[[Projects/Beta]]'\n---\n", "---\nsee: '[[Archive/Beta]]'\n---\n"),
        ("`[[Projects/Beta]]` <!-- [[Projects/Beta]] -->", "`[[Projects/Beta]]` <!-- [[Projects/Beta]] -->"),
        ("[[Nothing]] [x](no.md)", "[[Nothing]] [x](no.md)"),
    ],
)
def test_links_to_a_moved_page_keep_their_style(text: str, expected: str) -> None:
    for before, after in (("", ""), ("é😀 ", " 😀")):
        if text.startswith(("|", "---", "[b]:")):
            before = after = ""
        result = moved(before + text + after, "Home.md", **{"Projects/Beta.md": "Archive/Beta.md"})
        assert result == before + expected + after


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("[b](Projects/Beta.md)", "Archive/Be (2) ü.md", "[b](Archive/Be%20%282%29%20ü.md)"),
        ("[b](<Projects/Beta.md>)", "Archive/Be (2) ü.md", "[b](<Archive/Be (2) ü.md>)"),
        ("[b](<Projects/Beta.md>)", "Archive/50% #1.md", "[b](<Archive/50%25 %231.md>)"),
        ("[b](Projects/Beta.md)", "Note: b.md", "[b](./Note:%20b.md)"),
        ("[b](Projects/Beta.md)", "A &amp; B.md", "[b](A%20%26amp;%20B.md)"),
        ("[[Projects/Beta]]", "Archive/C# a.md", "[[Projects/Beta]]"),  # no wikilink can say that
        ("[[Beta]]", "Other/Alpha.md", "[[Other/Alpha]]"),
        ("[[Projects/Beta]]", "Beta.md", "[[Beta]]"),
        ("[b](Projects/Beta.md)", "Projects/Beta/_index.md", "[b](Projects/Beta/_index.md)"),
        ("[[Projects/Beta]]", "Projects/Beta/_index.md", "[[Projects/Beta]]"),
        ("see\n\n> [b]: Projects/Beta.md\n", "X.md", "see\n\n> [b]: X.md\n"),
        ("---\nsee: '[[Beta]]'\n---\n[[Beta]]", "It's.md", "---\nsee: '[[Beta]]'\n---\n[[It's]]"),
    ],
)
def test_new_names_are_written_so_that_they_can_be_read(text: str, new: str, expected: str) -> None:
    assert moved(text, "Home.md", **{"Projects/Beta.md": new}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](Beta.md)", "[a](../../Projects/Beta.md)"),
        ("[a](./Beta.md)", "[a](../../Projects/Beta.md)"),
        ("![a](assets/map.png)", "![a](../../Projects/assets/map.png)"),
        ("[n](../Archive/My%20Notes.md)", "[n](../../Archive/My%20Notes.md)"),
        ("[g](../Work/Deep/Gamma.md)", "[g](Gamma.md)"),
        ("[h](/Home.md)", "[h](/Home.md)"),
        ("[h](Home.md)", "[h](Home.md)"),  # the whole path, from the root
        ("[[Beta]] [[Archive/Alpha]]", "[[Beta]] [[Archive/Alpha]]"),
        ("[self](#part) [s](Alpha.md)", "[self](#part) [s](Alpha.md)"),
        ("[up](_index.md)", "[up](../../Projects/_index.md)"),
    ],
)
def test_the_links_of_a_moved_page_are_based_anew(text: str, expected: str) -> None:
    assert moved(text, "Projects/Alpha.md", **{"Projects/Alpha.md": "Work/Deep/Alpha.md"}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[d](data.csv)", "[d](../../Projects/data.csv)"),
        ("[d](<./data.csv#x> 't')", "[d](<../../Projects/data.csv#x> 't')"),
        ("![d](../old.html)", "![d](../../gone/old.html)"),  # it moves too
        ("[d](no.csv) [d](/data.csv) [[data.csv]]", "[d](no.csv) [d](/data.csv) [[data.csv]]"),
    ],
)
def test_links_to_files_that_are_no_pages_are_based_anew(text: str, expected: str) -> None:
    files = {"Projects/data.csv": "Projects/data.csv", "old.html": "gone/old.html"}
    before, after = sites("Projects/Alpha.md", {"Projects/Alpha.md": "Work/Deep/Alpha.md"})

    assert relink_page(PageText(text), before, after, files.get).page.text == expected


def test_a_picture_that_moves_along_keeps_its_link() -> None:
    moves = {"Projects/Alpha.md": "Work/Alpha.md", "Projects/assets/map.png": "Work/assets/map.png"}

    assert moved("![a](./assets/map.png)", "Projects/Alpha.md", **moves) == "![a](./assets/map.png)"
    assert moved("![a](Projects/assets/map.png)", "Home.md", **moves) == "![a](Work/assets/map.png)"


def test_a_directory_that_moves_leaves_the_links_within() -> None:
    moves = {path: f"Work/{path}" for path in TREE if path.startswith("Projects/")}

    text = "[b](Beta.md) [b](../Projects/Beta.md) [[Beta]] ![m](assets/map.png)"
    assert moved(text, "Projects/Alpha.md", **moves) == text
    assert (
        moved("[b](Projects/Beta.md) [[Projects/Beta]]", "Home.md", **moves)
        == "[b](Work/Projects/Beta.md) [[Projects/Beta]]"
    )


def test_a_link_to_a_page_that_stays_is_saved_from_one_that_comes() -> None:
    tree = {"A/Note.md": (None, ()), "A/x.md": (None, ()), "B/Other.md": (None, ())}
    before, after = sites("A/x.md", {"B/Other.md": "A/sub/Note.md", "A/x.md": "A/sub/x.md"}, tree)

    assert relink_page(PageText("[[Note]]"), before, after).page.text == "[[A/Note]]"


def test_a_title_goes_on_meaning_its_page() -> None:
    assert moved("[[The first]] [[A1]]", "Home.md", **{"Projects/Alpha.md": "Work/Z.md"}) == "[[The first]] [[A1]]"
    assert moved("[[The first]]", "Home.md", **{"Projects/Beta.md": "The first.md"}) == "[[Projects/Alpha]]"


def test_links_written_anew_are_counted() -> None:
    text = "[[Projects/Beta]] [b](Projects/Beta.md) [[Beta]]"

    assert relink_page(PageText(text), *sites("Home.md", {"Projects/Beta.md": "Archive/Beta.md"})).count == 2


PATHS = st.sampled_from(
    ["Alpha", "Beta", "alpha", "A b", "50%", "C#", "It's", "x.md", "Note: a", "(a) & b;", "日本", "_index"]
)
FOLDERS = st.sampled_from(["", "Projects/", "Projects/Deep/", "Archive/", "Projects/assets/", "A b/"])
FILES = st.builds(lambda folder, name: folder + name + (".png" if "assets" in folder else ".md"), FOLDERS, PATHS)


def _written(target: str) -> str:
    return target.replace("%", "%25").replace("#", "%23").replace(" ", "%20").replace("(", "%28").replace(")", "%29")


FORMS = st.sampled_from(
    ["[[{0}]]", "![[{0}|a]]", "[[{0}#h]]", "[a]({1})", "![a]({1}#h 't')", "[a](<{0}>)", "[{0}]: {1}\n"]
)


@st.composite
def link_to(draw: st.DrawFn, page: str, files: list[str]) -> str:
    """A link on *page* to one of *files*, in any of the ways there are to write one, wrong ones too."""
    path = draw(st.sampled_from(files))
    steps = path.split("/")
    target = draw(
        st.sampled_from(
            [
                *(path, path.removesuffix(".md"), steps[-1], steps[-1].removesuffix(".md"), "/" + path, "./" + path),
                *("../" * page.count("/") + path, "/".join(steps[-2:]).removesuffix(".md"), "Title"),
            ]
        )
    )
    return draw(FORMS).format(target, _written(target))


@dataclass(frozen=True)
class Moving:
    """A tree, a page of it with its text, and moves of files to places that are free."""

    tree: Tree
    page: str
    text: str
    moves: Mapping[str, str]


@st.composite
def moving(draw: st.DrawFn) -> Moving:
    pages = draw(
        st.lists(FILES.filter(lambda path: path.endswith(".md")), min_size=2, max_size=6, unique_by=wikilink_path)
    )
    files = [*pages, *draw(st.sampled_from([[], ["Projects/assets/a b.png"]]))]
    tree: Tree = {path: (draw(st.sampled_from([None, None, "Alpha", "Title"])), ()) for path in files}
    moves: dict[str, str] = {}
    for old in draw(st.lists(st.sampled_from(files), min_size=1, max_size=3, unique=True)):
        new = draw(FILES)
        if wikilink_path(new) not in map(wikilink_path, [*tree, *moves.values()]) and new[-3:] == old[-3:]:
            moves[old] = new
    page = draw(st.sampled_from(pages))
    link = link_to(page, files)
    text = " ".join(draw(st.lists(st.one_of(link, link, fragments, st.just("\n\n")), min_size=1, max_size=8)))
    return Moving(tree, page, text, moves)


@given(moving())
def test_after_any_move_every_link_means_what_it_meant(moving: Moving) -> None:
    before, after = sites(moving.page, moving.moves, moving.tree)
    result = relink_page(PageText(moving.text), before, after)

    old, new = links_of(PageText(moving.text)), links_of(result.page)
    assert [(link.kind, link.heading) for link in old] == [(link.kind, link.heading) for link in new]
    for was, now in zip(old, new, strict=True):
        target = before.entry_of_link(was.kind, was.target)
        if target is not None and after.entry_of_link(now.kind, now.target) != target:
            assert was.target == now.target
            assert _is_unspeakable(after.names.files[target], was.kind)


@given(moving())
def test_no_byte_changes_outside_the_targets_of_links(moving: Moving) -> None:
    result = relink_page(PageText(moving.text), *sites(moving.page, moving.moves, moving.tree)).page.text

    spans = [target_span(moving.text, link) for link in links_of(PageText(moving.text))]
    others = [target_span(result, link) for link in links_of(PageText(result))]
    assert _without(moving.text, spans) == _without(result, others)


@given(moving())
def test_where_nothing_moves_nothing_changes(moving: Moving) -> None:
    assert relink_page(PageText(moving.text), *sites(moving.page, {}, moving.tree)) == RelinkedPage(
        PageText(moving.text), 0
    )


def _is_unspeakable(path: str, kind: str) -> bool:
    return kind in ("wikilink", "embed") and "#" in path


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}\0{text[end:]}"
    return text
