"""Working in a draft: the session of a connection while a change set is open."""

import os
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from uuid import UUID

from mirrord.commands.core.connection_changes import ConnectionChanges, sees_drafts_of
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session, SessionSettings
from mirrord.domain.entry import EntryId, digest_of, new_id
from mirrord.domain.trust import Trust
from mirrord.domain.write_rules import LINK_FOLLOWING_COMMANDS
from mirrord.errors import Busy, Damaged, MirrordError, Unavailable
from mirrord.mirror.draft import draft_changes, draft_store
from mirrord.mirror.draft.draft_changes import DraftChange
from mirrord.mirror.draft.draft_store import DraftFacts
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.scoped_tree import tree_as_seen
from mirrord.mirror.tree.tree_layout import INDEX_FILE, SUFFIX
from mirrord.mirror.write import trash
from mirrord.mirror.write.change_recovery import remove_draft_files
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label, new_key, new_name

LOCAL_OWNER = "local"
IDLE_SECONDS = 3600.0  # without a write, after which a change set that a connection has open may be ended by another
_DISCARD_REASON = "its change set was discarded"
_MAX_QUOTED_CHARACTERS = 60  # of an unknown id in a sentence
_LIST_CHANGES = "Call changes_status to see your change sets."


@dataclass(slots=True)
class OpenDraft:
    """
    A draft that a connection works in. lock: keeps other connections from it.

    open_stat: the stat of the file of its facts while they say that it is open; None: they are read at the next call.
    """

    facts: DraftFacts
    base: Session
    session: Session
    lock: int
    open_stat: Stat | None = None

    def note_level(self, command: str, level: Trust) -> None:
        """Note, before a command runs in the draft, its trust level, and whether it reaches beyond the scope."""
        before = self.facts
        if level > before.level:
            self.facts = replace(self.facts, level=int(level), level_of=command)
        if command in LINK_FOLLOWING_COMMANDS and self.base.tree.whole is not self.base.tree:
            self.facts = replace(self.facts, follows_links=True)
        if self.facts != before:
            draft_store.write_facts(self.base.tree, self.facts)

    def close(self) -> None:
        """Leave the draft, which stays as it is."""
        self.session.close()
        os.close(self.lock)


def begin_draft(session: Session, title: str, owner: str, client: str | None) -> OpenDraft:
    """Begin a draft over the tree of *session*."""
    remove_expired(session)
    facts = DraftFacts(str(new_id()), title, session.actor.kind, session.actor.name, owner, time.time(), client)
    with translating_errors():
        draft_store.create_draft(session.tree, facts)
    return enter_draft(session, facts)


def enter_draft(session: Session, facts: DraftFacts) -> OpenDraft:
    """Work in an existing draft. Raises Failed, BUSY, if another connection does."""
    with translating_errors():
        try:
            lock = draft_store.lock_connection(session.tree, facts)
        except Busy as error:
            raise _in_use(facts) from error
        draft = session_on_draft(session, facts)
        draft_tree_of(draft).remove_unclaimed_files()
    opened = OpenDraft(facts, session, draft, lock)
    draft.draft = opened
    return opened


def session_on_draft(session: Session, facts: DraftFacts) -> Session:
    """A session like *session*, on the tree of a draft; it knows what was shown in *session*."""
    paths = session.attach_from, session.excluded_paths, session.staged, session.sources_dir
    settings = SessionSettings(*paths, token=session.token)
    tree = tree_as_seen(draft_store.open_draft_tree(session.tree.whole, facts), session.tree)
    draft = Session(tree, session.tenant_name, session.tenant_id, session.actor, session.writer, settings)
    draft.share_knowledge(session)
    return draft


@contextmanager
def reading_draft(session: Session, facts: DraftFacts) -> Iterator[tuple[Session, DraftTree]]:
    """A session on a draft, and its tree, for the length of a `with`."""
    with translating_errors():
        draft = session_on_draft(session, facts)
    try:
        yield draft, draft_tree_of(draft)
    finally:
        draft.close()


def draft_tree_of(draft: Session) -> DraftTree:
    """The tree of a session on a draft."""
    tree = draft.tree.whole
    assert isinstance(tree, DraftTree)
    return tree


