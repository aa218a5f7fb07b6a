"""What links mean in vaults of Obsidian and graphs of Logseq, and how they are spelled after a move."""

import uuid
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.dialect import USUAL_DAYS, DayFormats, Dialect
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.link_meaning import NameKind, Names, Site, candidates_of, group_by_key, site_of
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_updates import relink_page, retarget_links
from mirrord.markdown.logseq_names import names_in_logseq, page_name_of
from mirrord.markdown.page_links import links_of, possible_targets_of
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.write.render import splice_document

NOWHERE, MANY = "nothing", "several"
VAULT = ("Note.md", "Deep/Note.md", "Deep/Page.md", "Deep/Down/Only.md", "A/Twin.md", "B/Twin.md", "Media/map.png")
GRAPH = {
    "pages/Home.md": "",
    "pages/Tools___Editors.md": "",
    "pages/Old%2FStyle.md": "",
    "pages/Called.md": "title:: Space/Ship\nalias:: Rocket, [[Big, red]], #vessel\n\n- text\n",
    "pages/Listed.md": "- alias:: Bulleted\n  tags:: x\n- more:: no\n  alias:: Never\n",
    "pages/C%23.md": "",
    "pages/CON___.md": "",
    "journals/2023_01_05.md": "",
    "journals/2023_02_31.md": "",
}


def entry(path: str) -> EntryId:
    return EntryId(uuid.uuid5(uuid.NAMESPACE_OID, path))


def names(
    pages: Mapping[str, str], dialect: Dialect, moves: Mapping[str, str] | None = None, days: DayFormats = USUAL_DAYS
) -> Names:
    """The names of *pages*, path → text, once *moves*, old path → new, are done."""
    named, files = [], {}
    for path, text in pages.items():
        new = (moves or {}).get(path, path)
        kind = Kind.PAGE if new.endswith(".md") else Kind.ATTACHMENT
        stem = new.rpartition("/")[2].removesuffix(".md")
        further = names_in_logseq(stem, text, days) if dialect is Dialect.LOGSEQ else ()
        named += candidates_of(entry(path), kind, new, further=further)
        files[entry(path)] = new
    return Names(group_by_key(named), files, dialect, days)


def meant(pages: Mapping[str, str], dialect: Dialect, page: str, link: tuple[str, str]) -> str:
    meaning = names(pages, dialect).resolve_link(*link, site_of(entry(page), page, names(pages, dialect)).origin)
    if meaning.entry is None:
        return MANY if meaning.ambiguous else NOWHERE
    return next(path for path in pages if entry(path) == meaning.entry)


@pytest.mark.parametrize(
    ("kind", "target", "page", "expected"),
    [
        # "Shortest path when possible": a name alone means the only note with it, or the one at the root.
        ("wikilink", "Only", "Note.md", "Deep/Down/Only.md"),
        ("wikilink", "only", "Note.md", "Deep/Down/Only.md"),
        ("wikilink", "Note", "Deep/Page.md", "Note.md"),
        ("wikilink", "Deep/Note", "Note.md", "Deep/Note.md"),
        ("wikilink", "Down/Only", "Note.md", "Deep/Down/Only.md"),
        ("wikilink", "./Note", "Deep/Page.md", "Deep/Note.md"),
        ("wikilink", "../Note", "Deep/Page.md", "Note.md"),
        ("wikilink", "Twin", "Note.md", MANY),
        ("wikilink", "Twin", "A/Other.md", "A/Twin.md"),
        ("embed", "map.png", "Note.md", "Media/map.png"),
        # Markdown links have the same forms: relative, from the root, and the shortest.
        ("markdown", "Only.md", "Note.md", "Deep/Down/Only.md"),
        ("markdown", "only", "Note.md", "Deep/Down/Only.md"),
        ("markdown", "Down/Only.md", "Note.md", "Deep/Down/Only.md"),
        ("markdown", "Down/Only.md", "Deep/Page.md", "Deep/Down/Only.md"),
        ("markdown", "Deep/Note.md", "Deep/Down/Only.md", "Deep/Note.md"),
        ("markdown", "../Note.md", "Deep/Page.md", "Note.md"),
        ("markdown", "./Only.md", "Note.md", NOWHERE),
        ("markdown", "Twin.md", "Note.md", MANY),
        ("image", "map.png", "Deep/Page.md", "Media/map.png"),
    ],
)
def test_a_link_in_a_vault_of_obsidian_means(kind: str, target: str, page: str, expected: str) -> None:
    vault = dict.fromkeys([*VAULT, "A/Other.md"], "")
    assert meant(vault, Dialect.OBSIDIAN, page, (kind, target)) == expected


