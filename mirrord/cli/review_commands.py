"""`mirrord changes show|accept|reject|edit`: a person reviews what an agent wants to change."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from typing import Any

import click

from mirrord.cli.options import EXIT_DIFFERENT, as_options, tenant_option, with_config_options
from mirrord.cli.output import echo_difference, format_actor, format_time, strip_controls
from mirrord.cli.tenant_database import run_in_transaction
from mirrord.config import Config
from mirrord.db import review_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.db.database import Connection
from mirrord.db.review_rows import StoredReview
from mirrord.domain.entry import TenantId
from mirrord.domain.review import ChangePreview
from mirrord.errors import UserError
from mirrord.operations import review_choices

_CHANNEL = "cli"
_ID_LENGTH = 18  # characters of an id, as in the list of change sets


def list_waiting(config: Config, tenant: str | None) -> list[StoredRequest]:
    """The change sets that wait for a person."""
    return run_in_transaction(config, tenant, review_rows.list_waiting)


def format_waiting(stored: StoredRequest) -> str:
    """A change set that waits for a person, as a line of the list."""
    facts = stored.preview.get("facts", {})
    count = facts.get("changed_pages_count", "?")
    entries, title = "1 entry" if count == 1 else f"{count} entries", strip_controls(str(facts.get("title", "")))
    identifier = str(stored.arguments["change_set"])[:_ID_LENGTH]
    author = strip_controls(format_actor(stored.actor))
    return f"{identifier}  {format_time(stored.requested_at)}  {author:<20} {'in review':<9} {entries:<12} {title}"


def waiting_facts(stored: StoredRequest) -> dict[str, Any]:
    """A change set that waits for a person, as JSON."""
    facts = stored.preview.get("facts", {})
    return {
        "id": stored.arguments["change_set"],
        "kind": "draft",
        "title": facts.get("title"),
        "message": stored.arguments.get("message"),
        "actor": dict(stored.actor),
        "state": "in review",
        "request": str(stored.id),
        "started_at": stored.requested_at.isoformat(),
        "entries_count": facts.get("changed_pages_count"),
    }


def find_waiting(config: Config, tenant: str | None, change_set: str) -> StoredReview | None:
    """The review of the change set whose id begins so; None: it does not wait for a person."""
    return run_in_transaction(config, tenant, partial(review_rows.find_review, beginning=change_set))


def print_review(review: StoredReview, page: str | None, *, as_json: bool) -> int:
    """Print what a change set would change, page by page. page: of one page only."""
    if page is not None:
        review_choices.check_paths(review, [page])
    changes = [review.shown_change(change) for change in review.changes if page in (None, change.path)]
    if as_json:
        facts = [change.facts() | {"blocks": _block_facts(change)} for change in changes]
        choice = review.choice.facts()
        click.echo(
            json.dumps(
                waiting_facts(review.request) | {"shown": review.shown, "changes": facts, "choice": choice}, indent=2
            )
        )
        return EXIT_DIFFERENT
    click.echo(format_waiting(review.request))
    for change in changes:
        _print_change(review, change)
    identifier = review.change_set[:_ID_LENGTH]
    click.echo(f"\nmirrord changes accept {identifier} --shown {review.shown}   # or with --page PATH, --block PATH:N")
    click.echo(f"mirrord changes reject {identifier} --comment …")
    return EXIT_DIFFERENT


def _block_facts(change: ChangePreview) -> list[dict[str, Any]]:
    return [{"number": block.number, "old": block.old, "new": block.new} for block in review_choices.blocks_of(change)]


def _print_change(review: StoredReview, change: ChangePreview) -> None:
    notes = [f"from {change.source}"] if change.source not in (None, change.path) else []
    notes += ["others changed it too"] if change.is_merged else []
    notes += ["with your text"] if change.path in review.choice.texts else []
    notes += ["rejected"] if change.path in review.choice.rejected else []
    click.echo(strip_controls(f"\n{change.kind} {change.path}" + (f"  ({', '.join(notes)})" if notes else "")))
    if change.new is None and change.old is not None and change.kind != "deleted":
        click.echo("  Its bytes change; there is no text to show.")
    for block in review_choices.blocks_of(change):
        click.secho(f"  block {block.number}", bold=True)
        lines = unified_diff(block.old.splitlines(), block.new.splitlines(), lineterm="", n=1)
        echo_difference(line for line in lines if not line.startswith(("--- ", "+++ ", "@@")))
    if change.kind == "deleted" and change.old is not None:
        echo_difference(f"-{line}" for line in change.old.splitlines())


@dataclass(frozen=True, slots=True)
class _AcceptOptions:
    """What `mirrord changes accept` takes."""

    tenant: str | None
    change_set: str
    pages: tuple[str, ...]
    blocks: tuple[str, ...]
    message: str | None
    shown_digest: str | None


@click.command()
@with_config_options
@tenant_option
@click.argument("change_set", metavar="ID")
@click.option("--page", "pages", metavar="PATH", multiple=True, help="Accept this page; the others are rejected.")
@click.option("--block", "blocks", metavar="PATH:N", multiple=True, help="Accept this block of a page only.")
@click.option("--comment", "--message", "message", help="Comment for the agent.")
@click.option(
    "--shown", "shown_digest", metavar="DIGEST", help="Accept only what `mirrord changes show` showed with this digest."
)
@as_options(_AcceptOptions)
def accept(config: Config, options: _AcceptOptions) -> int:
    """
    Accept the change set ID, or the pages and blocks that are named.

    The daemon applies that as a whole. What is not accepted goes back to the agent with the comment.
    """

    async def work(connection: Connection, tenant: TenantId) -> tuple[StoredReview, bool]:
        review = await _load(connection, tenant, options.change_set)
        if options.shown_digest is not None and options.shown_digest != review.shown:
            return review, False
        choice = review_choices.choose_parts(review, options.pages, _parse_blocks(options.blocks))
        review_choices.check_accepted(review, choice)
        review = replace(review, choice=choice)
        await review_rows.decide_review(
            connection, tenant, review, accept=True, comment=options.message, channel=_CHANNEL
        )
        return review, True

    review, is_decided = run_in_transaction(config, options.tenant, work)
    if not is_decided:
        click.echo("It changed since it was shown; nothing was accepted. This is what it is now:", err=True)
        return print_review(review, None, as_json=False)
    rejected = sorted({*review.choice.rejected, *review.choice.blocks})
    note = f" {len(rejected)} go back to the agent, as a whole or in part." if rejected else ""
    click.echo(f"Accepted; the daemon applies it within a second.{note}")
    return 0


@click.command()
@with_config_options
@tenant_option
@click.argument("change_set", metavar="ID")
@click.option("--page", "pages", metavar="PATH", multiple=True, help="Reject this page only; the others still wait.")
@click.option("--comment", "--message", "comment", help="Comment for the agent.")
def reject(config: Config, tenant: str | None, change_set: str, pages: Sequence[str], comment: str | None) -> None:
    """Send the change set ID back to the agent, or mark pages that will not be accepted."""
    if pages and comment is not None:
        raise UserError("The comment is sent with the decision: accept the rest with --comment, or reject all.")

    async def work(connection: Connection, tenant_id: TenantId) -> None:
        review = await _load(connection, tenant_id, change_set)
        if pages:
            choice = review_choices.reject_pages(review, pages)
            await review_rows.store_choice(connection, review.request.id, choice)
            return
        await review_rows.decide_review(connection, tenant_id, review, accept=False, comment=comment, channel=_CHANNEL)

    run_in_transaction(config, tenant, work)
    click.echo(
        "Marked; `mirrord changes accept` accepts the rest." if pages else "Rejected; the agent may go on with it."
    )


@click.command()
@with_config_options
@tenant_option
@click.argument("change_set", metavar="ID")
@click.argument("path", metavar="PATH")
def edit(config: Config, tenant: str | None, change_set: str, path: str) -> int:
    """Edit the text of a page in the change set ID with $EDITOR, before accepting it; then show it again."""
    review = find_waiting(config, tenant, change_set)
    if review is None:
        raise _no_review(change_set)
    review_choices.check_paths(review, [path])
    change = next(review.shown_change(change) for change in review.changes if change.path == path)
    text = click.edit(change.new, extension=".md")
    if text is None:
        click.echo("The text stays as it is.", err=True)
        return 0

    async def work(connection: Connection, tenant_id: TenantId) -> StoredReview:
        current_review = await _load(connection, tenant_id, change_set)
        if current_review.shown != review.shown:
            raise UserError("The change set changed meanwhile; edit it again.")
        choice = review_choices.edit_page(current_review, path, text)
        await review_rows.store_choice(connection, current_review.request.id, choice)
        return replace(current_review, choice=choice)

    return print_review(run_in_transaction(config, tenant, work), path, as_json=False)


REVIEW_COMMANDS: Sequence[click.Command] = (accept, reject, edit)


async def _load(connection: Connection, tenant: TenantId, change_set: str) -> StoredReview:
    review = await review_rows.find_review(connection, tenant, change_set)
    if review is None:
        raise _no_review(change_set)
    return review


def _no_review(change_set: str) -> UserError:
    return UserError(f"No change set {change_set!r} waits for a review. `mirrord changes` lists them.")


def _parse_blocks(blocks: Sequence[str]) -> dict[str, set[int]]:
    chosen: dict[str, set[int]] = defaultdict(set)
    for text in blocks:
        path, _, number = text.rpartition(":")
        if not path or not number.isascii() or not number.isdigit():
            raise UserError(f"{text!r} is no block; write its page and number, as in `Inbox/Notes.md:2`.")
        chosen[path].add(int(number))
    return chosen
