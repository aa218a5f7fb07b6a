"""When to stop: losses that look like an accident wait for a person. Pure."""

from dataclasses import dataclass

from mirrord.domain.approval import MIN_DELETIONS

MAX_DELETED_SHARE = 0.10  # of a tenant's live entries
QUIET_SECONDS = 2.0  # seconds without a further deletion before the gathered ones are weighed
RECENT_SECONDS = 600.0  # seconds for which earlier deletions of the same side count, too
ADVICE = " `mirrord halts` shows it with the two commands that settle it."  # behind the sentence of a halt
MIN_FREE_BYTES = 1 << 30  # bytes of the tree's file system; or
MIN_FREE_SHARE = 0.05  # this share of it, if that is less


@dataclass(frozen=True, slots=True)
class Alarm:
    """The cause of a halt: *reason* is a constant, *sentence* is for people."""

    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class _Loss:
    """The words for a loss, by the side on which it was seen. {n}: number of entries."""

    reason: str
    happened: str
    stays: str
    apply: str
    discard: str


_LOSSES = {
    "file": _Loss(
        "mass-delete",
        "are gone from the files",
        "their rows stay",
        "{n} rows are deleted; their history stays",
        "{n} files come back from their rows",
    ),
    "row": _Loss(
        "mass-delete",
        "are gone from the rows",
        "their files stay",
        "{n} files go to the trash",
        "{n} rows live again, from their files",
    ),
    "emptied": _Loss(
        "mass-empty",
        "were emptied in the files",
        "their rows stay as they are",
        "{n} pages become empty; their history stays",
        "{n} files get the text of their rows again",
    ),
    "vanished": _Loss(
        "database-shrank",
        "vanished from the database without having been deleted",
        "their files stay",
        "{n} files go to the trash",
        "{n} rows are made again from their files",
    ),
}
_LOSSES["app"] = _Loss(
    "mass-delete",
    "are gone from the app",
    "their pages stay",
    "{n} pages are deleted; their history stays",
    "nothing changes",
)
_LOSSES["page"] = _Loss(
    "mass-delete",
    "are gone from the pages of the app",
    "their rows stay",
    "{n} rows are deleted in the app",
    "nothing changes",
)
_LOSSES["content"] = _Loss(
    "mass-content-lost",
    "are held, because an app wrote documents that leave nothing of them, or none of their special nodes",
    "their files and `markdown` stay",
    "{n} pages become what the app wrote; their history stays",
    "{n} rows get the text of their files again; what the app wrote stays in their history",
)
_REWIND = _Loss(
    "rewind",
    "",
    "",
    "deletions spread again",
    "everything is compared once more, nothing being deleted; then deletions spread again",
)


def weigh_deletions(side: str, deletions: int, recent: int, total: int) -> Alarm | None:
    """
    The alarm for too many losses at once; None if they may spread to the other side.

    side: where they were seen: "file", "row", "emptied" (files without a text), "vanished" (rows without a tombstone),
    "app" (rows of a bound app), "page" (pages of such rows).
    recent: deletions of the last ten minutes. total: live entries before the loss.
    """
    limit = _max_losses(total)
    if deletions + recent <= limit:
        return None
    loss = _LOSSES[side]
    return Alarm(
        loss.reason,
        f"{deletions} of {total} entries {loss.happened}"
        + (f" ({recent} more in the last ten minutes)" if recent else "")
        + f"; {loss.stays} until you decide, because more than {limit} at once are often an accident.",
    )


def weigh_held_contents(pages: int, total: int, *, is_halted: bool) -> Alarm | None:
    """
    The alarm for too many documents of apps that are held; None: each waits for itself.

    pages: that are held, since whenever. is_halted: a halt of such pages is open, which further ones join.
    """
    limit = _max_losses(total)
    if pages <= limit and not is_halted:
        return None
    loss = _LOSSES["content"]
    reason = f"because more than {limit} are often an editor that does not know the pages"
    return Alarm(loss.reason, f"{pages} of {total} entries {loss.happened}; {loss.stays} until you decide, {reason}.")


def _max_losses(total: int) -> int:
    return max(MIN_DELETIONS, int(total * MAX_DELETED_SHARE))


def describe_effects(side: str | None, count: int) -> tuple[str, str]:
    """The effects of applying and of discarding a halt. side None: a side went back in time."""
    loss = _LOSSES[side] if side is not None else _REWIND
    return loss.apply.format(n=count), loss.discard.format(n=count)


def split_sentence(sentence: str) -> tuple[str, str]:
    """What the sentence of a halt says without its advice: what happened, and what an undo has added, or ""."""
    happened, _, note = sentence.partition(ADVICE)
    return happened, note.strip()


def check_root(*, exists: bool, same: bool) -> Alarm | None:
    """The alarm for a missing or replaced root. Nothing is read or written while there is one."""
    if not exists:
        return Alarm("root-missing", "The mirror's root is missing: an unmounted disk, or moved away. Put it back.")
    if not same:
        return Alarm(
            "root-replaced",
            "The mirror's root is another directory than at start: another disk, or a new copy. "
            "Put the old one back, or restart mirrord to look at the new one.",
        )
    return None


def check_emptied(files: int, based: int) -> Alarm | None:
    """The alarm for a tree that vanished at once. files: synced files on disk; based: entries with a base."""
    if files or based < 2:
        return None
    return Alarm("root-emptied", f"All {based} synced files are gone from the tree; their rows stay until you decide.")


def check_all(side: str, losses: int, based: int) -> Alarm | None:
    """The alarm for the loss of a whole side, of any size. losses, based: without folders."""
    if losses < based or based < 2:
        return None
    loss = _LOSSES[side]
    return Alarm(f"all-{loss.reason}", f"All {based} synced entries {loss.happened}; {loss.stays} until you decide.")


def check_space(free: int, total: int) -> Alarm | None:
    """The alarm for a nearly full file system, on which rows are no longer written into files."""
    if free >= min(MIN_FREE_BYTES, int(total * MIN_FREE_SHARE)):
        return None
    return Alarm(
        "disk-full",
        f"Only {free >> 20} MiB of {total >> 20} MiB are free where the tree is: rows are not written into files until "
        "there is more; files still go to rows.",
    )
