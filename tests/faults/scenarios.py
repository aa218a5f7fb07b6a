"""Scenarios: a small world at rest, and what happens to it while no daemon looks."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from psycopg.types.json import Jsonb

from mirrord.domain.entry import digest_of
from mirrord.mirror.write import trash
from tests.faults import record_scenarios as told
from tests.faults.stage import Stage, staged
from tests.faults.world import Cluster

OLD = "First line.\n\nMiddle Qz0001.\n\nLast line.\n"
OTHER = "Another page Qz0009.\n"
ATTACHED = b"<svg>Qz0008</svg>"

Act = Callable[[Stage], None]

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Scenario:
    """
    before: makes the world at rest. act: what happens then.
    tokens: what must be found afterwards, wherever the engine was stopped.
    expired: what is in the trash is over its time, and may go.
    from_start: faults come while the mirror is opened, too.
    """

    name: str
    before: Act
    act: Act
    tokens: frozenset[str]
    expired: bool = False
    from_start: bool = False

    @contextmanager
    def set_up(self, cluster: Cluster, directory: Path) -> Iterator[Stage]:
        """A stage of its own on which it has happened, and no engine has looked since."""
        name = f"scenario-{next(_numbers)}"
        with staged(cluster, directory / name, name) as stage:
            self.before(stage)
            stage.converge()
            self.act(stage)
            yield stage

    def begin(self) -> None:
        """In the process of the engine."""
        if self.expired:
            trash.RETENTION = trash.VERSION_RETENTION = timedelta(seconds=-60)


def _page(stage: Stage) -> None:
    stage.save("Page.md", OLD)
    stage.save("Other.md", OTHER)


def _folder(stage: Stage) -> None:
    _page(stage)
    stage.save("Box/One.md", "One Qz0002.\n")
    stage.save("Box/Two.md", "Two Qz0003.\n")


def _attachment(stage: Stage) -> None:
    _page(stage)
    stage.save("assets/drawing.svg", ATTACHED.decode())


def _new_file(stage: Stage) -> None:
    stage.save("New/Deep.md", "New Qz0004.\n")


def _edit_file(stage: Stage) -> None:
    stage.save("Page.md", OLD.replace("Last line.", "Last line Qz0004."))


def _edit_row(stage: Stage) -> None:
    _set(stage, "Page.md", markdown=OLD.replace("First line.", "First line Qz0005."))


def _edit_same_line_of_row(stage: Stage) -> None:
    _set(stage, "Page.md", markdown=OLD.replace("Last line.", "Quite another end Qz0005."))


def _edit_row_likewise(stage: Stage) -> None:
    _set(stage, "Page.md", markdown=OLD.replace("Last line.", "Last line Qz0004."))


def _retitle(stage: Stage) -> None:
    _set(stage, "Page.md", title="Title Qz0006")


def _rewrite_document(stage: Stage) -> None:
    words = {"type": "paragraph", "content": [{"type": "text", "text": "A document Qz0006."}]}
    _set(stage, "Page.md", content=Jsonb({"type": "doc", "content": [words]}))


def _insert_row(stage: Stage) -> None:
    stage.sql("INSERT INTO mirrord.page (title, markdown) VALUES ('Row', 'A row Qz0006.')")


def _insert_child(stage: Stage) -> None:
    parent = stage.page("Page.md")
    stage.sql("INSERT INTO mirrord.page (parent_id, title, markdown) VALUES (%s, 'Child', 'Child Qz0006.')", parent)


def _insert_twin(stage: Stage) -> None:
    stage.sql("INSERT INTO mirrord.page (name, markdown) VALUES ('page', 'A twin Qz0006.')")


def _insert_namesake(stage: Stage) -> None:
    stage.sql("INSERT INTO mirrord.page (name, markdown) VALUES ('New', 'The row of New Qz0006.')")
    stage.save("New.md", "The file of New Qz0004.\n")


def _delete_row(stage: Stage) -> None:
    _set(stage, "Page.md", deleted_at="now")


def _delete_folder_row(stage: Stage) -> None:
    _set(stage, "Box", deleted_at="now")


def _delete_file(stage: Stage) -> None:
    (stage.root / "Page.md").unlink()


def _delete_folder(stage: Stage) -> None:
    for name in ("One", "Two"):
        (stage.root / f"Box/{name}.md").unlink()
    (stage.root / "Box").rmdir()


def _rename_file(stage: Stage) -> None:
    (stage.root / "Page.md").rename(stage.root / "Renamed.md")


def _rename_row(stage: Stage) -> None:
    _set(stage, "Page.md", name="Renamed by an app")


def _rename_row_likewise(stage: Stage) -> None:
    _set(stage, "Page.md", name="Renamed")


def _edit_in_folder(stage: Stage) -> None:
    stage.save("Box/One.md", "One Qz0002, edited Qz0004.\n")


def _new_in_folder(stage: Stage) -> None:
    stage.save("Box/New.md", "New Qz0004.\n")


def _edit_row_in_folder(stage: Stage) -> None:
    _set(stage, "Box/One.md", markdown="One, edited Qz0005.\n")


def _rename_case(stage: Stage) -> None:
    (stage.root / "Page.md").rename(stage.root / "PAGE.md")


def _rename_folder(stage: Stage) -> None:
    (stage.root / "Box").rename(stage.root / "Crate")


def _rename_folder_row(stage: Stage) -> None:
    _set(stage, "Box", name="Crate")


def _move_row(stage: Stage) -> None:
    _set(stage, "Page.md", parent_id=stage.page("Box"))


def _move_away_and_delete(stage: Stage) -> None:
    (stage.root / "Box/One.md").rename(stage.root / "One.md")
    _delete_folder_row(stage)


def _circle(stage: Stage) -> None:
    stage.save("Bag/Three.md", "Three Qz0007.\n")
    stage.converge()
    _set(stage, "Bag", parent_id=stage.page("Box"))
    (stage.root / "Box").rename(stage.root / "Bag/Box")


def _rename_row_and_follow(stage: Stage) -> None:
    """Another row takes the name that is free now, before any daemon looked."""
    _rename_row(stage)
    stage.sql("INSERT INTO mirrord.page (name, markdown) VALUES ('Page', 'The follower Qz0006.')")


def _rename_folder_row_and_follow(stage: Stage) -> None:
    _rename_folder_row(stage)
    stage.sql("INSERT INTO mirrord.page (kind, name) VALUES ('folder', 'Box')")


def _elsewhere(act: Act) -> Act:
    """*act* happens in the tree of another mirror, whose daemon carries it over."""

    def act_elsewhere(stage: Stage) -> None:
        other = replace(stage, directory=stage.directory / "elsewhere")
        other.root.mkdir(parents=True)
        other.converge()
        act(other)
        other.converge()

    return act_elsewhere


def _family(stage: Stage) -> None:
    _page(stage)
    stage.save("Page/Child.md", "Child Qz0002.\n")


def _swap(stage: Stage) -> None:
    (stage.root / "Page.md").rename(stage.root / "aside.tmp")
    (stage.root / "Other.md").rename(stage.root / "Page.md")
    (stage.root / "aside.tmp").rename(stage.root / "Other.md")


def _swap_rows(stage: Stage) -> None:
    page, other = stage.page("Page.md"), stage.page("Other.md")
    for entry, name in ((page, "aside"), (other, "Page"), (page, "Other")):
        stage.sql("UPDATE mirrord.page SET name = %s WHERE id = %s", name, entry)


def _new_attachment(stage: Stage) -> None:
    stage.save("assets/drawing.svg", ATTACHED.decode())


def _attach_row(stage: Stage) -> None:
    digest = bytes(digest_of(ATTACHED))
    stage.sql("INSERT INTO mirrord.blob (digest, part, bytes) VALUES (%s, 0, %s)", digest, ATTACHED)
    insert = "INSERT INTO mirrord.attachment (name, digest, size) VALUES ('drawing.svg', %s, %s)"
    stage.sql(insert, digest, len(ATTACHED))


def _edit_attachment(stage: Stage) -> None:
    stage.save("assets/drawing.svg", "<svg>Qz0004</svg>")


def _lose_bases(stage: Stage) -> None:
    """As a mirror whose row was lost: its files are all there, and nobody knows them."""
    with stage.cluster.administered() as connection:
        connection.execute("DELETE FROM mirrord.mirror_base WHERE tenant_id = %s", [stage.tenant])
    _forget_cache(stage)


def _forget_cache(stage: Stage) -> None:
    for path in (stage.root / ".mirrord").glob("state.db*"):
        path.unlink()


def _lose_row(stage: Stage) -> None:
    """As somebody with every right does it: no trigger sees it, no tombstone is left."""
    page = stage.page("Page.md")
    with stage.cluster.administered() as connection:
        connection.execute("SET session_replication_role = replica")
        for table in ("page_revision", "entry_feed"):
            column = "page_id" if table == "page_revision" else "entry_id"
            query = f"DELETE FROM mirrord.{table} WHERE {column} = %s"
            connection.execute(query.encode(), [page])
        connection.execute("DELETE FROM mirrord.page WHERE id = %s", [page])


def _lose_row_and_file(stage: Stage) -> None:
    _lose_row(stage)
    _delete_file(stage)


def _empty_file(stage: Stage) -> None:
    (stage.root / "Page.md").write_bytes(b"")


def _write_to_trash(stage: Stage) -> None:
    """A program that had the file open before it was replaced goes on writing to it."""
    _edit_row(stage)
    stage.converge()
    (displaced,) = (stage.root / ".mirrord/trash").glob("w.*")
    displaced.write_text(OLD.replace("Last line.", "Last line, late Qz0004."), encoding="utf-8")


def _leave_save(stage: Stage) -> None:
    """What a kill leaves between the exchange and the look at what came out of it."""
    page, old, new = stage.page("Page.md"), digest_of(OLD.encode()).hex(), OLD.replace("First line.", "First Qz0005.")
    _set(stage, "Page.md", markdown=new)
    name = f"w.{page}.{old}.{digest_of(new.encode()).hex()}.{'0' * 16}"
    stage.save(f".mirrord/tmp/daemon/{name}", OLD.replace("Last line.", "Last line Qz0004."))
    stage.save("Page.md", new)


def _page_gone(stage: Stage) -> None:
    _page(stage)
    stage.converge()
    _delete_file(stage)


def _forget_a_record(stage: Stage) -> None:
    """As a kill between the file's exchange and the commit of its base leaves it; then an app goes on."""
    _edit_row(stage)
    stage.converge()
    with stage.cluster.administered() as connection:
        connection.execute("SET session_replication_role = replica")  # or a trigger asks whose tenant this is
        back = "UPDATE mirrord.mirror_base SET version = 1, digest = %s WHERE tenant_id = %s AND path = 'Page.md'"
        connection.execute(back, [digest_of(OLD.encode()), stage.tenant])
    _set(stage, "Page.md", markdown=OLD.replace("First line.", "Once more Qz0006."))


