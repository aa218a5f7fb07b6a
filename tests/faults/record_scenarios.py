"""What happens to records and events on a stage."""

import os
from datetime import UTC, datetime
from uuid import uuid5

from psycopg.types.json import Jsonb

from mirrord.domain.entry import Actor
from mirrord.domain.event import Event, EventType, encode_event, event_file_path
from tests.faults.stage import Stage

CATEGORY = "# Kept Qz0002\ndir: Books\npatterns:\n  - novels/**\n"
_FILE = ".records/categories/books.yaml"


def record(stage: Stage) -> None:
    stage.save("Page.md", "A page Qz0001.\n")
    stage.save("Other.md", "Another page Qz0009.\n")
    stage.save(_FILE, CATEGORY)


def edit_file(stage: Stage) -> None:
    stage.save(_FILE, CATEGORY + "description: Of the file Qz0004\n")


def edit_row(stage: Stage) -> None:
    stage.sql("UPDATE mirrord.record SET data = data || %s WHERE key = 'books'", Jsonb({"dir": "Of the row Qz0005"}))


def edit_same_value_of_row(stage: Stage) -> None:
    change = Jsonb({"description": "Of the row Qz0005"})
    stage.sql("UPDATE mirrord.record SET data = data || %s WHERE key = 'books'", change)


def insert_row(stage: Stage) -> None:
    data = Jsonb({"categories": ["books"], "description": "Of an app Qz0006"})
    stage.sql("INSERT INTO mirrord.record (kind, key, data) VALUES ('collection', 'shelf', %s)", data)


def insert_row_and_save_file(stage: Stage) -> None:
    insert_row(stage)
    stage.save(".records/collections/shelf.yaml", "categories:\n  - books\ndescription: Of a person Qz0004\n")


def delete_row(stage: Stage) -> None:
    stage.sql("UPDATE mirrord.record SET deleted_at = now() WHERE key = 'books'")


def replace_row(stage: Stage) -> None:
    """Another row takes the key before any daemon looked."""
    stage.sql("UPDATE mirrord.record SET deleted_at = now() WHERE key = 'books'")
    stage.sql(
        "INSERT INTO mirrord.record (kind, key, data) VALUES ('category', 'books', %s)",
        Jsonb({"dir": "Another Qz0006"}),
    )


def swap(stage: Stage) -> None:
    stage.save(".records/categories/films.yaml", "dir: Films Qz0007\n")
    stage.converge()
    directory = stage.root / ".records/categories"
    (directory / "books.yaml").rename(directory / ".aside")
    (directory / "films.yaml").rename(directory / "books.yaml")
    (directory / ".aside").rename(directory / "films.yaml")


def append_events(stage: Stage) -> None:
    """Some lines, of which one is none, and the last does not end yet."""
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    lines = [
        encode_event(
            Event(uuid5(stage.tenant, str(number)), EventType.PAGE_WRITTEN, moment, stage.name, _AGENT, {"n": number})
        )
        for number in range(6)
    ]
    file = stage.root / event_file_path(moment, "desk")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as stream:
        stream.write(b"".join([*lines[:3], b"torn by a crash\n", *lines[3:5], lines[5][:8]]))
        os.fsync(stream.fileno())


_AGENT = Actor("agent", "researcher")
