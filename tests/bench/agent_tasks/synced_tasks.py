"""Tasks of agents that a daemon has a part in: history, undo, and the review by a person."""

import json
from typing import Any

from tests.bench.agent_tasks.task import Player, Task, replaced
from tests.support.entries import value
from tests.support.harness import eventually

_INBOX = ("--write", "Inbox/**", "--read", "Projects/**")
_ANSWERED = "SELECT told_at FROM approval WHERE arguments ->> 'change_set' = %s ORDER BY requested_at DESC, id DESC"


async def _take_back_edits(player: Player) -> object:
    """One call edits all pages, and one takes all of it back."""
    await player.call("edit_pages", path="Projects", edits=[{"task": "Order the sensors", "done": True}])
    return (await player.call("undo_changes"))["undone"]


async def _take_back_a_move(player: Player) -> object:
    """The links in pages that it does not see go back, too."""
    await player.call("move_page", sourcePath="Inbox/Pump.md", destinationPath="Inbox/Fuse.md")
    return (await player.call("undo_changes"))["undone"]


async def _finish_osprey(player: Player) -> None:
    await player.call("edit_page", path="Projects/Osprey.md", edits=[{"frontMatter": {"set": {"status": "done"}}}])


async def _list_what_another_did(player: Player) -> object:
    """The author is a filter."""
    changes = (await player.call("list_changes", by="night shift"))["changes"]
    return [change["path"] for change in changes]


async def _spoil_plan(player: Player) -> None:
    await player.call("edit_page", path="Old/Plan.md", edits=[{"find": "See [[Heron]].", "replace": "Nothing."}])


async def _bring_text_back(player: Player) -> None:
    """The history lists the newest version first."""
    versions = (await player.call("page_history", path="Old/Plan.md"))["versions"]
    await player.call("restore_page", path="Old/Plan.md", version=versions[1]["version"])


async def _lengthen_note(player: Player) -> None:
    await player.call("edit_page", path="Projects/Plover.md", edits=[{"find": "Over, too.", "replace": "Over in May."}])


async def _say_what_changed(player: Player) -> object:
    """The difference to the version before is one call."""
    diff = str((await player.call("diff_page", path="Projects/Plover.md"))["diff"])
    return [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


async def _delete_customers(player: Player) -> None:
    await player.call("delete_page", path="Customers", recursive=True)


async def _bring_folder_back(player: Player) -> None:
    """One entry of the trash stands for all that went with it."""
    trash = (await player.call("list_trash"))["trash"]
    await player.call("restore_page", trashId=next(entry["trashId"] for entry in trash if entry["path"] == "Customers"))


async def _propose(player: Player, path: str, edit: dict[str, str], *decision: str) -> dict[str, Any]:
    """Propose an edit, let a person decide about it, and look what became of it."""
    await player.call("edit_page", path=path, edits=[edit])
    change_set = str((await player.call("apply_changes"))["changeSet"])
    eventually(lambda: _state(player, change_set) == "in review", "the change set in review")
    verb, *options = decision
    assert player.daemon is not None
    decided = player.daemon.run("changes", verb, change_set, *options, "--tenant", player.daemon.tenant)
    assert decided.returncode == 0, decided.stderr
    app = player.daemon.app
    eventually(lambda: value(app, _ANSWERED + " LIMIT 1", change_set), "the answer of the daemon")
    others: list[dict[str, Any]] = (await player.call("changes_status"))["others"]
    return next(facts for facts in others if facts["changeSet"] == change_set)


def _state(player: Player, change_set: str) -> object:
    assert player.daemon is not None
    shown_set = player.daemon.run("changes", "show", change_set, "--json", "--tenant", player.daemon.tenant).stdout
    return json.loads(shown_set)["state"] if shown_set else None


async def _be_accepted(player: Player) -> object:
    return (await _propose(player, "Inbox/Pump.md", {"find": "a fuse", "replace": "two fuses"}, "accept"))["state"]


async def _be_rejected(player: Player) -> object:
    edit = {"find": "a pump", "replace": "two pumps"}
    status = await _propose(player, "Inbox/Boat.md", edit, "reject", "--comment", "One is enough")
    return status["state"], "One is enough" in status["comment"]


SYNCED = (
    Task(
        "take back a bulk edit",
        "Tick “Order the sensors” in Projects; no, that was a mistake, take it back.",
        _take_back_edits,
        True,
        sets="pages,changes,restructure",
    ),
    Task(
        "take back a move within a scope",
        "Rename Inbox/Pump.md to Inbox/Fuse.md; no, take that back.",
        _take_back_a_move,
        True,
        scope=_INBOX,
    ),
    Task(
        "list what another agent did",
        "Which pages did the night shift change today?",
        _list_what_another_did,
        ["Projects/Osprey.md"],
        change=replaced("Projects/Osprey.md", ("status: active", "status: done")),
        prelude=_finish_osprey,
    ),
    Task(
        "bring an earlier text back",
        "Old/Plan.md was spoilt by the last edit; bring the text before it back.",
        _bring_text_back,
        prelude=_spoil_plan,
    ),
    Task(
        "say what the last edit changed",
        "What did the last edit of Projects/Plover.md change?",
        _say_what_changed,
        ["-Over, too.", "+Over in May."],
        change=replaced("Projects/Plover.md", ("Over, too.", "Over in May.")),
        prelude=_lengthen_note,
    ),
    Task(
        "bring a folder back",
        "The folder Customers was deleted; bring it back.",
        _bring_folder_back,
        prelude=_delete_customers,
    ),
    Task(
        "have a proposal accepted",
        "Propose two fuses in Inbox/Pump.md, and say what becomes of it.",
        _be_accepted,
        "applied",
        change=replaced("Inbox/Pump.md", ("a fuse", "two fuses")),
        scope=("--review",),
    ),
    Task(
        "have a proposal rejected",
        "Propose two pumps in Inbox/Boat.md, and say what becomes of it.",
        _be_rejected,
        ("rejected", True),
        scope=("--review",),
    ),
)
