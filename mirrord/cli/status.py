"""`mirrord status`: gathered as plain values, shown as a table."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from mirrord import app
from mirrord.cli.options import configured, run
from mirrord.config import Config
from mirrord.db import approvals, attention, overview, tenants
from mirrord.db.connect import Database
from mirrord.domain.approval import State
from mirrord.errors import MirrordError, Unavailable
from mirrord.mirror import trash
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.mirror.tree import Tree

MOST = 50  # problems, and requests, shown a tenant
_DECIDE = "Decide with `mirrord approvals`."


@click.command()
@configured
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status(config: Config, as_json: bool) -> None:
    """What is in sync, what waits, what needs you."""
    found = run(gather(config))
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        describe(found)


async def gather(config: Config) -> dict[str, Any]:
    """
    {daemon {pid, alive, since}, database {embedded, server_version}, tenants [...], degraded [sentences],
    attention [{tenant, kind, path, sentence}]}: the last are problems, halts and requests that wait, each kind
    at most MOST a tenant.

    Times are ISO 8601 in UTC, None where there is none. server_version is None while Postgres is out of reach.
    """
    heartbeat = Heartbeat(config.mirror)
    facts, alive = heartbeat.read() or {}, heartbeat.alive()
    found: dict[str, Any] = {
        "daemon": {"pid": facts.get("pid") if alive else None, "alive": alive, "since": _moment(facts.get("since"))},
        "database": {"embedded": config.dsn is None, "server_version": None},
        "tenants": [],
        "attention": [],
        "degraded": list(facts.get("degraded", [])) if alive else [],
    }
    if not alive:
        found["degraded"].append("No daemon is running: changes wait where they were made. Start it with `mirrord up`.")
    postgres = app.Postgres(config)
    if postgres.embedded is not None and not postgres.embedded.running:
        found["degraded"].append("The embedded Postgres is stopped; it runs while the daemon does.")
        return found
    try:
        async with Database(postgres.dsn, size=1) as database:
            await _ask(config, database, found, facts.get("tenants", {}) if alive else {})
    except Unavailable as error:
        found["degraded"].append(str(error))
    return found


async def _ask(config: Config, database: Database, found: dict[str, Any], pulses: dict[str, Any]) -> None:
    async with database.connection() as connection:
        found["database"]["server_version"] = await overview.server_version(connection)
    for name, tenant in (await tenants.names(database)).items():
        async with database.transaction(tenant) as connection:
            counts = await overview.counts(connection, tenant)
            problems = await attention.problems(connection, tenant)
            halts = await attention.halts(connection, tenant)
            asked = await approvals.listed(connection, tenant, [State.PENDING])
        listed = [("problem", one.path, one.sentence) for one in problems[:MOST]]
        listed += [("halt", str(one.id), one.sentence) for one in halts]
        listed += [("approval", str(one.id), f"{one.preview['summary']} {_DECIDE}") for one in asked[:MOST]]
        for kind, path, sentence in listed:
            found["attention"].append({"tenant": name, "kind": kind, "path": path, "sentence": sentence})
        pulse = pulses.get(name, {})
        found["tenants"].append(
            {
                "name": name,
                "id": str(tenant),
                "pages": counts.pages,
                "attachments": counts.attachments,
                "records": counts.records,
                "pending": pulse.get("pending"),
                "conflicts": counts.conflicts,
                "problems": counts.problems,
                "halts": counts.halts,
                "seq": counts.seq,
                "trash": _trash(config.mirror / name),
                "last_file_to_row": _moment(pulse.get("last_file_to_row")),
                "last_row_to_file": _moment(pulse.get("last_row_to_file")),
            }
        )


def _trash(root: Path) -> dict[str, int] | None:
    """{files, bytes} in the trash of a tree; None: there is no tree here, or it cannot be read."""
    try:
        tree = Tree(root)
    except (MirrordError, OSError):
        return None
    try:
        files, size = trash.size(tree)
    except OSError:
        return None
    finally:
        tree.close()
    return {"files": files, "bytes": size}


def describe(found: dict[str, Any]) -> None:
    """Show it to a person."""
    console = Console()
    daemon, database = found["daemon"], found["database"]
    running = f"process {daemon['pid']}, started {_ago(daemon['since'])}" if daemon["alive"] else "not running"
    console.print(f"daemon: {running}", highlight=False)
    kind = "embedded" if database["embedded"] else "at the DSN"
    console.print(f"Postgres: {kind}, {database['server_version'] or 'out of reach'}", highlight=False)
    if found["tenants"]:
        console.print(tenant_table(found["tenants"]))
    for sentence in found["degraded"]:
        console.print(f"! {sentence}", style="yellow", markup=False, soft_wrap=True)
    for one in found["attention"]:
        console.print(f"{one['kind']} in {one['tenant']}: {one['sentence']}", markup=False, soft_wrap=True)


_COLUMNS = {
    "name": "tenant",
    "pages": "pages",
    "attachments": "files",
    "records": "records",
    "pending": "waiting",
    "conflicts": "conflicts",
    "problems": "problems",
    "halts": "halts",
}


def tenant_table(rows: list[dict[str, Any]]) -> Table:
    """One line a tenant."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for column, heading in _COLUMNS.items():
        table.add_column(heading, justify="left" if column == "name" else "right", no_wrap=True)
    table.add_column("trash", justify="right", no_wrap=True)
    table.add_column("file→row", no_wrap=True)
    table.add_column("row→file", no_wrap=True)
    for row in rows:
        cells = [str(row[column]) if row[column] is not None else "–" for column in _COLUMNS]
        kept = row["trash"]
        cells.append(str(kept["files"]) if kept is not None else "–")
        table.add_row(*cells, _ago(row["last_file_to_row"]), _ago(row["last_row_to_file"]))
    return table


def _ago(moment: str | None) -> str:
    """The time since then, in the largest unit that fits."""
    if moment is None:
        return "–"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{max(0, seconds):.0f} s ago"


def _moment(seconds: float | None) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds is not None else None
