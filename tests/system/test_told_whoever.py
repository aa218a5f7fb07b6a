"""What happens to sources, folders, cases and collections is one event, whoever did it and by which way."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from psycopg.errors import InsufficientPrivilege
from psycopg.types.json import Jsonb

from mirrord.commands.pages.move_commands import move_page
from mirrord.commands.pages.page_commands import create_page
from mirrord.commands.pages.restore_command import restore_page
from mirrord.domain.entry import EntryId
from mirrord.research.sources.folder_commands import create_folder, delete_folder, rename_folder
from mirrord.research.sources.source_commands import move_source_to_folder, rename_source
from mirrord.research.sources.source_deletion import delete_source
from mirrord.research.sources.source_kinds import number_of
from mirrord.research.speakers.speaker_commands import detect_speakers
from mirrord.web.console_server import last_url
from tests.support.agents import agent
from tests.support.commands import Near
from tests.support.consoles import Console
from tests.support.editors import save
from tests.support.harness import Awaited, Mirrord, eventually

SOURCE = "---\ntype: source\n---\nAna: Hi there.\nBo: Hello to you.\nAna: I came by bus.\nBo: So did I.\nAna: Bye.\n"
LISTED = (
    "SELECT type, actor ->> 'name', channel, data FROM event "
    "WHERE data ->> 'page_id' = %(id)s OR data ->> 'record_id' = %(id)s ORDER BY occurred_at, id"
)


@pytest.fixture(scope="module")
def mirrord(admin_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrord]:
    """One daemon for all tests of this module, with a console; each test has folders of its own."""
    with Near(tmp_path_factory.mktemp("told"), tenant="told", dsn=admin_dsn) as started:
        save(started.file("Sources/Welcome.md"), "a tree that loses its last file halts\n")
        started.up("--console", "0")
        eventually(lambda: started.page("Sources/Welcome.md"), "the first page")
        yield started


@contextmanager
def dead(mirrord: Mirrord) -> Iterator[None]:
    """The daemon is killed inside of this block, and started anew after it."""
    mirrord.kill()
    try:
        yield
    finally:
        mirrord.up("--console", "0")


def row(mirrord: Mirrord, path: str) -> EntryId:
    """The id of a page, when it is a row that is complete."""

    def complete() -> EntryId | None:
        page = mirrord.page(path)
        return EntryId(page.id) if page is not None and not page.ahead else None

    return eventually(complete, f"the row of {path}")


def waiting(mirrord: Mirrord) -> list[tuple[Any, ...]]:
    """Changes that are no events yet, and events of commands that no change was held against."""
    return mirrord.app.execute(
        "SELECT 'change', entry_id::text, version::text FROM event_outbox UNION ALL "
        "SELECT 'event', e.type, e.data::text FROM event_claim AS c JOIN event AS e ON e.id = c.event_id"
    ).fetchall()


def settled(mirrord: Mirrord) -> None:
    """Every change known is on both sides, and an event if it ever will be; every event of a command is matched."""
    mirrord.flush()
    try:
        eventually(lambda: not waiting(mirrord), "no change and no event to wait for each other")
    except Awaited as error:
        raise AssertionError(waiting(mirrord)) from error


def told(mirrord: Mirrord, entry: object) -> list[tuple[str, str, str, dict[str, Any]]]:
    """All events about a page or record, when nothing more is to come."""
    settled(mirrord)
    return mirrord.app.execute(LISTED, {"id": str(entry)}).fetchall()


def types(mirrord: Mirrord, entry: object) -> list[str]:
    return [event[0] for event in told(mirrord, entry)]


def made(mirrord: Mirrord, *paths: str) -> list[EntryId]:
    """Sources and directories that somebody made, told of already."""
    for path in paths:
        if path.endswith(".md"):
            save(mirrord.file(path), SOURCE)
        else:
            mirrord.file(path).mkdir(parents=True, exist_ok=True)
    ids = [row(mirrord, path) for path in paths]
    settled(mirrord)
    return ids


def sql(mirrord: Mirrord, query: str, *values: object) -> Any:
    cursor = mirrord.app.execute(query, values)
    first = cursor.fetchone() if cursor.description else None
    return first[0] if first else None


def test_sql_makes_renames_moves_deletes_and_restores_a_source(mirrord: Mirrord) -> None:
    folder, other = made(mirrord, "Sources/S1", "Sources/S2")
    page = sql(
        mirrord, "INSERT INTO page (name, parent_id, markdown) VALUES ('s', %s, %s) RETURNING id", folder, SOURCE
    )
    assert types(mirrord, page) == ["SourceImported"]
    sql(mirrord, "UPDATE page SET name = 't' WHERE id = %s", page)
    assert types(mirrord, page)[1:] == ["SourceRenamed"]
    sql(mirrord, "UPDATE page SET parent_id = %s WHERE id = %s", other, page)
    assert types(mirrord, page)[2:] == ["SourceMovedToFolder"]
    sql(mirrord, "DELETE FROM page WHERE id = %s", page)
    assert types(mirrord, page)[3:] == ["SourceDeleted"]
    sql(mirrord, "UPDATE page SET deleted_at = NULL WHERE id = %s", page)
    events = told(mirrord, page)
    assert [event[0] for event in events][4:] == ["PageRestored"]
    assert {(actor, channel) for _, actor, channel, _ in events} == {("mirrord_app", "app")}
    imported, renamed, moved, deleted, _ = (event[3] for event in events)
    number = number_of(page)
    assert imported["source_id"] == renamed["source_id"] == moved["source_id"] == deleted["source_id"] == number
    assert (imported["source_type"], imported["folder_id"], imported["name"]) == (
        "text",
        number_of(folder),
        "s",
    )
    assert (renamed["old_name"], renamed["name"], renamed["path"]) == ("s", "t", "Sources/S1/t.md")
    assert (moved["old_folder_id"], moved["folder_id"]) == (number_of(folder), number_of(other))
    assert (deleted["name"], deleted["segments_removed"]) == ("t", 0)


def test_sql_that_overtakes_the_daemon_is_told_act_by_act(mirrord: Mirrord) -> None:
    folder, other = made(mirrord, "Sources/Q1", "Sources/Q2")
    with dead(mirrord):
        page = sql(
            mirrord, "INSERT INTO page (name, parent_id, markdown) VALUES ('q', %s, %s) RETURNING id", folder, SOURCE
        )
    with dead(mirrord):
        sql(mirrord, "UPDATE page SET name = 'r' WHERE id = %s", page)
        sql(mirrord, "UPDATE page SET parent_id = %s WHERE id = %s", other, page)
        sql(mirrord, "DELETE FROM page WHERE id = %s", page)
        sql(mirrord, "UPDATE page SET deleted_at = NULL WHERE id = %s", page)
    expected = ["SourceImported", "SourceRenamed", "SourceMovedToFolder", "SourceDeleted", "PageRestored"]
    assert types(mirrord, page) == expected


def test_sql_makes_renames_moves_deletes_and_restores_a_folder(mirrord: Mirrord) -> None:
    top, above = made(mirrord, "Sources", "Sources/F above")
    folder = sql(mirrord, "INSERT INTO page (kind, name, parent_id) VALUES ('folder', 'F', %s) RETURNING id", top)
    assert types(mirrord, folder) == ["FolderCreated"]
    sql(mirrord, "UPDATE page SET name = 'G' WHERE id = %s", folder)
    assert types(mirrord, folder)[1:] == ["FolderRenamed"]
    sql(mirrord, "UPDATE page SET parent_id = %s WHERE id = %s", above, folder)
    assert types(mirrord, folder)[2:] == ["PageMoved"]
    sql(mirrord, "DELETE FROM page WHERE id = %s", folder)
    assert types(mirrord, folder)[3:] == ["FolderDeleted"]
    sql(mirrord, "UPDATE page SET deleted_at = NULL WHERE id = %s", folder)
    events = told(mirrord, folder)
    assert [event[0] for event in events][4:] == ["PageRestored"]
    assert all(event[3]["folder_id"] == number_of(folder) for event in events)
    assert (events[1][3]["old_name"], events[1][3]["name"]) == ("F", "G")
    assert events[2][3]["parent_id"] == number_of(above)


def test_a_deleted_folder_tells_of_each_source_in_it(mirrord: Mirrord) -> None:
    folder, page = made(mirrord, "Sources/Whole", "Sources/Whole/part.md")
    sql(mirrord, "DELETE FROM page WHERE id = %s", folder)
    assert types(mirrord, page)[1:] == ["SourceDeleted"]
    assert types(mirrord, folder)[1:] == ["FolderDeleted"]


def test_sql_that_moves_a_folder_among_the_sources_tells_of_each_source_in_it(mirrord: Mirrord) -> None:
    top, outside = made(mirrord, "Sources", "Outside")
    folder, inner, page, deep, plain = made(
        mirrord, "Outside/F", "Outside/F/Inner", "Outside/F/a.md", "Outside/F/Inner/b.md", "Outside/F/plain"
    )
    assert types(mirrord, page) == types(mirrord, folder) == []
    sql(mirrord, "UPDATE page SET parent_id = %s WHERE id = %s", top, folder)
    assert [types(mirrord, entry) for entry in (folder, inner)] == [["FolderCreated"]] * 2
    events = told(mirrord, page) + told(mirrord, deep)
    assert [event[0] for event in events] == ["SourceImported"] * 2
    assert {(actor, channel) for _, actor, channel, _ in events} == {("mirrord_app", "app")}
    assert [event[3]["path"] for event in events] == ["Sources/F/a.md", "Sources/F/Inner/b.md"]
    assert [event[3]["folder_id"] for event in events] == [number_of(folder), number_of(inner)]
    sql(mirrord, "UPDATE page SET parent_id = %s WHERE id = %s", outside, folder)
    gone_events = told(mirrord, deep)[1:]
    assert [(event[0], event[3]["path"]) for event in gone_events] == [("SourceDeleted", "Sources/F/Inner/b.md")]
    sql(mirrord, "UPDATE page SET parent_id = %s WHERE id = %s", top, folder)
    assert types(mirrord, page) == ["SourceImported", "SourceDeleted", "SourceImported"]
    assert types(mirrord, plain) == ["FolderCreated", "FolderDeleted", "FolderCreated"]


def test_a_source_that_comes_with_its_folder_is_told_of_once(mirrord: Mirrord) -> None:
    top, outside = made(mirrord, "Sources", "Outside/Later")
    with dead(mirrord), mirrord.app.transaction():
        page = sql(
            mirrord, "INSERT INTO page (name, parent_id, markdown) VALUES ('l', %s, %s) RETURNING id", outside, SOURCE
        )
        sql(mirrord, "UPDATE page SET parent_id = %s WHERE id = %s", top, outside)
    assert types(mirrord, page) == ["SourceImported"]


def test_files_and_tools_that_move_a_folder_tell_of_each_source_in_it(mirrord: Mirrord) -> None:
    made(mirrord, "Sources", "Beside")
    folder, page = made(mirrord, "Sources/Whole folder", "Sources/Whole folder/w.md")
    mirrord.file("Sources/Whole folder").rename(mirrord.file("Beside/Whole folder"))
    eventually(lambda: mirrord.page("Beside/Whole folder/w.md"), "the folder outside")
    assert types(mirrord, page) == ["SourceImported", "SourceDeleted"]
    with agent(mirrord) as session:
        move_page(session, "Beside/Whole folder", "Sources/Whole folder")
    eventually(lambda: mirrord.page("Sources/Whole folder/w.md"), "the folder inside")
    assert types(mirrord, page) == ["SourceImported", "SourceDeleted", "SourceImported"]
    assert types(mirrord, folder)[:2] == ["FolderCreated", "FolderDeleted"]


def test_files_make_rename_move_delete_and_restore_a_source(mirrord: Mirrord) -> None:
    made(mirrord, "Sources/M1", "Sources/M2")
    (page,) = made(mirrord, "Sources/M1/m.md")
    assert types(mirrord, page) == ["SourceImported"]
    mirrord.file("Sources/M1/m.md").rename(mirrord.file("Sources/M1/n.md"))
    eventually(lambda: mirrord.page("Sources/M1/n.md"), "the new name")
    assert types(mirrord, page)[1:] == ["SourceRenamed"]
    mirrord.file("Sources/M1/n.md").rename(mirrord.file("Sources/M2/n.md"))
    eventually(lambda: mirrord.page("Sources/M2/n.md"), "the new folder")
    assert types(mirrord, page)[2:] == ["SourceMovedToFolder"]
    saved = mirrord.file("Sources/M2/n.md").read_text().replace("---\n", f"---\nid: {page}\n", 1)
    mirrord.file("Sources/M2/n.md").unlink()
    eventually(lambda: mirrord.page("Sources/M2/n.md") is None, "the tombstone")
    assert types(mirrord, page)[3:] == ["SourceDeleted"]
    save(mirrord.file("Sources/M2/n.md"), saved)
    assert row(mirrord, "Sources/M2/n.md") == page
    events = told(mirrord, page)
    assert [event[0] for event in events][4:] == ["PageRestored"]
    assert {(actor, channel) for _, actor, channel, _ in events} == {("file", "file")}


def test_files_make_rename_and_delete_folders(mirrord: Mirrord) -> None:
    folder, page = made(mirrord, "Sources/D1", "Sources/D1/d.md")
    assert types(mirrord, folder) == ["FolderCreated"]
    mirrord.file("Sources/D1").rename(mirrord.file("Sources/D2"))
    eventually(lambda: mirrord.page("Sources/D2"), "the new name")
    assert types(mirrord, folder)[1:] == ["FolderRenamed"]
    assert types(mirrord, page) == ["SourceImported"]
    shutil.rmtree(mirrord.file("Sources/D2"))
    eventually(lambda: mirrord.page("Sources/D2") is None, "the tombstone")
    assert types(mirrord, folder)[2:] == ["FolderDeleted"]
    assert types(mirrord, page)[1:] == ["SourceDeleted"]


class Ada:
    """A person at the console."""

    def __init__(self, mirrord: Mirrord) -> None:
        url = eventually(lambda: last_url(mirrord.data), "the console's address")
        self.browser = Console(mirrord, url).browser(mirrord.tenant)

    def settled(self, page: str) -> int:
        """The version of a page once that is on disk."""

        def quiet() -> int | None:
            answer = self.browser.get(f"pages/{page}")
            return int(answer["version"]) if answer["on_disk"] or answer["deleted"] else None

        return eventually(quiet, f"{page} on disk")

    def make(self, title: str, parent: object) -> str:
        page: str = self.browser.send("POST", "pages", {"parent": str(parent), "title": title}, 201)["id"]
        self.settled(page)
        return page

    def send(self, method: str, page: str, act: str = "", **body: Any) -> None:
        self.browser.send(method, f"pages/{page}{act}", {"version": self.settled(page), **body})


def test_a_person_at_the_console_makes_renames_moves_deletes_and_restores_sources(mirrord: Mirrord) -> None:
    (top,) = made(mirrord, "Sources")
    ada = Ada(mirrord)
    folder = ada.make("By console", top)
    assert types(mirrord, folder) == []
    page = ada.make("Talk", folder)
    other = ada.make("Second", folder)
    assert (types(mirrord, folder), types(mirrord, page), types(mirrord, other)) == (["FolderCreated"], [], [])
    ada.send("PUT", page, "/markdown", markdown=SOURCE)
    assert types(mirrord, page) == ["SourceImported"]
    ada.send("PATCH", page, title="Speech", icon=None)
    assert types(mirrord, page)[1:] == ["SourceRenamed"]
    ada.send("POST", page, "/move", parent=str(top), before=None)
    assert types(mirrord, page)[2:] == ["SourceMovedToFolder"]
    ada.send("DELETE", page)
    assert types(mirrord, page)[3:] == ["SourceDeleted"]
    ada.browser.send("POST", f"pages/{page}/revive", {})
    events = told(mirrord, page)
    assert [event[0] for event in events][4:] == ["PageRestored"]
    assert {(actor, channel) for _, actor, channel, _ in events} == {("ada", "console")}
    ada.send("PATCH", folder, title="By the console", icon=None)
    assert types(mirrord, folder)[1:] == ["FolderRenamed"]
    ada.send("DELETE", folder)
    assert types(mirrord, folder)[2:] == ["FolderDeleted"]


def test_what_tools_tell_is_not_told_again(mirrord: Mirrord) -> None:
    (page,) = made(mirrord, "Sources/by tools.md")
    with agent(mirrord) as session:
        folder = create_folder(session, "Tools")
        entry = row(mirrord, "Sources/Tools")
        assert types(mirrord, entry) == ["FolderCreated"]
        rename_folder(session, folder.folder_id, "Tooled")
        eventually(lambda: mirrord.page("Sources/Tooled"), "the new name")
        assert types(mirrord, entry)[1:] == ["FolderRenamed"]
        rename_source(session, number_of(page), "by a tool")
        eventually(lambda: mirrord.page("Sources/by a tool.md"), "the new name")
        assert types(mirrord, page)[1:] == ["SourceRenamed"]
        move_source_to_folder(session, number_of(page), folder.folder_id)
        eventually(lambda: mirrord.page("Sources/Tooled/by a tool.md"), "the new folder")
        assert types(mirrord, page)[2:] == ["SourceMovedToFolder"]
        detect_speakers(session, number_of(page))
        assert types(mirrord, page)[3:] == ["SpeakersDetected"]
        deleted = delete_source(session, number_of(page))
        eventually(lambda: mirrord.page("Sources/Tooled/by a tool.md") is None, "the tombstone")
        assert types(mirrord, page)[4:] == ["SourceDeleted"]
        restore_page(session, deleted.trash_id)
        eventually(lambda: mirrord.page("Sources/Tooled/by a tool.md"), "the source back")
        assert types(mirrord, page)[5:] == ["PageRestored"]
        move_page(session, "Sources/Tooled/by a tool.md", "Sources/by a tool.md")
        eventually(lambda: mirrord.page("Sources/by a tool.md"), "the source moved")
        assert types(mirrord, page)[6:] == ["PageMoved"]
        delete_folder(session, folder.folder_id)
        eventually(lambda: mirrord.page("Sources/Tooled") is None, "the folder's tombstone")
        assert types(mirrord, entry)[2:] == ["FolderDeleted"]


def test_what_tools_did_while_the_daemon_was_dead_is_told_once(mirrord: Mirrord) -> None:
    (page,) = made(mirrord, "Sources/meanwhile.md")
    before = types(mirrord, page)
    with dead(mirrord), agent(mirrord) as session:
        folder = create_folder(session, "Dead")
        rename_folder(session, folder.folder_id, "Deader")
        rename_source(session, number_of(page), "meanwhile 2")
        move_source_to_folder(session, number_of(page), folder.folder_id)
        rename_source(session, number_of(page), "meanwhile 3")
        made_page = create_page(session, "Plain", "Sources/Deader", "---\ntype: source\n---\nx\n")
    row(mirrord, "Sources/Deader/meanwhile 3.md")
    assert types(mirrord, page) == [*before, "SourceRenamed", "SourceMovedToFolder", "SourceRenamed"]
    assert types(mirrord, row(mirrord, "Sources/Deader")) == ["FolderCreated", "FolderRenamed"]
    assert types(mirrord, made_page.page_id) == ["PageCreated"]


def test_what_a_person_does_after_a_tool_is_told_beside_it(mirrord: Mirrord) -> None:
    (page,) = made(mirrord, "Sources/after.md")
    with dead(mirrord), agent(mirrord) as session:
        rename_source(session, number_of(page), "after 2")
        mirrord.file("Sources/after 2.md").rename(mirrord.file("Sources/after 3.md"))
    row(mirrord, "Sources/after 3.md")
    events = told(mirrord, page)
    assert [(kind, data.get("old_name"), data["name"]) for kind, _, _, data in events[1:]] == [
        ("SourceRenamed", "after", "after 2"),
        ("SourceRenamed", "after 2", "after 3"),
    ]


def test_the_command_line_tells_once(mirrord: Mirrord) -> None:
    (page,) = made(mirrord, "Sources/by cli.md")
    for words in (
        ["folders", "create", "Lines"],
        ["sources", "rename", str(page), "by line"],
        ["sources", "move", str(page), "Sources/Lines"],
    ):
        completed = mirrord.run(*words, "--tenant", mirrord.tenant)
        assert completed.returncode == 0, completed.stderr
    row(mirrord, "Sources/Lines/by line.md")
    assert types(mirrord, page)[1:] == ["SourceRenamed", "SourceMovedToFolder"]
    assert types(mirrord, row(mirrord, "Sources/Lines")) == ["FolderCreated"]


@pytest.mark.parametrize("way", ["sql", "file"])
def test_a_kill_between_the_change_and_its_event_loses_and_doubles_nothing(mirrord: Mirrord, way: str) -> None:
    (page,) = made(mirrord, f"Sources/killed {way}.md")
    before = types(mirrord, page)
    for number in range(3):
        old, new = f"killed {way}" + f" {number}" * bool(number), f"killed {way} {number + 1}"
        if way == "sql":
            sql(mirrord, "UPDATE page SET name = %s WHERE id = %s", new, page)
        else:
            mirrord.file(f"Sources/{old}.md").rename(mirrord.file(f"Sources/{new}.md"))
            row(mirrord, f"Sources/{new}.md")
        with dead(mirrord):
            pass
        assert row(mirrord, f"Sources/{new}.md") == page
    assert types(mirrord, page) == [*before, *["SourceRenamed"] * 3]


def test_collections_and_categories_are_told_whoever_changes_them(mirrord: Mirrord) -> None:
    data = {"dir": "Sources", "patterns": ["*.md"]}
    insert = "INSERT INTO record (kind, key, data) VALUES (%s, %s, %s) RETURNING id"
    category = sql(mirrord, insert, "category", "talks", Jsonb(data))
    collection = sql(mirrord, insert, "collection", "all", Jsonb({"categories": ["talks"]}))
    assert (types(mirrord, category), types(mirrord, collection)) == (["CategoryAdded"], ["CollectionAdded"])
    file = mirrord.file(".records/categories/talks.yaml")
    eventually(file.exists, "the file")
    save(file, file.read_text() + "description: spoken\n")
    eventually(lambda: sql(mirrord, "SELECT data ->> 'description' FROM record WHERE id = %s", category), "the row")
    assert types(mirrord, category)[1:] == ["CategoryChanged"]
    sql(mirrord, "UPDATE record SET data = data || %s WHERE id = %s", Jsonb({"patterns": ["a*"]}), category)
    assert types(mirrord, category)[2:] == ["CategoryUpdated"]
    mirrord.flush()
    completed = mirrord.run("categories", "change", "talks", "--description", "said", "--tenant", mirrord.tenant)
    assert completed.returncode == 0, completed.stderr
    eventually(
        lambda: sql(mirrord, "SELECT data ->> 'description' FROM record WHERE id = %s", category) == "said", "the row"
    )
    assert types(mirrord, category)[3:] == ["CategoryChanged"]
    sql(mirrord, "DELETE FROM record WHERE id = %s", collection)
    events = told(mirrord, collection)
    assert [event[0] for event in events] == ["CollectionAdded", "CollectionRemoved"]
    assert events[0][3]["categories"] == events[1][3]["categories"] == ["talks"]


def test_who_speaks_is_told_when_an_app_says_it(mirrord: Mirrord) -> None:
    (page,) = made(mirrord, "Sources/spoken.md")
    turns = {"a": {"start": 0, "end": 8, "label": "Ana", "kind": "speaker", "detected": True}}
    sql(mirrord, "INSERT INTO record (kind, key, data) VALUES ('segment', %s, %s)", str(page), Jsonb(turns))
    kind, actor, channel, data = told(mirrord, page)[-1]
    assert (kind, actor, channel, data["speakers"]) == ("SpeakersDetected", "mirrord_app", "app", ["Ana"])
    assert data["segments_count"] == 1


def test_a_case_by_hand_is_told(mirrord: Mirrord) -> None:
    save(mirrord.file("Cases/R9.md"), "---\ntype: case\ntitle: R 9\nsurvey: Wave\n---\n")
    events = told(mirrord, row(mirrord, "Cases/R9.md"))
    assert [(kind, data["name"], data["survey"]) for kind, _, _, data in events] == [("CaseCreated", "R 9", "Wave")]


def test_ordinary_pages_tell_nothing_and_an_edit_leaves_no_note(mirrord: Mirrord) -> None:
    save(mirrord.file("Plain.md"), "a\n")
    page = row(mirrord, "Plain.md")
    assert types(mirrord, page) == []
    with mirrord.app.transaction(force_rollback=True):
        mirrord.app.execute("UPDATE page SET markdown = 'b' WHERE id = %s", [page])
        assert sql(mirrord, "SELECT count(*) FROM event_outbox") == 0
    (source,) = made(mirrord, "Sources/edited.md")
    with mirrord.app.transaction(force_rollback=True):
        mirrord.app.execute("UPDATE page SET markdown = markdown || 'b' WHERE id = %s", [source])
        assert sql(mirrord, "SELECT count(*) FROM event_outbox") == 0
    sql(mirrord, "UPDATE page SET name = 'Plainer' WHERE id = %s", page)
    assert types(mirrord, page) == []


@pytest.mark.parametrize("file", ["event_outbox", "event_claim"])
def test_an_app_writes_no_notes(mirrord: Mirrord, file: str) -> None:
    with pytest.raises(InsufficientPrivilege):
        mirrord.app.execute(f"DELETE FROM {file}".encode())
