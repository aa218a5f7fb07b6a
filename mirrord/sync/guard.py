"""When to stop and ask: deletions that look like an accident are weighed before they spread."""

from dataclasses import dataclass

MIN_DELETIONS = 25
MAX_SHARE = 0.10  # of a tenant's live entries
QUIET = 2.0  # seconds without a further deletion before the set is weighed
RECENT = 600.0  # seconds: what was deleted on that side since then counts along


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why deletions stop: reason is constant, sentence is for people."""

    reason: str
    sentence: str


def weigh(side: str, deletions: int, recent: int, total: int) -> Alarm | None:
    """
    Whether so many deletions at once may spread to the other side.

    side: where they were seen, "file" or "row". recent: those of the last ten minutes. total: live entries before.
    """
    limit = max(MIN_DELETIONS, int(total * MAX_SHARE))
    if deletions + recent <= limit:
        return None
    seen, other = ("files", "rows") if side == "file" else ("rows", "files")
    return Alarm(
        "mass-delete",
        f"{deletions} of {total} entries are gone from the {seen}"
        + (f" ({recent} more in the last ten minutes)" if recent else "")
        + f"; their {other} stay until you decide, because more than {limit} deletions at once are often an accident.",
    )


def check_root(*, exists: bool, same: bool) -> Alarm | None:
    """Whether the tree's root is the one this mirror was started on. Nothing is read or written while it is not."""
    if not exists:
        return Alarm("root-missing", "The mirror's root is missing: an unmounted disk, or moved away. Put it back.")
    if not same:
        return Alarm(
            "root-replaced",
            "The mirror's root is another directory than at start: another disk, or a new copy. "
            "Put the old one back, or restart mirrord to look at the new one.",
        )
    return None


def check_emptied(found: int, based: int) -> Alarm | None:
    """Whether all of a tree vanished at once. found: synced files on disk; based: entries agreed on."""
    if found or based < 2:
        return None
    return Alarm("root-emptied", f"All {based} synced files are gone from the tree; their rows stay until you decide.")
