"""Files that are only a save of a page whose file is elsewhere: no pages of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mirrord.db.content import derived_rows, entry_states, stored_bytes
from mirrord.db.database import Connection
from mirrord.domain.entry import Base, Kind
from mirrord.markdown.frontmatter.page_text import decode
from mirrord.mirror.seen_files import Index
from mirrord.mirror.tree.tree_layout import Spot, directory_of
from mirrord.sync.observation.file_identity import find_late_save
from mirrord.sync.observation.former_paths import FormerPath
from mirrord.sync.observation.identity_evidence import EarlierState, FoundFile, similarity
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides
from mirrord.sync.observation.state_assembly import owner_paths

INDEX_FILE_REASON = "saved after its page became the index file of its directory"
MOVED_REASON = "saved at its former path just after its page was moved"
MIN_COMMON_SHARE = 0.5  # of the page's text in a save of it


@dataclass(frozen=True, slots=True)
class StraySave:
    """page: its base, with the digest of the text that the save was made from. reason: why the file goes."""

    page: Base
    reason: str


def take_late_saves(look: LookResult, memory: EarlierState, index: Index) -> dict[str, StraySave]:
    """Remove saves of `W.md` from *look* whose page is `W/_index.md` by now, and return them by path."""
    late_saves = {}
    for path, file in list(look.found_files.items()):
        if file.spot.kind is not Kind.PAGE:
            continue
        directory = directory_of(path, Kind.PAGE)
        index_path, note_path = owner_paths(directory)[:2]
        if index_path not in index or note_path not in index:
            continue
        note = look.found_files.get(note_path)
        if note is None and (base := memory.base_at_path.get(note_path)) is not None:
            note = _unread_file(base)
        if note is not None and (page := find_late_save(note, memory, look.found_files.get(index_path))) is not None:
            late_saves[note_path] = StraySave(page, INDEX_FILE_REASON)
            look.found_files.pop(note_path, None)
    return late_saves


def _unread_file(base: Base) -> FoundFile:
    """The file of *base*, which was not read again."""
    assert base.path is not None
    return FoundFile(base.path, Spot(Kind.PAGE, "", base.place.name), base.digest, base.claimed, (0, 0))


async def take_former_saves(
    connection: Connection, sides: Sides, look: LookResult, memory: EarlierState
) -> dict[str, StraySave]:
    """
    Remove saves at former paths of pages from *look*, and return them by path.

    Such a file has most of the page's text, and is neither a renamed file, nor what a command wrote, nor an earlier
    text of the page: that is a copy, which git or a backup brought back.
    """
    candidates = _find_candidates(sides, look, memory)
    if not candidates:
        return {}
    digests = {page.entry: page.digest for page in candidates.values()}
    keys = entry_states.BaseKeys(entries=list(digests))
    bases = await entry_states.load_bases(connection, sides.tenant, sides.mirror, keys)
    base_of = {base.entry: base for base in bases if base.path is not None and base.path in sides.looker.index}
    texts = await derived_rows.load_texts_of_digests(connection, sides.tenant, digests)
    questions = [(page.entry, look.found_files[path].digest) for path, page in candidates.items()]
    earlier_texts = await stored_bytes.find_texts(connection, sides.tenant, questions)
    saves: dict[str, StraySave] = {}
    for path, page in candidates.items():
        file, base = look.found_files[path], base_of.get(page.entry)
        is_repeated = page.is_saved and file.digest == page.digest
        if base is None or base.claimed != file.claimed:
            continue
        if is_repeated or (
            (page.entry, file.digest) not in earlier_texts and _is_save_of(file, texts.get(page.entry, ""))
        ):
            saves[path] = StraySave(replace(base, digest=page.digest), MOVED_REASON)
            del look.found_files[path]
    return saves


def _find_candidates(sides: Sides, look: LookResult, memory: EarlierState) -> Mapping[str, FormerPath]:
    """New files at former paths, with the page that had the path."""
    if memory.is_rewound:
        return {}
    new_files = [
        file
        for file in look.found_files.values()
        if file.spot.kind is Kind.PAGE
        and file.path not in memory.base_at_path
        and memory.path_of_inode.get(file.inode, file.path) == file.path
        and file.digest not in memory.written_entries
        and not file.is_held_open
    ]
    pages = {file.path: _page_of(sides, file) for file in new_files}
    return {path: page for path, page in pages.items() if page is not None}


def _page_of(sides: Sides, file: FoundFile) -> FormerPath | None:
    cached = sides.looker.index.get(file.path)
    return sides.former_paths.find_page(file.path, cached.ctime_ns) if cached is not None else None


def _is_save_of(file: FoundFile, text: str) -> bool:
    saved_text = decode(file.data) if file.data is not None else ""
    return (similarity(text, saved_text) or 0.0) > MIN_COMMON_SHARE
