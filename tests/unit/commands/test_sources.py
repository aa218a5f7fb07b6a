"""Sources: what there is, their text, and what people and agents do with them."""

from pathlib import Path

from mirrord.commands import segments
from mirrord.commands.holdings import Reference
from mirrord.commands.session import Session
from mirrord.commands.sources import (
    list_sources,
)
from mirrord.domain.entry import EntryId, new_id
from mirrord.domain.segment import Segment
from tests.unit.commands.conftest import page


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
