"""Content of a page that went along with the directory of a folder: its row belongs to the page as before."""

from collections.abc import Iterable
from dataclasses import replace

from mirrord.db.content import entry_states
from mirrord.db.content.entry_writes import run_statements
from mirrord.db.database import Connection
from mirrord.domain.entry import EntryId
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.state_assembly import is_owned


async def release_content(connection: Connection, sides: Sides, folders: Iterable[tuple[EntryId, str]]) -> set[EntryId]:
    """
    Give what went along with the directories of *folders* to them in the bases, and return its entries.

    folders: entry and new path; their moves are recorded. People did not move the content: the next look finds
    that its row alone has another parent, and carries its file to that page.
    """
    released = set[EntryId]()
    index = sides.looker.index
    for folder, directory in folders:
        if is_owned(directory, index):
            continue
        keys = entry_states.BaseKeys(list(index.children_of(directory)))
        bases = await entry_states.load_bases(connection, sides.tenant, sides.mirror, keys)
        others = [base for base in bases if base.place.parent != folder]
        moved = [replace(base, place=replace(base.place, parent=folder)) for base in others]
        await run_statements(connection, [sides.writer.store_base(base) for base in moved])
        released.update(base.entry for base in moved)
    return released
