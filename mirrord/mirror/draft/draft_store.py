"""The drafts of a tenant, `.mirrord/drafts/ID/`: what each says about itself in `draft.json`, and its directory."""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from mirrord.domain.entry import Actor, parse_id
from mirrord.domain.event import EVENTS_FOLDER
from mirrord.errors import Busy, Refused
from mirrord.mirror.draft.draft_manifest import MANIFEST_NAME
from mirrord.mirror.draft.draft_tree import FILES_NAME, DraftTree
from mirrord.mirror.tree import contained_files, kernel
from mirrord.mirror.tree.kernel import OpenDescriptor, Stat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import STATE_DIRECTORY
from mirrord.mirror.write.change_recovery import end_draft, remove_draft_files
from mirrord.mirror.write.journal import PRIVATE_MODE

DRAFTS_PATH = f"{STATE_DIRECTORY}/drafts"
FACTS_NAME = "draft.json"
LIFETIME_SECONDS = 14 * 86_400.0  # after the last write
OPEN, APPLIED, DISCARDED = "open", "applied", "discarded"
TRIAL_OWNER = "trial"  # of drafts that live as long as one call
_CONNECTION_LOCK = "connection.lock"
_MAX_FACTS_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DraftFacts:
    """
    What a draft says about itself.

    owner: who may use it, besides the actor: a mark of the token, or of local callers. client: the agent's program.
    level: the highest trust level of what was done in it, by number; level_of: the command. state: open, applied or
    discarded; times are Unix seconds. is_submitted: it waits for a person's review. rejected: paths that a person
    rejected when the others were applied, with a comment; remainder: the draft that goes on with them. part_of: of such
    a draft, the one that it was part of. follows_links: a command in it lets links follow in pages that a scope hides.
    """

    id: str
    title: str
    actor_kind: str
    actor_name: str
    owner: str
    begun_at: float
    client: str | None = None
    level: int = 0
    level_of: str | None = None
    state: str = OPEN
    message: str | None = None
    ended_at: float | None = None
    is_submitted: bool = False
    comment: str | None = None
    rejected: tuple[str, ...] = ()
    remainder: str | None = None
    part_of: str | None = None
    follows_links: bool = False

    @property
    def actor(self) -> Actor:
        """Who began it."""
        return Actor(self.actor_kind, self.actor_name)

    @property
    def directory(self) -> str:
        """Its directory in the tenant's tree."""
        return directory_of_draft(UUID(self.id))

    def ended(self, state: str, message: str | None = None) -> "DraftFacts":
        """The same draft once it is applied or discarded."""
        return replace(self, state=state, message=message, ended_at=time.time())

    def encode(self) -> str:
        """The text of `draft.json`."""
        return json.dumps(asdict(self))


def directory_of_draft(draft: UUID) -> str:
    """The directory of a draft in the tenant's tree."""
    return f"{DRAFTS_PATH}/{draft}"


def create_draft(tree: Tree, facts: DraftFacts) -> None:
    """Create the directory of a new draft, durably."""
    tree.make_directories(f"{facts.directory}/{FILES_NAME}", PRIVATE_MODE)
    with tree.open_directory(facts.directory) as directory:
        os.close(kernel.create(directory, MANIFEST_NAME, 0o600))  # its name is durable with the facts
    write_facts(tree, facts)


def write_facts(tree: Tree, facts: DraftFacts) -> None:
    """Write what a draft says about itself, atomically and durably."""
    with tree.open_directory(facts.directory) as directory:
        unfinished = f"{FACTS_NAME}.new"
        with suppress(FileNotFoundError):
            kernel.unlink(directory, unfinished)
        kernel.write_new(directory, unfinished, facts.encode().encode())
        kernel.rename(directory, unfinished, directory, FACTS_NAME)
        kernel.fsync(directory)


