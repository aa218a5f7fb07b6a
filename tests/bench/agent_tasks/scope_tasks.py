"""Tasks of agents that see a part of the tree only."""

from tests.bench.agent_tasks.task import Files, Player, Task, replaced

_INBOX = ("--write", "Inbox/**", "--read", "Projects/**", "--deny", "Projects/Kestrel")


async def _note_status(player: Player) -> None:
    """It reads one folder and writes the other."""
    page = await player.call("read_page", path="Projects/Heron.md", section="Decisions")
    decision = next(line for line in str(page["content"]).splitlines() if line.startswith("- "))
    await player.call("edit_page", path="Inbox/Boat.md", edits=[{"append": decision}])


async def _write_outside(player: Player) -> object:
    """One refusal names what may be written, and the next call does it."""
    edit = {"heading": "Decisions", "action": "append", "text": "- Paint it white."}
    refusal = await player.call("edit_page", path="Projects/Heron.md", edits=[edit])
    await player.call("create_page", title="For Heron", parentPath="Inbox", content="Paint it white.\n")
    return refusal["code"]


def _with_note(files: Files) -> Files:
    note = b"---\nid: ID\ntitle: For Heron\n---\n\nPaint it white.\n"
    return {**files, "Inbox/For Heron.md": note}


async def _count_projects(player: Player) -> object:
    """Kestrel is hidden, and so it is not counted."""
    pages = (await player.call("find_pages", tag="project"))["pages"]
    return sorted(page["path"] for page in pages)


async def _look_for_hidden(player: Player) -> object:
    """What is hidden is answered as what does not exist."""
    hidden = await player.call("read_page", path="Projects/Kestrel.md")
    absent = await player.call("read_page", path="Projects/Nonesuch.md")
    hits = await player.call("search_pages", query="Ann Berg")
    return [hidden["code"], absent["code"], len(hits["results"])]


SCOPES = (
    Task(
        "read one folder, write another",
        "Add what Projects/Heron.md decided to Inbox/Boat.md.",
        _note_status,
        change=replaced("Inbox/Boat.md", ("needs a pump.\n", "needs a pump.\n\n- Paint it grey.\n")),
        scope=_INBOX,
    ),
    Task(
        "be refused outside of a scope",
        "Tell Projects/Heron.md to paint it white, or leave a page For Heron in Inbox.",
        _write_outside,
        "OUT_OF_SCOPE",
        change=_with_note,
        scope=_INBOX,
    ),
    Task(
        "count within a scope",
        "Which pages have the tag project?",
        _count_projects,
        ["Projects/Heron.md", "Projects/Osprey.md", "Projects/Plover.md"],
        scope=_INBOX,
    ),
    Task(
        "look for what is hidden",
        "Read Projects/Kestrel.md and Projects/Nonesuch.md, and find Ann Berg.",
        _look_for_hidden,
        ["PAGE_NOT_FOUND", "PAGE_NOT_FOUND", 0],
        scope=_INBOX,
    ),
)
