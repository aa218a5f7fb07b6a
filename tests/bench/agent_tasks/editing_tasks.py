"""Tasks of editing: one page, several pages, new pages, and pages that people edit meanwhile."""

from tests.bench.agent_tasks.notes import TEXTS
from tests.bench.agent_tasks.task import Files, Player, Script, Task, changed, replaced

_HERON = "Projects/Heron.md"
_FIRMS = [f"Customers/Firm {name}.md" for name in "ABCD"]


def _edit(path: str, edit: dict[str, object]) -> Script:
    async def act(player: Player) -> None:
        await player.call("edit_page", path=path, edits=[edit])

    return act


def _edit_bare(path: str, old: str, new: str) -> Script:
    async def act(player: Player) -> None:
        await player.call("edit_file", path=f"{player.root}/{path}", edits=[{"oldText": old, "newText": new}])

    return act


async def _reread(player: Player) -> None:
    page = await player.call("read_page", path="Inbox/Boat.md")
    player.save("Inbox/Boat.md", TEXTS["Inbox/Boat.md"] + "\nIt is blue.\n")
    text = str(page["content"]).replace("a pump", "two pumps")
    refusal = await player.call("write_page", path="Inbox/Boat.md", content=text)
    assert refusal["code"] == "CONFLICT"
    again = await player.call("read_page", path="Inbox/Boat.md")
    await player.call("write_page", path="Inbox/Boat.md", content=again["content"].replace("a pump", "two pumps"))


async def _create(player: Player) -> None:
    await player.call("create_page", title="Firm E", parentPath="Customers", content="A new firm.\n")


def _with_firm(files: Files) -> Files:
    return {**files, "Customers/Firm E.md": b"---\nid: ID\ntitle: Firm E\n---\n\nA new firm.\n"}


async def _create_once(player: Player) -> None:
    await player.call("create_page", title="Firm A", parentPath="Customers", content="A firm.", unlessExists=True)


async def _retag(player: Player) -> None:
    pages = (await player.call("find_pages", tag="customer"))["pages"]
    for page in pages:
        edit = {"frontMatter": {"set": {"tags": ["client"]}}}
        await player.call("edit_page", path=page["path"], edits=[edit])


async def _archive(player: Player) -> None:
    await player.call("begin_changes", title="Archive what is over")
    for page in (await player.call("find_pages", where={"status": "done"}, path="Projects"))["pages"]:
        edit = {"frontMatter": {"set": {"status": "archived"}}}
        await player.call("edit_page", path=page["path"], edits=[edit])
    await player.call("apply_changes")


async def _draft(player: Player) -> None:
    await player.call("begin_changes", title="Sharpen")
    await player.call("edit_page", path=_HERON, edits=[{"find": "Paint it grey", "replace": "Paint it white"}])
    await player.call("review_changes")
    await player.call("apply_changes")


async def _discard(player: Player) -> None:
    await player.call("begin_changes", title="Try")
    await player.call("edit_page", path=_HERON, edits=[{"find": "grey", "replace": "pink"}])
    await player.call("discard_changes")


async def _clash(player: Player) -> object:
    await player.call("begin_changes", title="Fuse")
    await player.call("edit_page", path="Inbox/Pump.md", edits=[{"find": "a fuse", "replace": "two fuses"}])
    player.save("Inbox/Pump.md", "# Pump\n\nThe pump needs a new fuse.\n")
    refusal = await player.call("apply_changes")
    await player.call("discard_changes")
    return refusal["code"]


async def _merge_underneath(player: Player) -> None:
    await player.call("begin_changes", title="Sails")
    await player.call("edit_page", path="Inbox/Long.md", edits=[{"find": "are white", "replace": "are red"}])
    player.save("Inbox/Long.md", TEXTS["Inbox/Long.md"].replace("Oars are long", "Oars are short"))
    await player.call("apply_changes")


EDITING = (
    Task(
        "set a date",
        f"Heron is due on 1 April 2026 now ({_HERON}).",
        _edit(_HERON, {"frontMatter": {"set": {"due": "2026-04-01"}}}),
        change=replaced(_HERON, ("due: 2026-03-01", "due: 2026-04-01")),
        bare=_edit_bare(_HERON, "due: 2026-03-01", "due: 2026-04-01"),
    ),
    Task(
        "tick a task",
        f"I did '- [ ] Order the sensors' of {_HERON}.",
        _edit(_HERON, {"find": "- [ ] Order the sensors", "replace": "- [x] Order the sensors"}),
        change=replaced(_HERON, ("- [ ] Order", "- [x] Order")),
        bare=_edit_bare(_HERON, "- [ ] Order the sensors", "- [x] Order the sensors"),
    ),
    Task(
        "append to a section",
        f"Add the task 'Buy rope' to the Tasks of {_HERON}.",
        _edit(_HERON, {"heading": "Tasks", "action": "append", "text": "- [ ] Buy rope"}),
        change=replaced(_HERON, ("- [x] Rent the boat\n", "- [x] Rent the boat\n- [ ] Buy rope\n")),
    ),
    Task(
        "append to a page",
        "Add '- Sell the old boat.' to Projects/Heron.md, at the end.",
        _edit(_HERON, {"append": "- Sell the old boat."}),
        change=replaced(_HERON, ("- Paint it grey.\n", "- Paint it grey.\n- Sell the old boat.\n")),
    ),
    Task("make a page", "Make a page for the customer Firm E below Customers: a new firm.", _create, change=_with_firm),
    Task("make a page once", "See that Firm A has a page below Customers.", _create_once),
    Task(
        "rename a tag",
        "Tag customers as client, not as customer.",
        _retag,
        change=changed(dict.fromkeys(_FIRMS, (("[customer]", "[client]"),))),
    ),
    Task(
        "change many in one step",
        "Set the status of all that is done below Projects to archived, all at once.",
        _archive,
        change=changed(
            dict.fromkeys(("Projects/Kestrel.md", "Projects/Plover.md"), (("status: done", "status: archived"),))
        ),
    ),
    Task(
        "review an own draft",
        f"Paint it white, not grey, in {_HERON}; look at the change before it is real.",
        _draft,
        change=replaced(_HERON, ("grey", "white")),
    ),
    Task("discard a draft", f"Try what {_HERON} is like in pink, and leave it.", _discard),
    Task(
        "write beside a person",
        "A boat needs two pumps: Inbox/Boat.md.",
        _reread,
        change=replaced("Inbox/Boat.md", ("a pump.\n", "two pumps.\n\nIt is blue.\n")),
    ),
    Task(
        "clash with a person",
        "Inbox/Pump.md needs two fuses, unless somebody changed that line.",
        _clash,
        "CONFLICT",
        change=replaced("Inbox/Pump.md", ("a fuse", "a new fuse")),
    ),
    Task(
        "merge with a person",
        "The sails of Inbox/Long.md are red.",
        _merge_underneath,
        change=replaced("Inbox/Long.md", ("are white", "are red"), ("are long", "are short")),
    ),
)
