"""`mirrord conflicts`: list, show and settle conflicts."""

import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import current_person, echo_difference, format_time, strip_controls
from mirrord.cli.tenant_database import run_in_transaction, run_with_database
from mirrord.config import Config
from mirrord.db import open_issues as store
from mirrord.db.database import Connection
from mirrord.db.open_issues import ConflictRow
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import EntryId, Kind, TenantId
from mirrord.errors import UserError
from mirrord.operations import conflict_resolution
from mirrord.operations.conflict_resolution import Choice, Dispute, Resolution
from mirrord.operations.three_way_diff import diff_lines, has_markers, mark_conflicts


@dataclass(frozen=True, slots=True)
class ListedConflict:
    """A conflict with the current paths of its entry and sibling; None: purged, or of a record."""

    conflict: ConflictRow
    path: str | None
    sibling_path: str | None


_seen_option = click.option(
    "--seen", "seen_versions", help="Refuse unless these are the current versions, as `show` prints them: 5/2."
)


@click.group(invoke_without_command=True)
@with_config_options
@tenant_option
def conflicts(config: Config, tenant: str | None) -> None:
    """List, show and resolve conflicts. A conflict is an entry that both sides changed."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        _print_conflicts(config, tenant, as_json=False)
    elif any(value is not None for value in context.params.values()):
        raise UserError(f"Put options after the subcommand: `mirrord conflicts {context.invoked_subcommand} …`.")


@conflicts.command("list")
@with_config_options
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(config: Config, tenant: str | None, as_json: bool) -> None:
    """List the open conflicts, oldest first."""
    _print_conflicts(config, tenant, as_json=as_json)


@conflicts.command()
@with_config_options
@tenant_option
@click.argument("number", type=int)
@click.option("--json", "as_json", is_flag=True, help="Print JSON with all three texts.")
@click.option("--markers", is_flag=True, help="Print one text with conflict markers, to edit for take-merged.")
def show(config: Config, tenant: str | None, number: int, as_json: bool, markers: bool) -> None:
    """Show the changes of each side in conflict NUMBER."""
    dispute, listed = _load_dispute(config, tenant, number)
    if as_json:
        click.echo(json.dumps(_conflict_facts(listed) | _dispute_facts(dispute), indent=2))
    elif markers:
        text = _with_markers(dispute)
        click.echo(strip_controls(text) if sys.stdout.isatty() else text, nl=False)
    else:
        _print_dispute(dispute, listed)


@conflicts.command("take-file")
@with_config_options
@tenant_option
@click.argument("number", type=int)
@_seen_option
def take_file(config: Config, tenant: str | None, number: int, seen_versions: str | None) -> None:
    """Resolve a conflict with the file's content. The sibling is moved to the trash."""
    _resolve(config, tenant, number, Choice.FILE, seen_versions, None)


@conflicts.command("take-row")
@with_config_options
@tenant_option
@click.argument("number", type=int)
@_seen_option
def take_row(config: Config, tenant: str | None, number: int, seen_versions: str | None) -> None:
    """Resolve a conflict with the current page. The sibling is moved to the trash."""
    _resolve(config, tenant, number, Choice.ROW, seen_versions, None)


