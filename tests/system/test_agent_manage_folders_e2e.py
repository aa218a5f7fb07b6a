"""Agents order sources in folders: they propose, people approve at the command line, and all of it is in Postgres."""

import allure

from mirrord.domain.entry import new_id
from mirrord.research.sources.source_kinds import number_of
from tests.support.editors import save
from tests.support.guests import ACTOR, Host
from tests.support.harness import eventually
from tests.support.people import granted, pending


def source(host: Host, path: str) -> int:
    """The number of a source that is there in files and rows."""
    entry = new_id()
    save(host.mirrord.file(path), f"---\nid: {entry}\ntype: source\n---\nAna: Hi.\n")
    eventually(lambda: host.mirrord.page(path), f"the row of {path}")
    return number_of(entry)


@allure.story("QC-027.13 Agent Manage Folders")  # type: ignore[no-untyped-call, untyped-decorator]  # it has no types
async def test_an_agent_makes_folders_and_moves_a_source_once_a_person_approves(host: Host) -> None:
    ana = source(host, "Sources/Ana.md")
    async with host.agent() as agent:
        waiting = await pending(agent, "create_folder", name="Interviews")
        assert waiting["preview"]["summary"] == "The folder 'Interviews' would be made at the top level."
        assert "Interviews" not in {folder["name"] for folder in (await agent.call("list_folders"))["folders"]}
        outer = await granted(agent, host.mirrord, "create_folder", name="Interviews")
        inner = await granted(agent, host.mirrord, "create_folder", name="2024", parent_id=outer["folder_id"])
        moved = await granted(agent, host.mirrord, "move_source_to_folder", source_id=ana, folder_id=inner["folder_id"])
        listed = await agent.call("list_folders")
        sources = await agent.call("list_sources", folder_id=inner["folder_id"])

    assert (outer["name"], outer["parent_id"]) == ("Interviews", None)
    assert moved | {"path": ""} == {
        "source_id": ana,
        "old_folder_id": None,
        "folder_id": inner["folder_id"],
        "path": "",
    }
    listed_folders = {(folder["id"], folder["name"], folder["parent_id"]) for folder in listed["folders"]}
    assert {
        (outer["folder_id"], "Interviews", None),
        (inner["folder_id"], "2024", outer["folder_id"]),
    } <= listed_folders
    assert all(folder["created_at"] for folder in listed["folders"] if folder["name"] in ("Interviews", "2024"))
    assert listed["total_count"] == len(listed["folders"])
    assert [(source["id"], source["segments_count"]) for source in sources["sources"]] == [(ana, 0)]
    row = eventually(lambda: host.mirrord.page("Sources/Interviews/2024"), "the row of the folder")
    assert number_of(row.id) == inner["folder_id"]  # type: ignore[arg-type]
    assert host.told(1, folder_id=outer["folder_id"]) == [("FolderCreated", "agent", ACTOR)]
    by_hand, by_tool = ("SourceImported", "human", "file"), ("SourceMovedToFolder", "agent", ACTOR)
    assert host.told(2, source_id=ana) == [by_hand, by_tool]


@allure.story("QC-027.13 Agent Manage Folders")  # type: ignore[no-untyped-call, untyped-decorator]  # it has no types
async def test_a_name_that_is_taken_is_refused_before_a_person_is_asked(host: Host) -> None:
    host.mirrord.file("Sources/Reports").mkdir(parents=True)
    async with host.agent() as agent:
        refused = await agent.refused("create_folder", name="reports")
        blank = await agent.refused("create_folder", name=" ")
        nowhere = await agent.refused("create_folder", name="X", parent_id=1)

    assert refused["code"] == "FOLDER_NOT_CREATED/DUPLICATE_NAME"
    assert refused["error"].startswith("There is something called 'reports' at the top level already")
    assert (blank["code"], blank["error_type"]) == ("FOLDER_NOT_CREATED/INVALID_NAME", "invalid")
    assert (nowhere["code"], nowhere["error_type"]) == ("FOLDER_NOT_CREATED/PARENT_NOT_FOUND", "not_found")


@allure.story("QC-027.13 Agent Manage Folders")  # type: ignore[no-untyped-call, untyped-decorator]  # it has no types
async def test_an_agent_renames_a_folder_and_deletes_it_once_it_is_empty(host: Host) -> None:
    source(host, "Sources/Old/Ben.md")
    async with host.agent() as agent:
        folders = {folder["name"]: folder["id"] for folder in (await agent.call("list_folders"))["folders"]}
        renamed = await granted(agent, host.mirrord, "rename_folder", folder_id=folders["Old"], new_name="New")
        refused = await agent.refused("delete_folder", folder_id=folders["Old"])
        host.mirrord.file("Sources/New/Ben.md").rename(host.mirrord.file("Sources/Ben.md"))
        deleted = await granted(agent, host.mirrord, "delete_folder", folder_id=str(folders["Old"]))

    assert (renamed["folder_id"], renamed["old_name"], renamed["name"]) == (folders["Old"], "Old", "New")
    assert refused["code"] == "FOLDER_NOT_DELETED/NOT_EMPTY"
    assert refused["error"] == "The folder 'New' is not empty: it holds 1 source."
    assert deleted == {"folder_id": folders["Old"], "name": "New"}
    assert not host.mirrord.file("Sources/New").exists()
    every = host.told(4, folder_id=folders["Old"])  # two by hand: the folder, and the source that was put there
    assert [event for event in every if event[1] == "agent"] == [
        ("FolderRenamed", "agent", ACTOR),
        ("FolderDeleted", "agent", ACTOR),
    ]
    eventually(lambda: host.mirrord.page("Sources/New") is None, "the folder's row deleted")