def _stale_copy(stage: Stage) -> None:
    """An older version comes back while nobody knows this tree."""
    _edit_row(stage)
    stage.converge()
    _lose_bases(stage)
    stage.save("Page.md", OLD)


def _set(stage: Stage, path: str, **columns: object) -> None:
    names = ", ".join(f"{name} = %s" for name in columns)
    stage.sql(f"UPDATE mirrord.page SET {names} WHERE id = %s", *columns.values(), stage.page(path))


def _both(*acts: Act) -> Act:
    def act(stage: Stage) -> None:
        for act in acts:
            act(stage)

    return act


def _scenario(
    name: str, before: Act, act: Act, extra_tokens: str = "", *, expired: bool = False, from_start: bool = False
) -> Scenario:
    """more: the last digits of tokens beside those of a page and another one."""
    tokens = frozenset({"Qz0001", "Qz0009", *(f"Qz000{digit}" for digit in extra_tokens)})
    return Scenario(name, before, act, tokens, expired, from_start)


SCENARIOS = (
    _scenario("a new file", _page, _new_file, "4"),
    _scenario("a file edited", _page, _edit_file, "4"),
    _scenario("a row edited", _page, _edit_row, "5"),
    _scenario("both edited, apart", _page, _both(_edit_file, _edit_row), "45"),
    _scenario("both edited, same line", _page, _both(_edit_file, _edit_same_line_of_row), "45"),
    _scenario("both edited alike", _page, _both(_edit_file, _edit_row_likewise), "4"),
    _scenario("a title written", _page, _retitle, "6"),
    _scenario("a document written", _page, _rewrite_document, "6"),
    _scenario("a row inserted", _page, _insert_row, "6"),
    _scenario("a child of a leaf inserted", _page, _insert_child, "6"),
    _scenario("a twin inserted", _page, _insert_twin, "6"),
    _scenario("a row and a file of one name", _page, _insert_namesake, "46"),
    _scenario("a file deleted", _page, _delete_file),
    _scenario("a row deleted", _page, _delete_row),
    _scenario("both deleted", _page, _both(_delete_row, _delete_file)),
    _scenario("a row deleted, its file edited", _page, _both(_delete_row, _edit_file), "4"),
    _scenario("a file deleted, its row edited", _page, _both(_edit_row, _delete_file), "5"),
    _scenario("a file renamed", _page, _rename_file),
    _scenario("a file renamed and edited", _page, _both(_edit_file, _rename_file), "4"),
    _scenario("a row renamed", _page, _rename_row),
    _scenario("a row renamed, its file edited", _page, _both(_edit_file, _rename_row), "4"),
    _scenario("both renamed apart", _page, _both(_rename_row, _rename_file)),
    _scenario("both renamed alike", _page, _both(_rename_row_likewise, _rename_file)),
    _scenario("a file with children renamed", _family, _rename_file, "2"),
    _scenario("a row with children renamed", _family, _rename_row, "2"),
    _scenario("a file with children deleted", _family, _delete_file, "2"),
    _scenario("a page made a folder elsewhere", _family, _elsewhere(_delete_file), "2"),
    _scenario("a file edited here and elsewhere", _page, _both(_elsewhere(_edit_row_likewise), _edit_file), "4"),
    _scenario(
        "a folder renamed elsewhere, a file in it edited",
        _folder,
        _both(_elsewhere(_rename_folder), _edit_in_folder),
        "234",
    ),
    _scenario("a row renamed, another takes its name", _page, _rename_row_and_follow, "6"),
    _scenario("a folder's row renamed, another takes its name", _folder, _rename_folder_row_and_follow, "23"),
    _scenario("a file renamed by case", _page, _rename_case),
    _scenario("two files swapped", _page, _swap),
    _scenario("two rows swapped", _page, _swap_rows),
    _scenario("a row moved into a folder", _folder, _move_row, "23"),
    _scenario("a folder renamed", _folder, _rename_folder, "23"),
    _scenario("a folder's row renamed", _folder, _rename_folder_row, "23"),
    _scenario("a folder deleted", _folder, _delete_folder, "23"),
    _scenario("a folder's row deleted", _folder, _delete_folder_row, "23"),
    _scenario("a folder's row deleted, a file new in it", _folder, _both(_delete_folder_row, _new_in_folder), "234"),
    _scenario("a folder deleted, a row in it edited", _folder, _both(_edit_row_in_folder, _delete_folder), "235"),
    _scenario("a folder's row deleted, a file moved out", _folder, _move_away_and_delete, "23"),
    _scenario("two folders moved into each other", _folder, _circle, "237"),
    _scenario("a new attachment", _page, _new_attachment, "8"),
    _scenario("an attachment's row inserted", _page, _attach_row, "8"),
    _scenario("an attachment edited", _attachment, _edit_attachment, "48"),
    _scenario("a record's file edited", told.record, told.edit_file, "24"),
    _scenario("a record's row edited", told.record, told.edit_row, "25"),
    _scenario("a record edited on both sides", told.record, _both(told.edit_file, told.edit_row), "245"),
    _scenario(
        "a record edited on both sides, the same value",
        told.record,
        _both(told.edit_file, told.edit_same_value_of_row),
        "245",
    ),
    _scenario("a record's row inserted", told.record, told.insert_row, "26"),
    _scenario("a record's row and its file made at once", told.record, told.insert_row_and_save_file, "246"),
    _scenario("a record's row deleted", told.record, told.delete_row, "2"),
    _scenario("a record's row replaced by another", told.record, told.replace_row, "26"),
    _scenario("two records swapped", told.record, told.swap, "27"),
    _scenario("events appended", told.record, told.append_events, "2"),
    _scenario("a tree nobody knows", _page, _lose_bases),
    _scenario("an older tree nobody knows", _page, _stale_copy, "5"),
    _scenario("a row lost", _page, _lose_row),
    Scenario("a row and its file lost", _page, _lose_row_and_file, frozenset({"Qz0009"})),
    _scenario("a deleted file comes back", _page_gone, _edit_file, "4"),
    _scenario("a file written and not recorded, its row gone on", _page, _forget_a_record, "56"),
    _scenario("a file emptied", _page, _empty_file),
    _scenario("a late write to a replaced file", _page, _write_to_trash, "45"),
    _scenario("a save left in the journal", _page, _leave_save, "45"),
    _scenario("a file edited, from the start", _page, _edit_file, "4", from_start=True),
    _scenario("a row edited, from the start", _page, _edit_row, "5", from_start=True),
    _scenario("a tree nobody knows, from the start", _page, _lose_bases, from_start=True),
    _scenario("a save left in the journal, from the start", _page, _leave_save, "45", from_start=True),
    _scenario("a trash purged", _page, _both(_edit_row, Stage.converge), "5", expired=True),
)

# Bugs of the engine that are not mended yet. A scenario that is listed here and holds is to be taken out.
KNOWN: dict[str, str] = {}

# As above, but only where a call fails; kills are played.
KNOWN_WITH_ERRORS: dict[str, str] = {}