def test_the_rules_of_obsidian_count_in_its_vaults_alone() -> None:
    vault = dict.fromkeys(VAULT, "")
    assert meant(vault, Dialect.PLAIN, "Deep/Page.md", ("wikilink", "Note")) == "Deep/Note.md"
    assert meant(vault, Dialect.PLAIN, "Note.md", ("markdown", "Only.md")) == NOWHERE


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("Tools/Editors", "pages/Tools___Editors.md"),
        ("tools/editors", "pages/Tools___Editors.md"),
        ("Editors", NOWHERE),
        ("Old/Style", "pages/Old%2FStyle.md"),
        ("Space/Ship", "pages/Called.md"),
        ("rocket", "pages/Called.md"),
        ("Big, red", "pages/Called.md"),
        ("vessel", "pages/Called.md"),
        ("Called", "pages/Called.md"),
        ("Bulleted", "pages/Listed.md"),
        ("Never", NOWHERE),
        ("C#", "pages/C%23.md"),
        ("CON", "pages/CON___.md"),
        ("Jan 5th, 2023", "journals/2023_01_05.md"),
        ("Feb 31st, 2023", NOWHERE),
    ],
)
def test_a_link_in_a_graph_of_logseq_means(target: str, expected: str) -> None:
    assert meant(GRAPH, Dialect.LOGSEQ, "pages/Home.md", ("wikilink", target)) == expected


def test_two_pages_of_logseq_with_one_alias_stay_ambiguous() -> None:
    graph = {"pages/Home.md": "", "pages/A.md": "alias:: Both\n", "pages/B.md": "alias:: both\n"}
    assert meant(graph, Dialect.LOGSEQ, "pages/Home.md", ("wikilink", "Both")) == "pages/A.md"  # the same spelling
    assert meant(graph, Dialect.LOGSEQ, "pages/Home.md", ("wikilink", "BOTH")) == MANY


def _relinked(text: str, page: str, dialect: Dialect, pages: Mapping[str, str], moves: Mapping[str, str]) -> str:
    before, after = names(pages, dialect), names(pages, dialect, moves)
    sites: tuple[Site, Site] = (
        site_of(entry(page), page, before),
        site_of(entry(page), moves.get(page, page), after),
    )
    return relink_page(PageText(text, dialect), *sites).page.text


@pytest.mark.parametrize(
    ("text", "moves", "expected"),
    [
        ("[[Only]] [[Only#^b|x]]", {"Deep/Down/Only.md": "New.md"}, "[[New]] [[New#^b|x]]"),
        ("[[Note]]", {"Note.md": "A/Note.md"}, "[[A/Note]]"),
        ("[[Deep/Note#Head]]", {"Deep/Note.md": "C/Note.md"}, "[[C/Note#Head]]"),
        ("[a](Only.md#h)", {"Deep/Down/Only.md": "Deep/Sole.md"}, "[a](Sole.md#h)"),
        ("[a](Down/Only.md)", {"Deep/Down/Only.md": "Deep/Low/Only.md"}, "[a](Low/Only.md)"),
        ("[a](Only.md)", {"Deep/Down/Only.md": "A/Only.md"}, "[a](Only.md)"),
        ("[a](Only)", {"Deep/Down/Only.md": "A/Sole.md"}, "[a](Sole)"),
        ("![](map.png)", {"Media/map.png": "A/plan.png"}, "![](plan.png)"),
        ("[a](Only.md)", {"Deep/Down/Only.md": "A/Page.md"}, "[a](A/Page.md)"),  # `Page.md` alone means two
    ],
)
def test_links_of_obsidian_keep_their_style_when_pages_move(text: str, moves: Mapping[str, str], expected: str) -> None:
    vault = dict.fromkeys([*VAULT, "Start.md"], "")
    assert _relinked(text, "Start.md", Dialect.OBSIDIAN, vault, moves) == expected


