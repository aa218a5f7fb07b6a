"""Tasks of finding: questions that leave every file as it is."""

from typing import Any

from tests.bench.agent_tasks.task import Player, Task


async def _owner(player: Player) -> str:
    hits = await player.call("search_pages", query="Heron", path="Projects", limit=1)
    page = await player.call("read_page", path=hits["results"][0]["path"])
    return str(page["content"]).split("Owner: [[")[1].split("]]")[0]


async def _owner_bare(player: Player) -> str:
    await player.call("list_directory", path=f"{player.root}/Projects")
    page = await player.call("read_text_file", path=f"{player.root}/Projects/Heron.md")
    return str(page["content"]).split("Owner: [[")[1].split("]]")[0]


async def _phrase(player: Player) -> object:
    return _paths(await player.call("search_pages", query='"copper kettle protocol"'))


async def _phone(player: Player) -> object:
    answer = await player.call("search_pages", query=r"\b555-\d{4}\b", regex=True)
    return _paths(answer)


async def _due(player: Player) -> object:
    where = {"status": "active", "due": {"lt": "2026-06-01"}}
    return _paths(await player.call("find_pages", where=where))


async def _customers(player: Player) -> object:
    return (await player.call("find_pages", tag="customer"))["total"]


async def _backlinks(player: Player) -> object:
    answer = await player.call("get_page_links", path="People/Ann Berg.md")
    return sorted(link["path"] for link in answer["incoming"])


async def _radio(player: Player) -> bool:
    outline = await player.call("read_page", path="Projects/Handbook.md", outline=True)
    heading = next(part["title"] for part in outline["outline"] if "Radio" in part["title"])
    section = await player.call("read_page", path="Projects/Handbook.md", section=heading)
    return "channel is 72" in section["content"]


async def _radio_bare(player: Player) -> bool:
    page = await player.call("read_text_file", path=f"{player.root}/Projects/Handbook.md")
    return "channel is 72" in page["content"]


async def _broken(player: Player) -> object:
    return _paths(await player.call("find_pages", links="broken", path="Meetings"))


async def _people(player: Player) -> object:
    return sorted(page["title"] for page in (await player.call("list_pages", path="People"))["pages"])


async def _people_bare(player: Player) -> object:
    answer = await player.call("list_directory", path=f"{player.root}/People")
    lines = str(answer["content"]).splitlines()
    return sorted(line.removeprefix("[FILE] ").removesuffix(".md") for line in lines if line.endswith(".md"))


_THREE = ["Projects/Heron.md", "Projects/Osprey.md", "Projects/Plover.md"]


async def _states(player: Player) -> object:
    answer = await player.call("read_pages", paths=_THREE)
    return [page["frontmatter"]["status"] for page in answer["pages"]]


async def _states_bare(player: Player) -> object:
    answer = await player.call("read_multiple_files", paths=[f"{player.root}/{path}" for path in _THREE])
    lines = str(answer["content"]).splitlines()
    return [line.removeprefix("status: ") for line in lines if line.startswith("status: ")]


def _paths(answer: dict[str, Any]) -> list[str]:
    return sorted(page["path"] for page in answer["results" if "results" in answer else "pages"])


FINDING = (
    Task("find an owner", "Who owns Heron? It is below Projects.", _owner, "Mara Lind", bare=_owner_bare),
    Task("find a phrase", "Which page has the copper kettle protocol?", _phrase, ["People/Ann Berg.md"]),
    Task("find a number", "Where are telephone numbers as 555-0199?", _phone, ["People/Mara Lind.md"]),
    Task("find by state", "Which active projects are due before June 2026?", _due, ["Projects/Heron.md"]),
    Task("count a tag", "How many customers have we got?", _customers, 4),
    Task(
        "find links to a page",
        "Who mentions People/Ann Berg.md?",
        _backlinks,
        ["Meetings/January.md", "People/Jon Vik.md"],
    ),
    Task("read a section", "Which radio channel has Projects/Handbook.md?", _radio, True, bare=_radio_bare),
    Task("find broken links", "Which pages below Meetings link to nothing?", _broken, ["Meetings/January.md"]),
    Task("list a folder", "Who is below People?", _people, ["Ann Berg", "Jon Vik", "Mara Lind"], bare=_people_bare),
    Task(
        "compare pages",
        f"What is the status of {', '.join(_THREE)}?",
        _states,
        ["active", "active", "done"],
        bare=_states_bare,
    ),
)
