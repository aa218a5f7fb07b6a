"""`mirrord changes show|accept|reject|edit`: a person reviews what an agent wants to change."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, TypeVar

import click

from mirrord.cli.options import EXIT_DIFFERENT, EXIT_UNAVAILABLE, as_options, tenant_option, with_config_options
from mirrord.cli.output import current_person, echo_difference, format_actor, format_time, strip_controls
from mirrord.cli.tenant_database import run_in_transaction, run_with_database
from mirrord.config import Config
from mirrord.db import review_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.db.database import Connection
from mirrord.db.review_rows import StoredReview
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import TenantId
from mirrord.domain.review import ChangePreview, clashes_of
from mirrord.errors import Refused, Stale, UserError
from mirrord.operations import review_choices
from mirrord.operations.review_choices import Clashing
from mirrord.operations.review_decisions import Acceptance, Look, Reviewer, no_review

T = TypeVar("T")

_CHANNEL = "cli"
_MAX_NOTES = 3  # about moves that a page's links follow
_ID_LENGTH = 18  # characters of an id, as in the list of change sets


def list_waiting(config: Config, tenant: str | None) -> list[StoredRequest]:
    """The change sets that wait for a person, and those that were accepted and are not applied yet."""
    return run_in_transaction(config, tenant, review_rows.list_unapplied)


def format_waiting(stored: StoredRequest) -> str:
    """A change set that waits for a person, as a line of the list."""
    facts = stored.preview.get("facts", {})
    count = facts.get("changed_pages_count", "?")
    entries, title = "1 entry" if count == 1 else f"{count} entries", strip_controls(str(facts.get("title", "")))
    identifier = str(stored.arguments["change_set"])[:_ID_LENGTH]
    author = strip_controls(format_actor(stored.actor))
    state = _state_of(stored)
    return f"{identifier}  {format_time(stored.requested_at)}  {author:<20} {state:<9} {entries:<12} {title}"


def _state_of(stored: StoredRequest) -> str:
    return "accepted" if stored.state is RequestState.APPROVED else "in review"


def waiting_facts(stored: StoredRequest) -> dict[str, Any]:
    """A change set that waits for a person, as JSON."""
    facts = stored.preview.get("facts", {})
    return {
        "id": stored.arguments["change_set"],
        "kind": "draft",
        "title": facts.get("title"),
        "message": stored.arguments.get("message"),
        "actor": dict(stored.actor),
        "state": _state_of(stored),
        "request": str(stored.id),
        "started_at": stored.requested_at.isoformat(),
        "entries_count": facts.get("changed_pages_count"),
    }


def find_waiting(config: Config, tenant: str | None, change_set: str) -> Look | None:
    """The change set whose id begins so, as it would be applied now; None: it does not wait for a person."""
    return _run_reviewer(config, tenant, lambda reviewer: reviewer.look(change_set))


def print_review(look: Look, page: str | None, *, as_json: bool) -> int:
    """Print what a change set would change, page by page. page: of one page only."""
    review = look.review
    if page is not None:
        review_choices.check_paths(review, [page])
    changes = [review.shown_change(change) for change in review.changes if page in (None, change.path)]
    if as_json:
        facts = [change.facts() | {"blocks": _block_facts(change)} for change in changes]
        state = {"shown": review.shown, "is_current": look.is_fresh, "changes": facts, "choice": review.choice.facts()}
        click.echo(json.dumps(waiting_facts(review.request) | state, indent=2))
        return EXIT_DIFFERENT
    click.echo(format_waiting(review.request))
    if not look.is_fresh:
        click.echo("No daemon has compared it with the files now; it is shown as it was before.", err=True)
    for change in changes:
        _print_change(review, change)
    identifier = review.change_set[:_ID_LENGTH]
    if clashes := clashes_of(changes, review.choice):
        click.echo(f"\n{_help_with(identifier, review, clashes)}")
    click.echo(f"\nmirrord changes accept {identifier} --shown {review.shown}   # or with --page PATH, --block PATH:N")
    click.echo(f"mirrord changes reject {identifier} --comment …")
    return EXIT_DIFFERENT


def _help_with(identifier: str, review: StoredReview, clashes: Collection[str]) -> str:
    """The commands that end these clashes."""
    mendable = {change.path for change in review.changes if change.clash is None or change.is_mendable}
    edits = [
        f'mirrord changes edit {identifier} "{strip_controls(path)}"   # write what it should be, or leave it out:'
        for path in sorted(mendable & {*clashes})
    ]
    pages = " ".join(f'--page "{strip_controls(path)}"' for path in sorted(clashes))
    return "\n".join(
        [*edits, f"mirrord changes reject {identifier} {pages}   # leave it to the agent, accept the rest"]
    )


def _block_facts(change: ChangePreview) -> list[dict[str, Any]]:
    return [{"number": block.number, "old": block.old, "new": block.new} for block in review_choices.blocks_of(change)]


def _print_change(review: StoredReview, change: ChangePreview) -> None:
    notes = [f"from {change.source}"] if change.source not in (None, change.path) else []
    notes += ["others changed it too"] if change.is_merged else []
    notes += ["with your text"] if review.choice.text_of(change.path) is not None else []
    notes += [f"its links follow {move}" for move in sorted(change.followed)][:_MAX_NOTES]
    notes += ["rejected"] if change.path in review.choice.rejected else []
    click.echo(strip_controls(f"\n{change.kind} {change.path}" + (f"  ({', '.join(notes)})" if notes else "")))
    if (reason := clashes_of([change], review.choice).get(change.path)) is not None:
        click.secho(f"  clashes: it {strip_controls(reason)}", bold=True)
    if change.new is None and change.kind in ("created", "edited"):
        click.echo("  It is no text that could be shown; accept or reject it as a whole.")
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

    The daemon applies that as a whole, merged with what others changed meanwhile, before the command ends. What is not
    accepted goes back to the agent with the comment. If a page clashes, nothing is applied and all of it still waits.
    """
    blocks = _parse_blocks(options.blocks)
    acceptance = Acceptance(
        options.change_set,
        lambda review: review_choices.choose_parts(review, options.pages, blocks),
        options.shown_digest,
        options.message,
        _CHANNEL,
    )
    try:
        accepted = _run_reviewer(config, options.tenant, lambda reviewer: reviewer.accept(acceptance))
    except Clashing as error:
        calls = _help_with(error.review.change_set[:_ID_LENGTH], error.review, error.clashes)
        raise Refused(f"{error} It still waits:\n{calls}") from error
    except Stale as error:
        click.echo(f"{error} This is what it is now:", err=True)
        look = find_waiting(config, options.tenant, options.change_set)
        return print_review(look, None, as_json=False) if look is not None else EXIT_DIFFERENT
    returned = {*accepted.review.choice.rejected, *accepted.review.choice.blocks}
    note = f" {len(returned)} go back to the agent, as a whole or in part." if returned else ""
    if not accepted.is_applied:
        advice = "it is applied when sync runs; `mirrord status` says what it waits for"
        click.echo(f"Accepted, and not applied yet: {advice}.{note}", err=True)
        return EXIT_UNAVAILABLE
    click.echo(f"Accepted and applied.{note}")
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
    """
    Edit the text of a page in the change set ID with $EDITOR, before accepting it; then show it again.

    The text is merged with what others change in the page until it is accepted.
    """
    look = find_waiting(config, tenant, change_set)
    if look is None:
        raise no_review(change_set)
    shown_review = look.review
    review_choices.check_paths(shown_review, [path])
    change = next(shown_review.shown_change(change) for change in shown_review.changes if change.path == path)
    review_choices.edit_page(shown_review, path, "")  # raises if it has no text
    text = click.edit(change.new, extension=".md")
    if text is None:
        click.echo("The text stays as it is.", err=True)
        return 0

    async def work(connection: Connection, tenant_id: TenantId) -> None:
        review = await _load(connection, tenant_id, change_set)
        review_choices.check_paths(review, [path])
        choice = review_choices.carry_text(shown_review, review, path, text)
        await review_rows.store_choice(connection, review.request.id, choice)

    try:
        run_in_transaction(config, tenant, work)
    except UserError as error:
        raise UserError(f"{error} Your text is in {_keep_text(text)}.") from error
    return _print_edited(config, tenant, shown_review, path)


