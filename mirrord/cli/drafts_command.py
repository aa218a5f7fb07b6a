"""`mirrord changes drafts`: the change sets that agents have begun and not ended, as the tree has them."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import format_actor, format_time, strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.changes.change_commands import summary_of
from mirrord.commands.core.session import Session
from mirrord.config import Config
from mirrord.errors import Busy
from mirrord.mirror.draft import draft_store
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
        drafts = [facts for facts in draft_store.list_drafts(session.tree) if facts.state == draft_store.OPEN]
        listed = [_facts_of(session, facts) for facts in drafts]
    if as_json:
        click.echo(json.dumps(listed, indent=2))
        return
    for draft in listed:
        click.echo(_format_draft(draft))
    if not listed:
        click.echo("No agent has a change set open.", err=True)


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
