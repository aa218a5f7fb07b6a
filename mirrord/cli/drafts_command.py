"""`mirrord changes drafts`, and `show` of one: the change sets that agents have begun and not ended, as files."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import echo_difference, format_actor, format_time, strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.changes.change_commands import summary_of
from mirrord.commands.changes.change_review import diff_of_change
from mirrord.commands.changes.draft_session import reading_draft
from mirrord.commands.core.session import Session
from mirrord.config import Config
from mirrord.errors import Busy, MirrordError
from mirrord.mirror.draft import draft_store
from mirrord.mirror.draft.draft_changes import DraftChange, changes_of
from mirrord.mirror.draft.draft_store import DraftFacts

_ID_LENGTH = 18  # characters of an id, as in the list of change sets
_IN_USE = "in use"  # an agent works in it now, so its files are not counted


@click.command("drafts")
@with_config_options
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def drafts_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """
    List the change sets that agents have begun and neither applied nor discarded, the newest first.

    Postgres need not run. They end by themselves 14 days after the last write.
    """
    with open_session(config, tenant) as session:
        listed = [_facts_of(session, facts) for facts in _open_drafts(session)]
    if as_json:
        click.echo(json.dumps(listed, indent=2))
        return
    for draft in listed:
        click.echo(_format_draft(draft))
    if not listed:
        click.echo("No agent has a change set open.", err=True)


def print_draft(config: Config, tenant: str | None, change_set: str, *, as_json: bool) -> bool:
    """Print what the draft whose id begins so would change, page by page; False: this host has no such draft."""
    with ExitStack() as stack:
        try:
            session = stack.enter_context(open_session(config, tenant))
        except (MirrordError, OSError):  # the tree is elsewhere
            return False
        matching_drafts = [facts for facts in _open_drafts(session) if facts.id.startswith(change_set.strip().lower())]
        if len(matching_drafts) != 1 or matching_drafts[0].is_submitted:
            return False
        facts = _facts_of(session, matching_drafts[0])
        _, tree = stack.enter_context(reading_draft(session, matching_drafts[0]))
        changes = [(change, diff_of_change(tree, change)) for change in changes_of(tree)]
    _print_changes(facts, changes, as_json=as_json)
    return True


def _print_changes(facts: Mapping[str, Any], changes: Sequence[tuple[DraftChange, str]], *, as_json: bool) -> None:
    if as_json:
        entries = [
            {"path": change.path, "from": change.source, "changes": [change.sort], "diff": diff.splitlines()}
            for change, diff in changes
        ]
        click.echo(json.dumps({**facts, "entries": entries}, indent=2))
        return
    click.echo(_format_draft(facts))
    for change, diff in changes:
        click.echo(f"{change.sort:<18} {strip_controls(change.path)}")
        echo_difference(diff.splitlines())


def _open_drafts(session: Session) -> list[DraftFacts]:
    return [facts for facts in draft_store.list_drafts(session.tree) if facts.state == draft_store.OPEN]


def _facts_of(session: Session, facts: DraftFacts) -> dict[str, Any]:
    is_used = _is_in_use(session, facts)
    summary = summary_of(session, facts, 0 if is_used else None)
    return {
        "id": facts.id,
        "title": facts.title,
        "actor": {"kind": facts.actor_kind, "name": facts.actor_name},
        "client": facts.client,
        "state": _IN_USE if is_used and summary.state == draft_store.OPEN else summary.state,
        "started_at": datetime.fromtimestamp(facts.begun_at, UTC).isoformat(),
        "entries_count": None if is_used else summary.pages,
    }


def _is_in_use(session: Session, facts: DraftFacts) -> bool:
    try:
        os.close(draft_store.lock_connection(session.tree, facts))
    except Busy:
        return True
    return False


def _format_draft(draft: Mapping[str, Any]) -> str:
    count = draft["entries_count"]
    entries = "" if count is None else "1 entry" if count == 1 else f"{count} entries"
    started, author = datetime.fromisoformat(draft["started_at"]), strip_controls(format_actor(draft["actor"]))
    title = strip_controls(draft["title"])
    return f"{draft['id'][:_ID_LENGTH]}  {format_time(started)}  {author:<20} {draft['state']:<9} {entries:<12} {title}"
