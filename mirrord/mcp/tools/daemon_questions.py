"""Questions that the daemon answers through files, because only rows know the answer."""

import time
from collections.abc import Mapping

from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages.sync_status import is_daemon_alive
from mirrord.domain.approval import Answer, Request, RequestState
from mirrord.mirror.draft.draft_tree import DraftTree
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import question_files

MAX_WAIT_SECONDS = 30.0  # seconds of waiting for the daemon
_POLL_SECONDS = 0.05  # seconds between two looks at the answer


def ask_daemon(session: Session, command: str, arguments: Mapping[str, object], unanswered: str) -> Answer:
    """
    The daemon's answer to *command*. unanswered: what cannot be done without a daemon, the end of a sentence.

    Raises Failed: DAEMON_DOWN, NOT_ANSWERED.
    """
    if not is_daemon_alive(session):
        raise Failed(
            "DAEMON_DOWN",
            "unavailable",
            f"No daemon runs on this tenant, so {unanswered} now.",
            "Ask the person to start it with `mirrord up`, then make the same call again.",
        )
    request, tree = session.new_request(command, arguments), _tenant_tree(session)
    with translating_errors():
        question_files.write(tree, request, Answer())
        answer = _wait_for_answer(tree, request)
    if answer is not None:
        return answer
    raise Failed(
        "NOT_ANSWERED",
        "busy",
        f"The daemon did not answer within {MAX_WAIT_SECONDS:.0f} s; it may still do so.",
        "Call sync_status; if sync is halted, a person decides first. Then make the same call again.",
    )


def _tenant_tree(session: Session) -> Tree:
    """The tree that the daemon reads: below the draft, if the session works in one."""
    tree = session.tree.whole
    return tree.lower if isinstance(tree, DraftTree) else tree


def _wait_for_answer(tree: Tree, request: Request) -> Answer | None:
    path, end = question_files.path_of(request.id), time.monotonic() + MAX_WAIT_SECONDS
    while time.monotonic() < end:
        stored = question_files.read(tree, path)
        if stored is not None and stored[1].state is not RequestState.PENDING:
            question_files.remove(tree, path)
            return stored[1]
        time.sleep(_POLL_SECONDS)
    return None