def _print_edited(config: Config, tenant: str | None, shown_review: StoredReview, path: str) -> int:
    """Print a page with the text that was stored for it; what others changed in it meanwhile is merged now."""
    look = find_waiting(config, tenant, shown_review.change_set)
    if look is None:
        raise no_review(shown_review.change_set)
    print_review(look, path if any(change.path == path for change in look.review.changes) else None, as_json=False)
    if path not in look.review.choice.unfitting:
        return 0
    click.echo("Your text is stored, but others changed the same lines; edit it again.", err=True)
    return EXIT_DIFFERENT


def _keep_text(text: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".md", prefix="mirrord-", encoding="utf-8", delete=False) as file:
        file.write(text)
    return file.name


REVIEW_COMMANDS: Sequence[click.Command] = (accept, reject, edit)


async def _load(connection: Connection, tenant: TenantId, change_set: str) -> StoredReview:
    review = await review_rows.find_review(connection, tenant, change_set)
    if review is None:
        raise no_review(change_set)
    return review


def _run_reviewer(config: Config, tenant: str | None, work: Callable[[Reviewer], Awaitable[T]]) -> T:
    return run_with_database(
        config, tenant, lambda database, tenant_id: work(Reviewer(database, tenant_id, current_person()))
    )


def _parse_blocks(blocks: Sequence[str]) -> dict[str, set[int]]:
    chosen: dict[str, set[int]] = defaultdict(set)
    for text in blocks:
        path, _, number = text.rpartition(":")
        if not path or not number.isascii() or not number.isdigit():
            raise UserError(f"{text!r} is no block; write its page and number, as in `Inbox/Notes.md:2`.")
        chosen[path].add(int(number))
    return chosen