def read_facts(tree: Tree, draft: UUID) -> DraftFacts | None:
    """What a draft says about itself; None: there is none, or its file is damaged."""
    try:
        data, _ = tree.snapshot(f"{directory_of_draft(draft)}/{FACTS_NAME}", _MAX_FACTS_BYTES)
        raw: dict[str, Any] = json.loads(data)
        facts = DraftFacts(**{**raw, "rejected": tuple(raw.get("rejected", ()))})
        return facts if facts.id == str(draft) and _has_fitting_values(facts) else None
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, RecursionError, Busy, Refused):
        return None


def _has_fitting_values(facts: DraftFacts) -> bool:
    times = isinstance(facts.begun_at, int | float) and isinstance(facts.ended_at, int | float | None)
    return times and isinstance(facts.level, int) and isinstance(facts.state, str)


def stat_facts(tree: Tree, facts: DraftFacts) -> Stat | None:
    """The stat of the file that read_facts() reads; None: there is none."""
    try:
        return tree.stat(f"{facts.directory}/{FACTS_NAME}")
    except Refused:
        return None


def list_drafts(tree: Tree) -> list[DraftFacts]:
    """All drafts, also those that ended lately; the newest first. A remainder counts once the other part is applied."""
    try:
        names = sorted(tree.list_names(DRAFTS_PATH), reverse=True)
    except (FileNotFoundError, NotADirectoryError):
        return []
    ids = filter(None, map(parse_id, names))
    drafts = [facts for draft in ids if (facts := read_facts(tree, draft)) is not None]
    by_id = {facts.id: facts for facts in drafts}
    return [facts for facts in drafts if facts.owner != TRIAL_OWNER and _is_remainder_of_applied(facts, by_id)]


def _is_remainder_of_applied(facts: DraftFacts, drafts: Mapping[str, DraftFacts]) -> bool:
    """Whether a draft is no remainder, or that of a part that is applied."""
    part = drafts.get(facts.part_of) if facts.part_of is not None else None
    return part is None or part.remainder == facts.id


def open_draft_tree(tree: Tree, facts: DraftFacts) -> DraftTree:
    """The tree of a draft over *tree*. Raises Unavailable if it is gone."""
    return DraftTree(tree, Path(tree.root, facts.directory))


def lock_connection(tree: Tree, facts: DraftFacts) -> int:
    """A descriptor that keeps other connections from this draft. Raises Busy if another one has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with tree.open_directory(facts.directory) as directory, ExitStack() as undone:
        descriptor = os.open(_CONNECTION_LOCK, flags, 0o600, dir_fd=directory)
        undone.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy("Another connection works on this change set.") from None
        undone.pop_all()
    return descriptor


def last_write(tree: Tree, facts: DraftFacts) -> float:
    """When something was last written to a draft, in Unix seconds."""
    moments = [facts.begun_at, facts.ended_at or 0.0]
    files = f"{facts.directory}/{FILES_NAME}"
    for path in (f"{facts.directory}/{MANIFEST_NAME}", *_event_files(tree, f"{files}/{EVENTS_FOLDER}")):
        stat = tree.stat(path)
        moments += [stat.mtime_ns / 1e9] if stat is not None else []
    return max(moments)


def is_expired(tree: Tree, facts: DraftFacts) -> bool:
    """Whether the last write to a draft is too long ago."""
    return last_write(tree, facts) <= time.time() - LIFETIME_SECONDS


def discard_draft(tree: Tree, facts: DraftFacts) -> None:
    """Remove a draft's files; *facts* stay."""
    end_draft(tree, facts.directory, facts.encode())
    remove_draft_files(tree, facts.directory)


def forget_draft(tree: Tree, facts: DraftFacts) -> None:
    """Remove what is left of a draft that ended."""
    remove_draft_files(tree, facts.directory)
    with suppress(FileNotFoundError), tree.open_directory(DRAFTS_PATH) as drafts:
        with OpenDescriptor(os.open(facts.id, contained_files.DIRECTORY_FLAGS | os.O_CLOEXEC, dir_fd=drafts)) as draft:
            for name in os.listdir(draft):
                kernel.unlink(draft, name)
        kernel.rmdir(drafts, facts.id)


def _event_files(tree: Tree, directory: str) -> Iterator[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        yield from (f"{directory}/{name}" for name in tree.list_names(directory))
