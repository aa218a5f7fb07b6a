"""
Renames and moves that links follow: which links they concern, and the target that each is to get.

The links are gathered before the names change, with the old paths; afterwards a target is noted with each link that
would no longer mean its entry. See docs/decisions/0076.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mirrord.db.content import dialect_rows, link_rows, pending_links
from mirrord.db.content.link_rows import LinkName
from mirrord.db.content.pending_links import LinkNote, MeantLink
from mirrord.db.database import Connection
from mirrord.documents.link_places import load_candidates, load_named_paths
from mirrord.documents.link_resolution import resolve_touched_links
from mirrord.domain.dialect import DayFormats
from mirrord.domain.entry import EntryId, TenantId
from mirrord.domain.link_meaning import Names, Origin, key_of, site_of, target_key, wikilink_path
from mirrord.domain.link_rule import LinkRule, Mover
from mirrord.markdown.link_spelling import respell_target
from mirrord.markdown.logseq_names import page_name_of
from mirrord.markdown.page_links import Link

NameChange = tuple[list[LinkName], list[LinkName]]  # an entry's names before and after
Renamed = Mapping[EntryId, NameChange]


@dataclass(frozen=True, slots=True)
class Touched:
    """What changed names touch: links with one of *keys*, and all links on one of *sources*."""

    keys: set[str]
    sources: set[EntryId]


@dataclass(frozen=True, slots=True)
class GatheredMoves:
    """
    Moves that links follow, before the names of their entries change.

    movers: of the entries that moved. paths: of the files of targets and pages of *links*, before.
    """

    movers: Mapping[EntryId, Mover]
    links: Sequence[MeantLink]
    paths: Mapping[EntryId, str]


async def load_touched(connection: Connection, tenant: TenantId, renamed: Renamed) -> Touched:
    """What *renamed* touches: an entry that moved takes everything below it along."""
    placed = {entry for entry, (old, new) in renamed.items() if _place_of(old) != _place_of(new)}
    names_below = await _load_names_below(connection, tenant, [e for e in placed if _moves_content(*renamed[e])])
    keys = {name.key for old, new in renamed.values() for name in (*old, *new)}
    return Touched(keys | {name.key for name in names_below}, placed | {name.entry for name in names_below})


def _place_of(names: Sequence[LinkName]) -> tuple[EntryId | None, str, bool] | None:
    return (names[0].parent, names[0].name, names[0].index) if names else None


def _moves_content(old: Sequence[LinkName], new: Sequence[LinkName]) -> bool:
    """Whether the content below an entry has another path now; a new index file alone changes no path."""
    return bool(old and new) and (old[0].parent, old[0].name) != (new[0].parent, new[0].name)


async def _load_names_below(connection: Connection, tenant: TenantId, moved: Sequence[EntryId]) -> list[LinkName]:
    """The names of *moved* and of everything below: paths to and from them have changed."""
    if not moved:
        return []
    below = await link_rows.load_descendants(connection, tenant, moved)
    return await link_rows.load_names_of(connection, tenant, below)


async def gather_moves(
    connection: Connection, tenant: TenantId, renamed: Renamed, rule: LinkRule
) -> GatheredMoves | None:
    """The moves among *renamed* that links follow by *rule*; call this before the names change. None: none."""
    moved = [entry for entry, (old, new) in renamed.items() if old and new]
    if not moved or rule is LinkRule.NEVER:
        return None
    authors = await pending_links.load_movers(connection, tenant, moved)
    movers = {entry: author or {} for entry, author in authors.items() if rule.follows(author)}
    if not movers:
        return None
    touched = await load_touched(connection, tenant, {entry: renamed[entry] for entry in movers})
    await resolve_touched_links(connection, tenant, touched.keys, touched.sources)
    links = await pending_links.load_meant_links(connection, tenant, touched.keys, touched.sources)
    return GatheredMoves(movers, links, await load_named_paths(connection, tenant, _ends_of(links))) if links else None


def _ends_of(links: Iterable[MeantLink]) -> set[EntryId]:
    return {end for link in links for end in (link.source, link.entry)}


async def note_new_targets(connection: Connection, tenant: TenantId, moves: GatheredMoves) -> bool:
    """Note the new targets of links after *moves*; call this after the names changed. Returns whether there are any."""
    paths = await load_named_paths(connection, tenant, _ends_of(moves.links))
    links = [link for link in moves.links if {link.source, link.entry} <= moves.paths.keys() & paths.keys()]
    dialect, days = await dialect_rows.load_tenant_dialect(connection, tenant)
    keys = {key for link in links for key in _keys_of(link, paths, days)}
    candidates = await load_candidates(connection, tenant, keys, as_named=True)
    notes = await asyncio.to_thread(notes_for, moves, links, Names(candidates, paths, dialect, days))
    await pending_links.note_targets(connection, tenant, notes)
    return bool(notes)


def _keys_of(link: MeantLink, paths: Mapping[EntryId, str], days: DayFormats) -> Iterable[str]:
    """The keys of the target that *link* has, and of those that it may get."""
    path = wikilink_path(paths[link.entry])
    key = target_key(link.kind, _current_target(link), _origin_of(link, paths))
    page_name = page_name_of(path.rpartition("/")[2], days)  # what it may get in a graph of Logseq
    return {key_of(path), key_of(page_name), *([key] if key is not None else ())}


def _origin_of(link: MeantLink, paths: Mapping[EntryId, str]) -> Origin:
    """The page of *link*, for the key of a target: that depends on no dialect."""
    return Origin(link.source, tuple(paths[link.source].split("/")[:-1]))


def _current_target(link: MeantLink) -> str:
    return link.target if link.pending is None else link.pending


def notes_for(moves: GatheredMoves, links: Sequence[MeantLink], names: Names) -> list[LinkNote]:
    """The notes about those of *links* that need another target where the tree has *names*. Pure."""
    notes = []
    for link in links:
        target = _new_target_of(link, moves.paths, names)
        if target is not None and target != _current_target(link):
            new_target = target if target != link.target else None
            key = target_key(link.kind, target, _origin_of(link, names.files))
            notes.append(LinkNote(link, new_target, key, _mover_of(link, moves.movers)))
    return notes


def _new_target_of(link: MeantLink, paths: Mapping[EntryId, str], names: Names) -> str | None:
    """The target that *link* is to get; None: it still means its entry, or no target does."""
    before = site_of(link.source, paths[link.source], Names({}, paths, names.dialect, names.days))
    after = site_of(link.source, names.files[link.source], names)
    written = Link(link.kind, _current_target(link), None, None, 0, 0)
    return respell_target(written, link.entry, before, after)


def _mover_of(link: MeantLink, movers: Mapping[EntryId, Mover]) -> Mover:
    """Who made *link* follow; of several, one who moved an end of it, else one who moved a folder above."""
    for end in (link.entry, link.source):
        if end in movers:
            return movers[end]
    return next(iter(movers.values()))