def changes_seen(session: Session, tree: DraftTree) -> list[DraftChange]:
    """The files that a draft changes, but for those that the session's scope hides: links in them followed a move."""
    return [change for change in draft_changes.changes_of(tree) if session.tree.shows(change.path)]


def changes_at(changes: Sequence[DraftChange], path: str) -> list[DraftChange]:
    """Those of the file at *path*, before or after its move; of a page by any path that other commands take for it."""
    stem = path.removesuffix(SUFFIX)
    for file in (path, f"{stem}/{INDEX_FILE}", f"{stem}{SUFFIX}"):
        if found_changes := [change for change in changes if file in (change.path, change.source)]:
            return found_changes
    return []


def changes_below(changes: Sequence[DraftChange], path: str) -> list[DraftChange]:
    """Those of the page or folder at *path* and all below it, before or after a move; with `.md` of the page only."""
    at_path, directory = changes_at(changes, path), f"{path.rstrip('/')}/"
    if path.endswith(SUFFIX):
        return at_path
    below = [
        change for change in changes if any((file or "").startswith(directory) for file in (change.path, change.source))
    ]
    return [*at_path, *(change for change in below if change not in at_path)]


def find_draft(session: Session, change_set: str) -> DraftFacts:
    """The draft with this id, or the only one whose id begins so. Raises Failed for unknown and foreign ones alike."""
    own_drafts = [facts for facts in own_drafts_of(session) if facts.id.startswith(change_set.lower())]
    if change_set and len(own_drafts) == 1:
        return own_drafts[0]
    quoted = repr(change_set[:_MAX_QUOTED_CHARACTERS])
    if change_set and own_drafts:  # ids begin with their time
        sentence = f"{len(own_drafts)} of your change sets begin with {quoted}."
        raise Failed("CHANGES_NOT_FOUND", "not_found", sentence, f"Give more of the id. {_LIST_CHANGES}")
    raise Failed("CHANGES_NOT_FOUND", "not_found", f"You have no change set {quoted}.", _LIST_CHANGES)


def is_plain(text: str, *, max_characters: int, controls: str = "") -> bool:
    """Whether rows and terminals can show *text*: it is short enough, and has no control character but *controls*."""
    allowed = frozenset(controls)
    is_shown = all(letter in allowed or unicodedata.category(letter) != "Cc" for letter in text)
    return is_shown and len(text) <= max_characters


def own_drafts_of(session: Session) -> list[DraftFacts]:
    """The drafts of the caller, the newest first."""
    return [
        facts
        for facts in draft_store.list_drafts(session.tree)
        if facts.actor == session.actor and sees_drafts_of(facts.owner)
    ]


def check_unused(session: Session, connection: ConnectionChanges, facts: DraftFacts) -> None:
    """Raises Failed, BUSY, if another connection works in a draft, and wrote to it within IDLE_SECONDS."""
    own_draft_id = connection.draft.facts.id if isinstance(connection.draft, OpenDraft) else None
    if facts.id == own_draft_id or facts.state != draft_store.OPEN:
        return
    with translating_errors():
        try:
            os.close(draft_store.lock_connection(session.tree, facts))
        except Busy as error:
            if time.time() - draft_store.last_write(session.tree, facts) < IDLE_SECONDS:
                raise _in_use(facts) from error


def _in_use(facts: DraftFacts) -> Failed:
    instruction = (
        "That connection calls apply_changes or discard_changes; call begin_changes with a title for a change set of "
        "your own, or changes_status for your others."
    )
    return Failed("BUSY", "busy", f"Another connection works on the change set {facts.title!r}.", instruction)


def check_open(facts: DraftFacts) -> None:
    """Raises Failed if a draft was applied or discarded already."""
    if facts.state != draft_store.OPEN:
        sentence = f"The change set {facts.title!r} was {facts.state} already."
        raise Failed("CHANGES_ENDED", "conflict", sentence, "Call begin_changes for a new one.", {"state": facts.state})


