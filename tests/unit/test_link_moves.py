"""After any sequence of moves, each link that meant one page means it still; notes about links may wait meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import NAMESPACE_OID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.db.content.pending_links import LinkNote, MeantLink
from mirrord.documents.link_moves import GatheredMoves, notes_for
from mirrord.documents.link_rewriting import author_for
from mirrord.domain.dialect import USUAL_DAYS, Dialect
from mirrord.domain.entry import EntryId, Kind
from mirrord.domain.link_meaning import Candidate, Names, candidates_of, group_by_key, site_of, wikilink_path
from mirrord.domain.link_rule import LinkRule, is_file_author, parse_link_rule
from mirrord.errors import UserError
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.link_updates import retarget_links
from mirrord.markdown.logseq_names import names_in_logseq, page_name_of
from mirrord.markdown.page_links import links_of

STEMS = st.sampled_from(["Note", "note", "Plan", "A b", "x.y", "Übung", "50%", "(a) & b;", "A___Note", "2023_01_05"])
FOLDERS = st.sampled_from(["", "A/", "A/B/", "C/", "Note/"])
PATHS = st.builds("{}{}.md".format, FOLDERS, STEMS)
FORMS = st.sampled_from(
    [
        "[[{0}]]",
        "![[{1}|x]]",
        "[[{1}#h]]",
        "[x](</{1}.md#h>)",
        "[x](<{2}{1}.md>)",
        "[[/{1}]]",
        "[x](<{0}.md>)",
        "[[{3}]]",
    ]
)
DIALECTS = st.sampled_from([Dialect.PLAIN, Dialect.OBSIDIAN, Dialect.LOGSEQ])

Paths = dict[EntryId, str]


def _entry(path: str) -> EntryId:
    return EntryId(uuid5(NAMESPACE_OID, path))


def _names(paths: Paths, dialect: Dialect) -> Names:
    candidates = [candidate for entry, path in paths.items() for candidate in _candidates(entry, path, dialect)]
    return Names(group_by_key(candidates), paths, dialect)


def _candidates(entry: EntryId, path: str, dialect: Dialect) -> list[Candidate]:
    further = names_in_logseq(_stem_of(path), "", USUAL_DAYS) if dialect is Dialect.LOGSEQ else ()
    return candidates_of(entry, Kind.PAGE, path, further=further)


def _stem_of(path: str) -> str:
    return wikilink_path(path).rpartition("/")[2]


@dataclass
class _World:
    """Pages with their texts and places, and the links that mean one page, as Postgres keeps them."""

    paths: Paths
    texts: dict[EntryId, str]
    links: list[MeantLink]
    dialect: Dialect = Dialect.PLAIN

    def move(self, moves: Paths) -> None:
        """Move pages, and note the new targets of links."""
        gathered = GatheredMoves({entry: {} for entry in moves}, self.links, dict(self.paths))
        self.paths |= moves
        notes = {(note.link.source, note.link.number): note for note in notes_for(gathered, self.links, self.names)}
        self.links = [_noted(link, notes.get((link.source, link.number))) for link in self.links]

    def rewrite(self) -> None:
        """Write what is noted into the texts."""
        for page, text in self.texts.items():
            targets = {(x.kind, x.target): x.pending for x in self.links if x.source == page and x.pending is not None}
            self.texts[page] = retarget_links(PageText(text), targets).page.text
        self.links = [replace(link, target=link.pending or link.target, pending=None) for link in self.links]

    @property
    def names(self) -> Names:
        return _names(self.paths, self.dialect)

    def meanings(self) -> dict[tuple[EntryId, int], EntryId | None]:
        """What each link of the texts means."""
        return {
            (page, number): site_of(page, self.paths[page], self.names).entry_of_link(link.kind, link.target)
            for page, text in self.texts.items()
            for number, link in enumerate(links_of(PageText(text)))
        }


def _noted(link: MeantLink, note: LinkNote | None) -> MeantLink:
    return link if note is None else replace(link, pending=note.target)


def _linked(paths: Sequence[str], texts: Sequence[str], dialect: Dialect = Dialect.PLAIN) -> _World:
    world = _World({_entry(path): path for path in paths}, {}, [], dialect)
    world.texts = {_entry(path): text for path, text in zip(paths, texts, strict=True)}
    for (page, number), goal in world.meanings().items():
        if goal is not None:
            link = links_of(PageText(world.texts[page]))[number]
            world.links.append(MeantLink(page, number, link.kind, link.target, goal, None))
    return world


@st.composite
def worlds(draw: st.DrawFn) -> _World:
    paths = draw(st.lists(PATHS, min_size=2, max_size=7, unique_by=lambda path: wikilink_path(path).lower()))
    texts = []
    for path in paths:
        linked = draw(st.lists(st.tuples(FORMS, st.sampled_from(paths)), max_size=4))
        texts.append(" ".join(_written(form, path, other) for form, other in linked))
    return _linked(paths, texts, draw(DIALECTS))


def _written(form: str, page: str, other: str) -> str:
    stem = wikilink_path(other)
    escaped = stem.replace("%", "%25") if "(" in form else stem
    return form.format(
        stem.rpartition("/")[2], escaped, "../" * page.count("/"), page_name_of(_stem_of(other), USUAL_DAYS)
    )


@given(worlds(), st.data())
def test_after_any_moves_every_link_means_the_page_that_it_meant(world: _World, data: st.DataObject) -> None:
    before = world.meanings()
    for _ in range(data.draw(st.integers(1, 6))):
        moved = data.draw(st.lists(st.sampled_from(sorted(world.paths)), min_size=1, max_size=3, unique=True))
        for entry in moved:
            occupied = {wikilink_path(path).lower() for path in world.paths.values()}
            path = data.draw(PATHS)
            if wikilink_path(path).lower() not in occupied:
                world.move({entry: path})
        if data.draw(st.booleans()):
            world.rewrite()
    world.rewrite()

    after = world.meanings()
    assert after.keys() == before.keys()
    assert {key: after[key] for key, goal in before.items() if goal is not None} == {
        key: goal for key, goal in before.items() if goal is not None
    }


@given(worlds(), st.data())
def test_moves_and_their_reverse_rewrite_nothing_if_both_come_first(world: _World, data: st.DataObject) -> None:
    before, paths = dict(world.texts), dict(world.paths)
    entry = data.draw(st.sampled_from(sorted(world.paths)))
    path = data.draw(PATHS)
    if wikilink_path(path).lower() in {wikilink_path(other).lower() for other in paths.values()}:
        return

    world.move({entry: path})
    world.move({entry: paths[entry]})
    world.rewrite()

    assert world.meanings() == _linked(list(paths.values()), list(before.values()), world.dialect).meanings()


@pytest.mark.parametrize(
    ("author", "is_file"),
    [
        ({"kind": "human", "name": "file"}, True),
        ({"kind": "agent", "name": "local", "channel": "file"}, True),
        ({"kind": "human", "name": "ada", "channel": "console"}, False),
        ({"kind": "app", "name": "mirrord_app"}, False),
        ({"kind": "daemon", "name": "mirrord"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_version_of_a_file_has_the_author_of_files(author: dict[str, str] | None, is_file: bool) -> None:
    assert is_file_author(author) == is_file
    assert LinkRule.TOOLS.follows(author) == (not is_file)
    assert LinkRule.ALWAYS.follows(author)
    assert not LinkRule.NEVER.follows(author)


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do() -> None:
    assert parse_link_rule("always") is LinkRule.ALWAYS
    with pytest.raises(UserError, match=r"links\.rewrite is 'sometimes'; there are always, tools, never"):
        parse_link_rule("sometimes")


def test_the_author_of_a_rewritten_link_is_the_daemon_for_the_mover() -> None:
    daemon = {"kind": "daemon", "name": "mirrord"}
    assert author_for({"kind": "human", "name": "ada", "channel": "console"}) == {**daemon, "for": "human ada"}
    assert author_for({}) == daemon


def test_links_to_nothing_and_to_several_pages_get_no_notes() -> None:
    world = _linked(["A/Note.md", "C/Note.md", "Home.md"], ["", "", "[[Note]] [[Nothing]]"])
    assert world.links == []
    world.move({_entry("A/Note.md"): "A/Memo.md"})
    assert world.links == []