@pytest.mark.parametrize(
    ("text", "moves", "expected"),
    [
        (
            "- [[Tools/Editors|e]] [[tools/editors]]",
            {"pages/Tools___Editors.md": "pages/Apps___Editors.md"},
            "- [[Apps/Editors|e]] [[Apps/Editors]]",
        ),
        ("- [[Old/Style]]", {"pages/Old%2FStyle.md": "pages/New%2FStyle.md"}, "- [[New/Style]]"),
        ("- [[Rocket]]", {"pages/Called.md": "pages/Named.md"}, "- [[Rocket]]"),
        ("- [[Listed]]", {"pages/Listed.md": "pages/In___Named.md"}, "- [[In/Named]]"),
        ("- #Listed, [[listed]] *#listed*.", {"pages/Listed.md": "pages/Book.md"}, "- #Book, [[Book]] *#Book*."),
        ("- #[[Listed]] #Listed", {"pages/Listed.md": "pages/Big Book.md"}, "- #[[Big Book]] #[[Big Book]]"),
        ("- #Tools/Editors", {"pages/Tools___Editors.md": "pages/Apps___Editors.md"}, "- #Apps/Editors"),
        ("- #Listed", {"pages/Listed.md": "pages/Ends..md"}, "- #[[Ends.]]"),
        ("- #rocket", {"pages/Called.md": "pages/Named.md"}, "- #rocket"),
        ("tags:: #Listed\n- x", {"pages/Listed.md": "pages/A b.md"}, "tags:: #[[A b]]\n- x"),
        ("- [[Jan 5th, 2023]]", {"journals/2023_01_05.md": "journals/2023_01_22.md"}, "- [[Jan 22nd, 2023]]"),
    ],
)
def test_links_of_logseq_keep_their_style_when_pages_move(text: str, moves: Mapping[str, str], expected: str) -> None:
    assert _relinked(text, "pages/Home.md", Dialect.LOGSEQ, GRAPH, moves) == expected


def test_a_link_to_a_day_keeps_the_format_of_its_graph_when_the_day_moves() -> None:
    days = DayFormats("EEEE, dd/MM/yyyy", "yyyyMMdd")
    graph = {"pages/Home.md": "", "journals/20230105.md": ""}
    before, after = (
        names(graph, Dialect.LOGSEQ, moves, days) for moves in ({}, {"journals/20230105.md": "20230109.md"})
    )
    home = entry("pages/Home.md")
    sites = site_of(home, "pages/Home.md", before), site_of(home, "pages/Home.md", after)

    moved = relink_page(PageText("- [[Thursday, 05/01/2023]] [[20230105]]", Dialect.LOGSEQ), *sites)

    assert moved.page.text == "- [[Monday, 09/01/2023]] [[Monday, 09/01/2023]]"


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one two #three", ["one", "three"]),
        ("#one, #two. (#three) #four!", ["one", "two", "three", "four"]),
        ("#[[two words]] #c++ #a.b #a/b #日记。x", ["two words", "c++", "a.b", "a/b", "日记"]),
        ("# Head #tag\n\n- [ ] #todo\n  #next", ["tag", "todo", "next"]),
        ("tags:: #one, #[[b c]]", ["one", "b c"]),
        ("a#b https://host/#c \\#d ##e # f #", []),
        ("`#code` ``` #x ``` <!-- #comment --> <a title='#t'>", []),
        ("[label #tag](Other.md) [[Page #2]] #end", ["Other.md", "Page ", "end"]),
        ("```\n#include\n```\n\n#+BEGIN_SRC\n#x\n#+END_SRC", []),
    ],
)
def test_tags_of_logseq_are_links(text: str, tags: list[str]) -> None:
    assert [link.target for link in links_of(PageText(text, Dialect.LOGSEQ))] == tags
    possible = [target for _, target in possible_targets_of(text, Dialect.LOGSEQ)]
    assert set(tags) <= set(possible)