def current_draft(connection: ConnectionChanges | None, session: Session) -> OpenDraft:
    """
    The draft of a connection. Raises Failed without one, and if it has ended elsewhere.

    In that case the connection stays in it until leave_ended_draft(): calls that were sent before the agent knew of
    the end would change the tree.
    """
    draft = connection.draft if connection is not None else None
    if not isinstance(draft, OpenDraft) or connection is None:
        raise Failed("NO_CHANGES", "invalid", "No change set is open.", "Call begin_changes with a title first.")
    began_ns, stat = time.time_ns(), draft_store.stat_facts(session.tree, draft.facts)
    if stat is not None and stat == draft.open_stat:
        return draft
    state = _state_of(session, draft)
    if state != draft_store.OPEN:
        raise Failed(
            "CHANGES_ENDED",
            "conflict",
            f"The change set {draft.facts.title!r} was {state} meanwhile; nothing was done now.",
            "Call begin_changes for a new change set, or discard_changes to work on the pages themselves again.",
            {"state": state, "change_set": draft.facts.id},
        )
    draft.open_stat = stat if stat is not None and stat.is_settled(began_ns) else None
    return draft


def _state_of(session: Session, draft: OpenDraft) -> str:
    facts = draft_store.read_facts(session.tree, UUID(draft.facts.id))
    return facts.state if facts is not None else "removed"


def leave_ended_draft(connection: ConnectionChanges, session: Session) -> None:
    """Let the connection work on the tree itself again, if its draft has ended elsewhere."""
    draft = connection.draft
    if isinstance(draft, OpenDraft) and _state_of(session, draft) != draft_store.OPEN:
        leave_draft(connection)


def leave_draft(connection: ConnectionChanges) -> None:
    """Let the connection work on the tree itself again."""
    draft, connection.draft = connection.draft, None
    if isinstance(draft, OpenDraft):
        draft.close()


def remove_ended(session: Session, change_set: str) -> None:
    """Remove the files of a draft that was applied: it takes a while, and no call waits for it."""
    with suppress(OSError, MirrordError):
        facts = draft_store.read_facts(session.tree, UUID(change_set))
        if facts is not None and facts.state != draft_store.OPEN:
            remove_draft_files(session.tree, facts.directory)


def discard_draft(session: Session, facts: DraftFacts) -> int:
    """Remove a draft; its new texts go to the trash. Return how many of them the session shows."""
    shows, session = session.tree.shows, session.whole
    with session.writing() as journal, reading_draft(session, facts) as (draft, tree):
        changes = [change for change in draft_changes.changes_of(tree) if change.has_new_text]
        for change in changes:
            keep_text(draft, facts, journal, change.path)
        draft_store.discard_draft(session.tree, facts.ended(draft_store.DISCARDED))
    return sum(shows(change.path) for change in changes)


def remove_expired(session: Session) -> None:
    """Remove the drafts of this tenant whose last write is too long ago."""
    for facts in draft_store.list_drafts(session.tree):
        if not draft_store.is_expired(session.tree, facts):
            if facts.state != draft_store.OPEN:  # applied by the daemon, or by a process that died
                remove_draft_files(session.tree, facts.directory)
            continue
        if facts.state == draft_store.OPEN:
            try:
                discard_draft(session, facts)
            except (Damaged, Failed, Unavailable):
                continue
        draft_store.forget_draft(session.tree, facts)


def keep_text(draft: Session, facts: DraftFacts, journal: Journal, path: str, reason: str = _DISCARD_REASON) -> None:
    """
    Put a text of a draft, whose session shows all of it, into the trash of the tree. journal: of the tree.

    There it is for those who saw the draft, and for people.
    """
    tree = draft_tree_of(draft)
    data = tree.snapshot(path, 1 << 30)[0]
    snapshot = draft.catalogue.snapshot()
    page = snapshot.exact_page(path)
    entry = snapshot.id_of(page) if page is not None else EntryId(new_id())
    name = new_name("d", Label(entry, digest_of(data), None), new_key())
    journal.create(name, data)
    card = trash.TrashCard(path, page.title if page is not None else None, reason, time.time(), facts.owner)
    trash.write_card(tree.lower, name, Label(entry, digest_of(data), None), card)
    journal.dispose(name, keep=True)
