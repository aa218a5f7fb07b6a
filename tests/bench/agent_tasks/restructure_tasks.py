"""Tasks that one call of the set `restructure` does: many pages as one."""

from tests.bench.agent_tasks.task import Files, Player, Task, changed

_SETS = "pages,changes,restructure"
_FIRMS = [f"Customers/Firm {name}.md" for name in "ABCD"]


async def _retag(player: Player) -> object:
    edited = await player.call("edit_pages", edits=[{"tag": "customer", "replace": "client"}], tag="customer")
    return edited["pagesCount"]


async def _rename_heading(player: Player) -> None:
    await player.call("rename_heading", path="Projects/Heron.md", heading="Decisions", to="Agreed")


async def _split(player: Player) -> None:
    await player.call("split_page", path="Inbox/Long.md", heading="Oars")


def _split_apart(files: Files) -> Files:
    long = files["Inbox/Long.md"].replace(b"## Oars\n\nOars are long.\n", b"[[Oars]]\n")
    return {
        **files,
        "Inbox/Long.md": long,
        "Inbox/Oars.md": b"---\nid: ID\ntitle: Oars\n---\n# Oars\n\nOars are long.\n",
    }


async def _merge(player: Player) -> None:
    await player.call("merge_pages", paths=["Inbox/Pump.md"], into="Inbox/Boat.md")


def _merged(files: Files) -> Files:
    after = {path: content for path, content in files.items() if path != "Inbox/Pump.md"}
    after["Inbox/Boat.md"] = b"---\naliases:\n  - Pump\n---\n" + after["Inbox/Boat.md"]
    after["Inbox/Boat.md"] += b"\n## Pump\n\nThe pump needs a fuse.\n"
    return after


RESTRUCTURING = (
    Task(
        "rename a tag everywhere",
        "Tag customers as client, not as customer, in all pages. How many are they?",
        _retag,
        4,
        change=changed(dict.fromkeys(_FIRMS, (("[customer]", "[client]"),))),
        sets=_SETS,
    ),
    Task(
        "rename a heading",
        "The Decisions of Projects/Heron.md are Agreed now.",
        _rename_heading,
        change=changed({"Projects/Heron.md": (("## Decisions", "## Agreed"),)}),
        sets=_SETS,
    ),
    Task("split in one call", "Make Oars of Inbox/Long.md a page.", _split, change=_split_apart, sets=_SETS),
    Task("merge in one call", "Put Inbox/Pump.md into Inbox/Boat.md.", _merge, change=_merged, sets=_SETS),
)