@pytest.mark.parametrize("dialect", [Dialect.PLAIN, Dialect.OBSIDIAN])
def test_tags_of_other_programs_are_no_links(dialect: Dialect) -> None:
    assert links_of(PageText("#one [x](y.md) #two", dialect))[0].target == "y.md"
    assert len(links_of(PageText("#one [x](y.md) #two", dialect))) == 1


@given(st.text(st.sampled_from("ab #[]()`*_.,:!\\\n<>/"), max_size=40), st.text(max_size=12))
def test_a_tag_that_gets_another_page_leaves_all_else_as_it_is(text: str, name: str) -> None:
    page = PageText(text, Dialect.LOGSEQ)
    before = links_of(page)
    after = retarget_links(page, {("wikilink", "a"): name})

    assert [(link.kind, link.heading) for link in links_of(after.page)] == [(x.kind, x.heading) for x in before]
    targets = [link.target.strip() for link in links_of(after.page)]
    assert all(new == old.target.strip() or new == name.strip() for new, old in zip(targets, before, strict=True))


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("a___b___c", "a/b/c"),
        ("a%2Fb", "a/b"),
        ("plain name", "plain name"),
        ("D.C.___", "D.C."),
        ("___", "___"),
        ("2024_11_01", "Nov 1st, 2024"),
        ("2024-11-12", "Nov 12th, 2024"),
        ("2024_11_23", "Nov 23rd, 2024"),
        ("2024_13_01", "2024_13_01"),
        ("a%00b", "a%00b"),
        ("100%25", "100%"),
        ("%FF", "%FF"),
    ],
)
def test_a_file_of_logseq_is_the_page(stem: str, expected: str) -> None:
    assert page_name_of(stem, USUAL_DAYS) == expected


@given(st.text(max_size=60), st.text(max_size=200))
def test_whatever_a_page_of_logseq_holds_its_names_can_be_stored_and_found(stem: str, text: str) -> None:
    for _, name in names_in_logseq(stem, text, USUAL_DAYS):
        assert name.strip()
        assert "\0" not in name or "\0" in stem + text


def test_names_in_logseq_are_titles_before_aliases() -> None:
    assert names_in_logseq("x", "alias:: b, c\ntitle:: a\n", USUAL_DAYS) == [
        (NameKind.TITLE, "a"),
        (NameKind.ALIAS, "b"),
        (NameKind.ALIAS, "c"),
    ]


def test_a_label_for_a_block_of_logseq_is_no_link_to_a_file_and_stays_when_its_words_change() -> None:
    target = "((64f1a2b3-1111-2222-3333-444455556666))"
    text = f"- see [the label]({target}) and [a](b.md)\n"

    assert [link.target for link in links_of(PageText(text, Dialect.LOGSEQ))] == ["b.md"]
    assert [link.target for link in links_of(PageText(text))] == [target, "b.md"]
    for old, new in (("the label", "another label"), ("see", "look at")):
        document = read_document(text.replace(old, new), Dialect.LOGSEQ)
        assert splice_document(text, document, "\n", dialect=Dialect.LOGSEQ) == text.replace(old, new)
