"""The tree of pages, and the order of siblings in it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId
from mirrord.domain.place import natural_key, position_between

LEVEL_ENTRIES = 200  # entries per answer
# By position, then by title as natural_key() sorts. The key of ASCII titles is their lower case, a hundred times
# faster than mirrord.name_key(). Numbers get zeros before them, then lose those beyond twelve digits.
_LEVEL = """
WITH level AS (
    SELECT id, kind, t.title, icon, position, version, parent_id, name,
           CASE WHEN k.key ~ '[0-9]' THEN regexp_replace(regexp_replace(regexp_replace(
                    k.key, '0*([0-9]+)', '\\1', 'g'), '([0-9]+)', '00000000000\\1', 'g'),
                    '0{{0,11}}([0-9]{{12,}})', '\\1', 'g')
                ELSE k.key END COLLATE "C" AS key
      FROM mirrord.page AS p, LATERAL (SELECT coalesce(p.title, p.name, '') AS title OFFSET 0) AS t,
           LATERAL (SELECT CASE WHEN octet_length(t.title) = length(t.title) THEN lower(t.title COLLATE "C")
                                ELSE mirrord.name_key(t.title) END AS key OFFSET 0) AS k
     WHERE p.tenant_id = mirrord.current_tenant() AND p.parent_id {parent} AND p.deleted_at IS NULL
     ORDER BY position IS NULL, position, key, t.title COLLATE "C", name COLLATE "C", id
     LIMIT %(most)s OFFSET %(start)s)
SELECT id, kind, title, icon, position, version, parent_id,
       EXISTS (SELECT FROM mirrord.page AS c WHERE c.tenant_id = mirrord.current_tenant() AND c.parent_id = level.id
                  AND c.deleted_at IS NULL), name
  FROM level ORDER BY position IS NULL, position, key, title COLLATE "C", name COLLATE "C", id"""
_IN_ROOT = _LEVEL.format(parent="IS NULL")
_BELOW = _LEVEL.format(parent="= %(parent)s")
_PATH = """
WITH RECURSIVE path (id, parent_id, depth) AS (
    SELECT id, parent_id, 0 FROM mirrord.page WHERE tenant_id = mirrord.current_tenant() AND id = %s
    UNION ALL
    SELECT p.id, p.parent_id, b.depth + 1 FROM path AS b
      JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = b.parent_id)
