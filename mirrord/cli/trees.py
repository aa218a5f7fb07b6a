"""`mirrord import`: import a directory tree into the mirror of a tenant, without database or daemon."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mirrord.cli.options import DIFFERENT, configured, tenant_option
from mirrord.cli.output import echo_omissions, harmless
from mirrord.cli.progress import bar
from mirrord.cli.sessions import session_of
from mirrord.commands.carrying import Carried, carry
from mirrord.commands.incoming import Survey, survey
from mirrord.commands.session import Session
from mirrord.config import Config
from mirrord.domain.omission import Omission
from mirrord.domain.progress import Progress
from mirrord.errors import Unavailable, UserError
from mirrord.mirror.heartbeat import Heartbeat, ask_flush
from mirrord.mirror.passed import HIDDEN, IGNORED, PLAIN, UNFINISHED
from mirrord.mirror.tree import Tree

_LOOK = 0.5  # seconds between two readings of the pending changes
_PASSED = {
    HIDDEN: "hidden",
    UNFINISHED: "unfinished files of editors and browsers",
    IGNORED: "kept out by .mirrorignore",
    PLAIN: "files without an ending that are neither pages nor attachments",
}


@dataclass(frozen=True, slots=True)
class _Outcome:
    """carried: None in a dry run. taken_in: whether all rows exist; None: no daemon runs."""

    tenant: str
    found: Survey
    carried: Carried | None
    taken_in: bool | None

    @property
    def same(self) -> int:
        return self.found.same + (self.carried.same if self.carried else 0)

    @property
    def differing(self) -> list[Omission]:
        return [*self.found.differing, *(self.carried.differing if self.carried else ())]

    @property
    def left(self) -> list[Omission]:
        return [*self.found.left, *(self.carried.left if self.carried else ())]


@click.command("import")
@configured
@tenant_option
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--into", default="", metavar="FOLDER", help="Target folder; default: the root.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds to wait until all rows exist.")
def import_command(
    config: Config, tenant: str | None, directory: Path, into: str, dry_run: bool, as_json: bool, timeout: float
) -> int:
    """
    Import the files below DIR into a tenant.

    DIR can be a vault, an export or a checkout: pages, attachments and records are imported. Files are copied into the
    mirror on this host, and from there into rows. Existing files are never changed: files with other bytes are listed,
    with exit code 1. Equal files are skipped, so a second run resumes an interrupted import.
    """
    source = directory.resolve()
    with session_of(config, tenant) as session:
        tree = _opened(source, session.tree.root.resolve())
        try:
            outcome = _import(config, session, tree, into, timeout, dry_run=dry_run)
        finally:
            tree.close()
    if as_json:
        _print_json(source, into, outcome)
    else:
        _print(outcome)
    if outcome.taken_in is False:
        raise Unavailable(f"After {timeout:g} s not all of it is in rows yet; `mirrord status` says what waits.")
    return DIFFERENT if outcome.differing or outcome.left else 0


def _opened(source: Path, root: Path) -> Tree:
    if source == root or root in source.parents or source in root.parents:
        raise UserError(f"{source} is in the mirror {root}, or around it: what is in a mirror needs no import.")
    try:
        return Tree(source)
    except OSError as error:
        raise UserError(f"{source} cannot be opened: {error.strerror}.") from error


def _import(config: Config, session: Session, source: Tree, into: str, timeout: float, *, dry_run: bool) -> _Outcome:
    with bar("Looking") as report:
        found = survey(session, source, into.strip("/"), report)
    if dry_run:
        return _Outcome(session.tenant_name, found, None, None)
    with bar("Importing", len(found.new)) as report:
        carried = carry(session, source, found, report)
    return _Outcome(session.tenant_name, found, carried, _taken_in(config, session.tenant_name, timeout))


def _taken_in(config: Config, tenant: str, timeout: float) -> bool | None:
    heart = Heartbeat(config.mirror)
    if not heart.alive():
        return None
    with bar("Taking in") as report:
        try:
            ask_flush(config.mirror, timeout, _watching(heart, tenant, report))
        except TimeoutError:
            return False
        except Unavailable:  # it ended meanwhile
            return None
    return True


def _watching(heart: Heartbeat, tenant: str, report: Progress) -> Callable[[], None]:
    """A callback that reports how many of the pending changes are done."""
    most, looked = 1, 0.0

    def watch() -> None:
        nonlocal most, looked
        if time.monotonic() > looked + _LOOK:
            looked = time.monotonic()
            pending = (heart.read() or {}).get("tenants", {}).get(tenant, {}).get("pending", 0)
            most = max(most, pending)
            report(most - pending, most)

    return watch


def _print(outcome: _Outcome) -> None:
    found, carried = outcome.found, outcome.carried
    what = f"{carried.landed} files imported" if carried else f"{len(found.new)} files are new"
    click.echo(f"{outcome.tenant}: {what}, {outcome.same} were there already.")
    for kind, count in sorted(found.passed.items()):
        told = _PASSED.get(kind, f"{kind} files that are neither pages nor attachments")
        click.echo(f"  passed over: {count} {harmless(told)}")
    if any(kind.startswith(".") for kind in found.passed):
        click.echo(
            "  which files are attachments says `attachments` below [mirror] in mirrord.toml: docs/attachments.md"
        )
    for copy in found.copies:
        click.echo(f"  {harmless(copy.path)} has the id of {harmless(copy.elsewhere)}: it becomes a page of its own")
    echo_omissions(outcome.differing, "differ, and stay as they are in the mirror")
    echo_omissions(outcome.left, "cannot come in")
    if carried is not None and outcome.taken_in is None:
        click.echo("No daemon is running: the files are taken into rows at the next `mirrord up`.")


def _print_json(source: Path, into: str, outcome: _Outcome) -> None:
    found, carried = outcome.found, outcome.carried
    facts = {
        "tenant": outcome.tenant,
        "directory": str(source),
        "into": into,
        "dry_run": carried is None,
        "new": len(found.new),
        "imported": carried.landed if carried else 0,
        "folders": len(found.folders),
        "same": outcome.same,
        "differing": [asdict(one) for one in outcome.differing],
        "left": [asdict(one) for one in outcome.left],
        "passed": dict(found.passed),
        "copies": [asdict(one) for one in found.copies],
        "taken_in": outcome.taken_in,
    }
    click.echo(json.dumps(facts, indent=2))
