"""`mirrord import`: import a foreign tree into a tenant's mirror. Needs neither database nor daemon."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mirrord.cli.options import EXIT_DIFFERENT, as_options, tenant_option, with_config_options
from mirrord.cli.output import echo_omissions, progress_bar, strip_controls
from mirrord.cli.person_session import open_session
from mirrord.commands.core.session import Session
from mirrord.commands.pages.tree_import import ImportOutcome, import_tree
from mirrord.commands.pages.tree_import_preview import TreeSurvey, survey_tree
from mirrord.config import Config
from mirrord.domain.long_work import Omission, Progress
from mirrord.errors import Unavailable, UserError
from mirrord.mirror.heartbeat import Heartbeat, request_flush
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_scan import HIDDEN, IGNORED, NO_ENDING, UNFINISHED

_POLL_SECONDS = 0.5  # seconds between two readings of the pending changes
_SKIPPED_KINDS = {
    HIDDEN: "hidden",
    UNFINISHED: "unfinished files of editors and browsers",
    IGNORED: "kept out by .mirrorignore",
    NO_ENDING: "files without an ending that are neither pages nor attachments",
}


@dataclass(frozen=True, slots=True)
class _Outcome:
    """carried: None in a dry run. taken_in: whether all rows exist; None: no daemon runs."""

    tenant: str
    surveyed: TreeSurvey
    carried: ImportOutcome | None
    taken_in: bool | None

    @property
    def same(self) -> int:
        return self.surveyed.same + (self.carried.same if self.carried else 0)

    @property
    def differing(self) -> list[Omission]:
        return [*self.surveyed.differing, *(self.carried.differing if self.carried else ())]

    @property
    def left(self) -> list[Omission]:
        return [*self.surveyed.omissions, *(self.carried.omissions if self.carried else ())]


@dataclass(frozen=True, slots=True)
class _ImportOptions:
    """What `mirrord import` takes. into: the target folder. timeout: in seconds."""

    tenant: str | None
    directory: Path
    into: str
    dry_run: bool
    as_json: bool
    timeout: float


@click.command("import")
@with_config_options
@tenant_option
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--into", default="", metavar="FOLDER", help="Target folder; default: the root.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds to wait until all rows exist.")
@as_options(_ImportOptions)
def import_command(config: Config, options: _ImportOptions) -> int:
    """
    Import the files below DIR into a tenant.

    DIR can be a vault, an export or a checkout: pages, attachments and records are imported. Files are copied into the
    mirror on this host, and from there into rows. Existing files are never changed: files with other bytes are listed,
    with exit code 1. Equal files are skipped, so a second run resumes an interrupted import.
    """
    source, into, timeout = options.directory.resolve(), options.into, options.timeout
    with open_session(config, options.tenant) as session:
        tree = _open_source(source, session.tree.root.resolve())
        try:
            outcome = _import_tree(config, session, tree, into, timeout, dry_run=options.dry_run)
        finally:
            tree.close()
    if options.as_json:
        _print_json(source, into, outcome)
    else:
        _print_outcome(outcome)
    if outcome.taken_in is False:
        raise Unavailable(f"After {timeout:g} s not all of it is in rows yet; `mirrord status` says what waits.")
    return EXIT_DIFFERENT if outcome.differing or outcome.left else 0


def _open_source(source: Path, root: Path) -> Tree:
    if source == root or root in source.parents or source in root.parents:
        raise UserError(f"{source} is inside the mirror {root}, or contains it, so it needs no import.")
    try:
        return Tree(source)
    except OSError as error:
        raise UserError(f"{source} cannot be opened: {error.strerror}.") from error


def _import_tree(
    config: Config, session: Session, source: Tree, into: str, timeout: float, *, dry_run: bool
) -> _Outcome:
    with progress_bar("Looking") as report:
        surveyed = survey_tree(session, source, into.strip("/"), report)
    if dry_run:
        return _Outcome(session.tenant_name, surveyed, None, None)
    with progress_bar("Importing", len(surveyed.new)) as report:
        carried = import_tree(session, source, surveyed, report)
    return _Outcome(session.tenant_name, surveyed, carried, _wait_for_rows(config, session.tenant_name, timeout))


def _wait_for_rows(config: Config, tenant: str, timeout: float) -> bool | None:
    heart = Heartbeat(config.mirror)
    if not heart.is_alive():
        return None
    with progress_bar("Taking in") as report:
        try:
            request_flush(config.mirror, timeout, _progress_watcher(heart, tenant, report))
        except TimeoutError:
            return False
        except Unavailable:  # it ended meanwhile
            return None
    return True


def _progress_watcher(heart: Heartbeat, tenant: str, report: Progress) -> Callable[[], None]:
    """A callback that reports how many of the pending changes are done."""
    peak, polled_at = 1, 0.0

    def watch() -> None:
        nonlocal peak, polled_at
        if time.monotonic() > polled_at + _POLL_SECONDS:
            polled_at = time.monotonic()
            pending = (heart.read() or {}).get("tenants", {}).get(tenant, {}).get("pending", 0)
            peak = max(peak, pending)
            report(peak - pending, peak)

    return watch


def _print_outcome(outcome: _Outcome) -> None:
    surveyed, carried = outcome.surveyed, outcome.carried
    summary = f"{carried.imported_count} files imported" if carried else f"{len(surveyed.new)} files are new"
    click.echo(f"{outcome.tenant}: {summary}, {outcome.same} were there already.")
    for kind, count in sorted(surveyed.ignored_counts.items()):
        reason = _SKIPPED_KINDS.get(kind, f"{kind} files that are neither pages nor attachments")
        click.echo(f"  passed over: {count} {strip_controls(reason)}")
    if any(kind.startswith(".") for kind in surveyed.ignored_counts):
        click.echo(
            "  `attachments` below [mirror] in mirrord.toml sets which files are attachments: docs/attachments.md"
        )
    for copy in surveyed.copies:
        path, original = strip_controls(copy.path), strip_controls(copy.elsewhere)
        click.echo(f"  {path} has the id of {original}: it becomes a page of its own")
    echo_omissions(outcome.differing, "differ, and stay as they are in the mirror")
    echo_omissions(outcome.left, "cannot come in")
    if carried is not None and outcome.taken_in is None:
        click.echo("No daemon is running: the files are taken into rows at the next `mirrord up`.")


def _print_json(source: Path, into: str, outcome: _Outcome) -> None:
    surveyed, carried = outcome.surveyed, outcome.carried
    facts = {
        "tenant": outcome.tenant,
        "directory": str(source),
        "into": into,
        "dry_run": carried is None,
        "new": len(surveyed.new),
        "imported": carried.imported_count if carried else 0,
        "folders": len(surveyed.folders),
        "same": outcome.same,
        "differing": [asdict(omission) for omission in outcome.differing],
        "left": [asdict(omission) for omission in outcome.left],
        "passed": dict(surveyed.ignored_counts),
        "copies": [asdict(copy) for copy in surveyed.copies],
        "taken_in": outcome.taken_in,
    }
    click.echo(json.dumps(facts, indent=2))