@conflicts.command("take-merged")
@with_config_options
@tenant_option
@click.argument("number", type=int)
@click.argument(
    "merged",
    metavar="[FILE]",
    required=False,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@_seen_option
def take_merged(
    config: Config, tenant: str | None, number: int, merged: Path | None, seen_versions: str | None
) -> None:
    """Resolve a conflict with a merged text. FILE has the text (-: standard input); default: open an editor."""
    if merged is not None:
        data = sys.stdin.buffer.read() if str(merged) == "-" else merged.read_bytes()
    elif sys.stdin.isatty():
        dispute, _ = _load_dispute(config, tenant, number)
        seen_versions = seen_versions or dispute.versions
        data = _edit_text(dispute)
    else:
        raise UserError("Name the file with the merged text, or - for standard input.")
    _resolve(config, tenant, number, Choice.MERGED, seen_versions, data)


def _print_conflicts(config: Config, tenant: str | None, *, as_json: bool) -> None:
    conflicts_ = run_in_transaction(config, tenant, _list_conflicts)
    if as_json:
        click.echo(json.dumps([_conflict_facts(listed) for listed in conflicts_], indent=2))
        return
    for listed in conflicts_:
        created_at = format_time(listed.conflict.created_at) if listed.conflict.created_at else ""
        click.echo(f"{listed.conflict.id:>4}  {created_at}  {strip_controls(listed.path or listed.conflict.path)}")
        click.echo(f"      the file's content: {_place_of_file_text(listed)}")
    if conflicts_:
        click.echo(
            "`mirrord conflicts show NUMBER` shows both; `take-file`, `take-row` or `take-merged` settles it, "
            "and so does deleting the sibling, or giving it a name of its own.",
            err=True,
        )
    else:
        click.echo("No conflicts.", err=True)


async def _list_conflicts(connection: Connection, tenant: TenantId) -> list[ListedConflict]:
    conflicts_ = await store.list_conflicts(connection, tenant)
    paths = await paths_of(connection, tenant, [entry for each in conflicts_ for entry in _entries_of(each)])
    return [_to_listed(conflict, paths) for conflict in conflicts_]


def _to_listed(conflict: ConflictRow, paths: dict[EntryId, str]) -> ListedConflict:
    sibling = paths.get(conflict.sibling) if conflict.sibling is not None else None
    return ListedConflict(
        conflict, paths.get(conflict.entry, conflict.path if conflict.sibling is None else None), sibling
    )


def _entries_of(conflict: ConflictRow) -> list[EntryId]:
    return [entry for entry in (conflict.entry, conflict.sibling) if entry is not None]


def _place_of_file_text(listed: ListedConflict) -> str:
    """The place of the file's content, for people."""
    if listed.conflict.sibling is None:
        return f"in this conflict; `mirrord conflicts show {listed.conflict.id}` shows it"
    return strip_controls(listed.sibling_path or "(gone)")


def _load_dispute(config: Config, tenant: str | None, number: int) -> tuple[Dispute, ListedConflict]:
    async def work(connection: Connection, tenant_id: TenantId) -> tuple[Dispute, ListedConflict]:
        dispute = await conflict_resolution.load_dispute(connection, tenant_id, number)
        paths = await paths_of(connection, tenant_id, _entries_of(dispute.conflict))
        return dispute, _to_listed(dispute.conflict, paths)

    return run_in_transaction(config, tenant, work)


def _resolve(
    config: Config, tenant: str | None, number: int, choice: Choice, seen_versions: str | None, data: bytes | None
) -> None:
    resolution = Resolution(number, choice, data, seen_versions)
    work = partial(conflict_resolution.resolve_conflict, actor=current_person(), resolution=resolution)
    conflict = run_with_database(config, tenant, work).conflict
    outcome = "stays as it is" if choice is Choice.ROW else "has the content you chose, as a new version"
    sibling = "; the sibling goes to the trash" if conflict.sibling else ""
    click.echo(f"Settled: {strip_controls(conflict.path)} {outcome}{sibling}.")


def _conflict_facts(listed: ListedConflict) -> dict[str, Any]:
    conflict = listed.conflict
    return {
        "number": conflict.id,
        "kind": conflict.kind,
        "page": str(conflict.entry),
        "path": listed.path,
        "sibling": str(conflict.sibling) if conflict.sibling is not None else None,
        "sibling_path": listed.sibling_path,
        "since": conflict.created_at.isoformat() if conflict.created_at else None,
    }


def _dispute_facts(dispute: Dispute) -> dict[str, Any]:
    conflict, entry, sibling = dispute.conflict, dispute.entry, dispute.sibling
    facts = {
        "seen": dispute.versions,
        "page_changed": dispute.entry_changed,
        "sibling_changed": dispute.sibling_changed,
    }
    if conflict.kind is Kind.ATTACHMENT:
        digests = {"base": conflict.base_digest, "file": conflict.file_digest, "row": conflict.row_digest}
        return facts | {name: digest.hex() if digest else None for name, digest in digests.items()}
    current = {"row_now": entry.text if entry else None, "sibling_now": sibling.text if sibling else None}
    return facts | {"base": conflict.base_text, "file": conflict.file_text, "row": conflict.row_text} | current


def _print_dispute(dispute: Dispute, listed: ListedConflict) -> None:
    conflict = dispute.conflict
    path = listed.path or conflict.path
    click.echo(f"Conflict {conflict.id}: {strip_controls(path)}")
    place = "here" if conflict.sibling is None else f"in {strip_controls(listed.sibling_path or '(gone)')}"
    click.echo(f"The file's content is kept {place}; versions seen: {dispute.versions}")
    for changed, side in ((dispute.entry_changed, "page"), (dispute.sibling_changed, "sibling")):
        if changed:
            click.echo(f"The {side} changed since; below is how it is now.")
    click.echo()
    if conflict.kind is Kind.ATTACHMENT:
        _print_sizes(dispute)
        return
    row, file = _texts_of(dispute)
    if conflict.base_text is None:
        click.echo("The common base is not known. From the row's text to the file's:")
        echo_difference(diff_lines(row, file, "the row's text", "the file's text"))
        return
    click.echo("What the row changed:")
    echo_difference(diff_lines(conflict.base_text, row, "both came from", "the row's text"))
    click.echo("\nWhat the file changed:")
    echo_difference(diff_lines(conflict.base_text, file, "both came from", "the file's text"))


def _print_sizes(dispute: Dispute) -> None:
    for side, entry in (("the row's", dispute.entry), ("the file's", dispute.sibling)):
        if entry is not None and entry.digest is not None:
            click.echo(f"{side:<10} {entry.size} bytes  {entry.digest.hex()[:12]}")


def _texts_of(dispute: Dispute) -> tuple[str, str]:
    """The row's current text, and its text after take-file."""
    row = dispute.entry.text if dispute.entry is not None else None
    return row or "", conflict_resolution.file_text(dispute)


def _with_markers(dispute: Dispute) -> str:
    if dispute.conflict.kind is Kind.ATTACHMENT:
        raise UserError("An attachment has no text; merge the two files with a program for their format.")
    row, file = _texts_of(dispute)
    return mark_conflicts(dispute.conflict.base_text, file, row)


def _edit_text(dispute: Dispute) -> bytes:
    """The marked text as edited by the person."""
    text = click.edit(_with_markers(dispute), extension=".md")
    if text is None:
        raise UserError("The text was not saved in the editor; nothing was changed.")
    if has_markers(text):
        raise UserError("There are conflict markers left in the text; nothing was changed.")
    return text.encode()
