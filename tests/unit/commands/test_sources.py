"""Sources: what there is, their text, and what people and agents do with them."""

from pathlib import Path

import pytest

from mirrord.commands import segments
from mirrord.commands.failure import Failed
from mirrord.commands.folders import create_folder, list_folders
from mirrord.commands.holdings import Reference
from mirrord.commands.moves import move_page
from mirrord.commands.pages import create_page, read_page
from mirrord.commands.removal import restore_page
from mirrord.commands.session import Session
from mirrord.commands.sources import (
    delete_source,
    get_source_text,
    list_sources,
    move_source_to_folder,
    preview_delete_source,
    preview_move_source_to_folder,
    preview_rename_source,
    rename_source,
)
from mirrord.domain.approval import ABSENT
from mirrord.domain.entry import EntryId, digest_of, id_of_path, new_id
from mirrord.domain.number import number_of
from mirrord.domain.segment import Segment
from tests.unit.commands.conftest import TENANT, Open, events, page
from tests.unit.commands.test_folders import files


def source(root: Path, path: str, body: str = "Said.\n", **keys: str) -> EntryId:
    """A source as an import leaves it; its id."""
    entry = new_id()
    head = "".join(f"{key}: {value}\n" for key, value in keys.items())
    page(root, path, f"---\nid: {entry}\ntype: source\n{head}---\n{body}")
    return entry


def with_segments(session: Session, entry: EntryId, number: int) -> None:
    made = [Segment.of("Said. " * number, at * 6, at * 6 + 4, "Ana", "speaker", "tester") for at in range(number)]
    with session.writing() as journal:
        segments.rewrite(session, journal, entry, lambda _: made)


def names_of(session: Session, **filters: Reference) -> list[str]:
    return [one.name for one in list_sources(session, **filters).sources]  # type: ignore[arg-type]
