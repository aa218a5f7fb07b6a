"""How sync stands is told from files, and only of the own tenant."""

import os
from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.sync_status import HALTED, Problem, sync_status
from mirrord.domain.entry import digest_of, new_id
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.mirror.mirror_state import State
from mirrord.mirror.state_file import cached_stat
from tests.unit.commands.conftest import page


def beat(root: Path, **facts: object) -> None:
    """A daemon in this very process says how two tenants are."""
    own_state: dict[str, object] = {"pending": 3, "problems": [("A.md", "is broken.")], "halted": True} | facts
    other = {"pending": 9, "problems": [("Secret.md", "is theirs.")], "halted": False}
    degraded = [f"acme: Sync is paused: remove {root}/PAUSE.", "other: is slow.", f"{root.parent} cannot be written."]
    tenants = {"acme": own_state, "other": other}
    Heartbeat(root.parent).beat({"pid": os.getpid(), "tenants": tenants, "degraded": degraded})


def test_a_living_daemon_says_what_it_knows_of_this_tenant_alone(root: Path, session: Session) -> None:
    beat(root)
    page(root, "A (conflict 2026-11-22 061234Z 01a2b3).md", "theirs")
    status = sync_status(session)
    assert (status.daemon, status.pending, status.halted) == (True, 3, True)
    assert status.problems == (Problem("A.md", "is broken."),)
    assert status.conflicts == ("A (conflict 2026-11-22 061234Z 01a2b3).md",)
    assert status.sentences == ("Sync is paused: remove PAUSE.", HALTED)
    assert status.synced is None


def test_without_a_daemon_nothing_is_waited_for(root: Path, session: Session) -> None:
    page(root, "A.md", "a")
    status = sync_status(session, "A", wait_seconds=30)
    assert (status.daemon, status.pending, status.synced) == (False, None, False)
    assert status.digest == digest_of(b"a").hex()
    with pytest.raises(Failed, match="Page not found"):
        sync_status(session, "B")


def test_of_a_page_its_own_problems_are_told_and_others_counted(root: Path, session: Session) -> None:
    beat(root, problems=[("A.md", "is broken."), ("B.md", "is, too."), ("C/D.md", "and this.")])
    page(root, "A.md", "a")
    page(root, "E.md", "e")
    status, other, every = sync_status(session, "A"), sync_status(session, "E"), sync_status(session)
    assert (status.problems, status.other_problems) == ((Problem("A.md", "is broken."),), 2)
    assert (other.problems, other.other_problems) == ((), 3)
    assert (len(every.problems), every.other_problems) == (3, 0)


def test_a_page_is_synced_when_the_daemon_agreed_on_its_digest(root: Path, session: Session) -> None:
    beat(root)
    page(root, "A.md", "a")
    assert sync_status(session, "A", wait_seconds=0.05).synced is False
    state = State(session.tree)
    stat = session.tree.stat("A.md")
    assert stat is not None
    state.store({"A.md": cached_stat(stat, digest_of(b"a"), new_id())})
    assert sync_status(session, "A").synced is True
    page(root, "A.md", "b")
    assert sync_status(session, "A").synced is False
    state.close()