SELECT p.id, p.kind, coalesce(p.title, p.name, ''), p.icon, p.position, p.version, p.parent_id,
       EXISTS (SELECT FROM mirrord.page AS c WHERE c.tenant_id = p.tenant_id AND c.parent_id = p.id
                  AND c.deleted_at IS NULL), p.name
  FROM path JOIN mirrord.page AS p ON p.tenant_id = mirrord.current_tenant() AND p.id = path.id
 WHERE NOT EXISTS (
    SELECT FROM path AS b JOIN mirrord.page AS d ON d.tenant_id = mirrord.current_tenant() AND d.id = b.id
     WHERE d.deleted_at IS NOT NULL)
 ORDER BY path.depth DESC"""
_MOVE = """
UPDATE mirrord.page SET parent_id = %s, position = %s
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND version = %s AND deleted_at IS NULL RETURNING version"""
_SET_POSITION = """
UPDATE mirrord.page SET position = %s
 WHERE tenant_id = mirrord.current_tenant() AND id = %s AND deleted_at IS NULL"""
# Pages deleted together with their folder are restored with it.
_TRASH = """
SELECT p.id, p.kind, coalesce(p.title, p.name, ''), p.icon, p.deleted_at, p.updated_by
  FROM mirrord.page AS p WHERE p.tenant_id = mirrord.current_tenant() AND p.deleted_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM mirrord.page AS a
     WHERE a.tenant_id = p.tenant_id AND a.id = p.parent_id AND a.deleted_at = p.deleted_at)
   AND strpos(lower(concat_ws(' ', p.title, p.name)), lower(%(text)s)) > 0
 ORDER BY p.deleted_at DESC, p.id LIMIT %(most)s OFFSET %(start)s"""


@dataclass(frozen=True, slots=True)
class Node:
    """An entry of the sidebar. parent None: the root. name: of its file; None: not named yet."""

    id: EntryId
    kind: str
    title: str
    icon: str | None
    position: str | None
    version: int
    parent: EntryId | None
    has_children: bool
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TrashedPage:
    """A deleted page that can be restored, with everything deleted together with it."""

    id: EntryId
    kind: str
    title: str
    icon: str | None
    deleted_at: datetime
    by: dict[str, Any] | None


def distinct_names(nodes: Sequence[Node]) -> dict[EntryId, str]:
    """The names that tell those of *nodes* apart whose titles are the same."""
    counts = Counter(node.title for node in nodes)
    return {node.id: node.name for node in nodes if counts[node.title] > 1 and node.name and node.name != node.title}


async def load_children(
    connection: Connection, parent: UUID | None, start: int = 0, limit: int = LEVEL_ENTRIES
) -> list[Node]:
    """Children of *parent* from number *start* on: *limit* of them, and one more if there are more."""
    statement = _IN_ROOT if parent is None else _BELOW
    values = {"parent": parent, "most": limit + 1, "start": start}
    return [Node(*row) for row in await (await connection.execute(statement, values)).fetchall()]


async def load_path(connection: Connection, page: UUID) -> list[Node]:
    """The ancestors of a page from the root down, then the page; nothing if one of them is deleted."""
    return [Node(*row) for row in await (await connection.execute(_PATH, (page,))).fetchall()]


async def move_page(
    connection: Connection, page: UUID, version: int, parent: UUID | None, position: str | None
) -> int | None:
    """Move a page. Returns the new version; None: another writer was faster."""
    row = await (await connection.execute(_MOVE, (parent, position, page, version))).fetchone()
    return int(row[0]) if row else None


async def set_positions(connection: Connection, positions: Sequence[tuple[EntryId, str]]) -> None:
    """Set positions of entries sorted by title, so that another entry fits between them."""
    for entry, position in positions:
        await connection.execute(_SET_POSITION, (position, entry))


async def load_trash(connection: Connection, text: str = "", start: int = 0) -> list[TrashedPage]:
    """
    Deleted pages with *text* in their title or name, the newest first.

    LEVEL_ENTRIES of them from number *start* on, and one more if there are more.
    """
    values = {"text": text, "most": LEVEL_ENTRIES + 1, "start": start}
    return [TrashedPage(*row) for row in await (await connection.execute(_TRASH, values)).fetchall()]


MAX_NEW_POSITIONS = 100  # siblings that may get a position because of one move


@dataclass(frozen=True, slots=True)
class Placement:
    """
    position: of the moved entry; None: sorted by its title. sibling_positions: siblings that also need one, in order.

    is_exact: the entry comes to stand where it was put. Folders without a page have no file that could hold a position,
    so they are sorted by title, after the pages that have one.
    """

    position: str | None
    sibling_positions: tuple[tuple[EntryId, str], ...] = ()
    is_exact: bool = True


def place_among(moved: Node, siblings: Sequence[Node], index: int) -> Placement | None:
    """
    Place *moved* before the sibling number *index* (the number of siblings: after all of them).

    siblings: all of them in order, without *moved*. Returns None if too many of them would need a position.
    """
    placement = _choose_positions(moved, siblings, index)
    return placement and replace(placement, is_exact=_stands_there(moved, siblings, index, placement))


def _choose_positions(moved: Node, siblings: Sequence[Node], index: int) -> Placement | None:
    before = siblings[index - 1] if index else None
    after = siblings[index] if index < len(siblings) else None
    if _is_placed_by_title(moved, before, after) or not _can_have_position(moved):
        return Placement(None)
    pages = [sibling for sibling in siblings if _can_have_position(sibling)]
    return _place_among_pages(pages, sum(map(_can_have_position, siblings[:index])))


def _stands_there(moved: Node, siblings: Sequence[Node], index: int, placement: Placement) -> bool:
    """Whether the tree's order after *placement* is the wanted one."""
    positions = dict(placement.sibling_positions)
    others = [replace(sibling, position=positions.get(sibling.id, sibling.position)) for sibling in siblings]
    order = [*others[:index], replace(moved, position=placement.position), *others[index:]]
    return sorted(order, key=_order_key) == order


def _order_key(node: Node) -> tuple[bool, str, str]:
    return (node.position is None, node.position or "", "" if node.position is not None else natural_key(node.title))


def _can_have_position(node: Node) -> bool:
    return node.kind != "folder"


def _place_among_pages(siblings: Sequence[Node], index: int) -> Placement | None:
    before = siblings[index - 1] if index else None
    after = siblings[index] if index < len(siblings) else None
    if before is None or before.position is not None:
        position = position_between(before.position if before else None, after.position if after else None)
        return Placement(position) if position is not None else _renumber(siblings, index)
    positioned = [sibling for sibling in siblings[:index] if sibling.position is not None]
    return _position_after(positioned[-1].position if positioned else None, siblings[len(positioned) : index])


def _is_placed_by_title(moved: Node, before: Node | None, after: Node | None) -> bool:
    """Whether sorting by title suffices for this place."""
    if any(neighbour is not None and neighbour.position is not None for neighbour in (before, after)):
        return after is None and before is None
    key = natural_key(moved.title)
    return (before is None or natural_key(before.title) <= key) and (after is None or key <= natural_key(after.title))


def _position_after(position: str | None, unplaced: Sequence[Node]) -> Placement | None:
    if len(unplaced) > MAX_NEW_POSITIONS:
        return None
    others = []
    for sibling in unplaced:
        position = position_between(position, None)
        if position is None:
            return None
        others.append((sibling.id, position))
    last = position_between(position, None)
    return Placement(last, tuple(others)) if last is not None else None


def _renumber(siblings: Sequence[Node], index: int) -> Placement | None:
    """Assign new positions to all siblings that have one: there is no room, or two of them share one."""
    positioned = [number for number, sibling in enumerate(siblings) if sibling.position is not None]
    count = max(index, len(positioned))
    if count > MAX_NEW_POSITIONS:
        return None
    position, moved_position, others = None, None, []
    for number in range(count + 1):
        position = position_between(position, None)
        assert position is not None
        if number == index:
            moved_position = position
        else:
            others.append((siblings[number - (number > index)].id, position))
    return Placement(moved_position, tuple(others))
