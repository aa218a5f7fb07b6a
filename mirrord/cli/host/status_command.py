"""`mirrord status`: gather the state and show it once, or continuously with --watch."""

import asyncio
import json
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import click
from rich.console import Console
from rich.live import Live

from mirrord import app
from mirrord.cli.host.status_board import (
    MAX_LIVE_TENANTS,
    PIPE_COLUMNS,
    facts_of_pulse,
    iso_time,
    render_board,
    state_of,
)
from mirrord.cli.options import run, with_config_options
from mirrord.config import Config
from mirrord.db import approval_rows, open_issues, tenant_rows
from mirrord.db.approval_rows import StoredRequest
from mirrord.db.content.history_purge import load_cost
from mirrord.db.database import Database
from mirrord.db.open_issues import Halt, Problem
from mirrord.domain.approval import RequestState
from mirrord.domain.entry import TenantId
from mirrord.domain.problem_advice import REMEDIES
from mirrord.errors import MirrordError, Unavailable, UserError
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.write import trash

MAX_ROWS_PER_TENANT = 50  # problems, and requests, shown for each tenant
_NO_DAEMON = "No daemon is running: changes wait where they were made. Start it with `mirrord up`."
REFRESH_SECONDS = 1.0  # seconds between two updates, as between two beats of the daemon
QUERY_SECONDS = 5.0  # seconds between two queries of the database


@click.command()
@with_config_options
@click.option("--tenant", help="Show only this tenant; default: all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--watch", is_flag=True, help="Update the view until Ctrl-C (on a terminal).")
def status(config: Config, tenant: str | None, as_json: bool, watch: bool) -> None:
    """Show sync state, pending changes and decisions."""
    console = Console()
    if watch and console.is_terminal and not as_json:
        with suppress(KeyboardInterrupt):
            run(_watch_live(config, console, tenant))
        return
    facts = run(gather_status(config, tenant, with_history=True))
    if as_json:
        click.echo(json.dumps({"state": state_of(facts), **facts}, indent=2))
    else:
        if not console.is_terminal:
            console = Console(width=PIPE_COLUMNS)  # a pipe has no width
        console.print(render_board(facts, width=console.width, with_recent=watch), soft_wrap=True)


async def _watch_live(config: Config, console: Console, tenant: str | None) -> None:
    """Redraw the whole screen with every beat; a resized window is filled at the next one."""
    with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            facts, queried = await gather_status(config, tenant), time.monotonic()
            while time.monotonic() - queried < QUERY_SECONDS:
                max_tenants = max(3, min(MAX_LIVE_TENANTS, console.height // 3))
                live.update(render_board(facts, width=console.width, max_lines=max_tenants), refresh=True)
                await asyncio.sleep(REFRESH_SECONDS)
                add_heartbeat(config, facts)


async def gather_status(
    config: Config, tenant_name: str | None = None, *, with_history: bool = False
) -> dict[str, Any]:
    """
    {daemon {pid, alive, ready, since, processes}, database {embedded, server_version, outage}, tenants [...],
    degraded [sentences], attention [{tenant, kind, path, sentence, remedy}]}: attention lists halts, conflicts, pending
    requests and problems, each kind at most MOST for each tenant.

    tenant_name: the name of a tenant; None: all. Raises UserError if there is no such tenant. Times are ISO 8601 in
    UTC, or None. processes: {number, pid, tenants: a count} of each engine process; None: the daemon is one process.
    outage: why Postgres cannot be reached; None: it can. with_history: also {versions, removed, bytes, keep} of earlier
    versions, which reads a row of each.
    """
    result: dict[str, Any] = {
        "daemon": {},
        "database": {"embedded": config.dsn is None, "server_version": None, "outage": None},
        "tenants": [],
        "attention": [],
        "degraded": [],
    }
    postgres = app.Postgres(config)
    if postgres.embedded is not None and not postgres.embedded.is_running:
        result["database"]["outage"] = "The embedded Postgres is stopped; it runs while the daemon does."
    else:
        try:
            await postgres.log_in()
            async with Database(postgres.working_dsn, size=1) as database:
                await _query_tenants(config, database, result, tenant_name)
                if with_history:
                    await _query_history(config, database, result)
        except Unavailable as error:
            result["database"]["outage"] = str(error)
    add_heartbeat(config, result)
    return result


def add_heartbeat(config: Config, facts: dict[str, Any]) -> None:
    """Put the daemon's latest heartbeat into *facts*."""
    heartbeat = Heartbeat(config.mirror)
    beat, alive = heartbeat.read() or {}, heartbeat.is_alive()
    facts["daemon"] = {
        "pid": beat.get("pid") if alive else None,
        "alive": alive,
        "ready": bool(alive and beat.get("ready")),
        "since": iso_time(beat.get("since")),
        "processes": beat.get("processes") if alive else None,
    }
    facts["degraded"] = list(beat.get("degraded", [])) if alive else [_NO_DAEMON]
    outage = facts["database"]["outage"]
    if outage is not None and outage not in facts["degraded"]:
        facts["degraded"].append(outage)
    pulses = beat.get("tenants", {}) if alive else {}
    for tenant in facts["tenants"]:
        tenant.update(facts_of_pulse(pulses.get(tenant["name"], {})))


async def _query_tenants(config: Config, database: Database, facts: dict[str, Any], only: str | None) -> None:
    async with database.connection() as connection:
        facts["database"]["server_version"] = await tenant_rows.load_server_version(connection)
    ids = await tenant_rows.load_tenants(database)
    if only is not None and only not in ids:
        raise UserError(f"There is no tenant {only!r}. There are: {', '.join(ids) or 'none'}.")
    for name, tenant in ids.items():
        if only not in (None, name):
            continue
        async with database.transaction(tenant) as connection:
            counts = await tenant_rows.load_counts(connection, tenant)
            problems = await open_issues.load_problems(connection, tenant)
            halts = await open_issues.load_halts(connection, tenant)
            requests = await approval_rows.list_requests(connection, tenant, [RequestState.PENDING])
        facts["attention"] += [
            {"tenant": name, **need} for need in _list_needs(name, counts.conflicts, problems, halts, requests)
        ]
        facts["tenants"].append(
            {
                "name": name,
                "id": str(tenant),
                "pages": counts.pages,
                "attachments": counts.attachments,
                "records": counts.records,
                "conflicts": counts.conflicts,
                "problems": counts.problems,
                "halts": counts.halts,
                "seq": counts.seq,
                "trash": _trash_size(config.mirror / name),
                "history": None,
            }
        )


async def _query_history(config: Config, database: Database, facts: dict[str, Any]) -> None:
    for tenant_facts in facts["tenants"]:
        tenant = TenantId(UUID(tenant_facts["id"]))
        async with database.transaction(tenant) as connection:
            cost = await load_cost(connection, tenant)
        keep = config.history.of_tenant(tenant_facts["name"]).describe()
        tenant_facts["history"] = {"versions": cost.versions, "removed": cost.removed, "bytes": cost.size, "keep": keep}


def _list_needs(
    tenant: str, conflicts: int, problems: list[Problem], halts: list[Halt], requests: list[StoredRequest]
) -> Iterable[dict[str, str]]:
    """Pending decisions and problems with their remedies."""
    for halt in halts:
        command = f"mirrord resume {halt.id} --tenant {tenant} --apply | --discard"
        yield _need_facts("halt", str(halt.id), halt.sentence, f"`{command}`; `mirrord halts` says what each does")
    if conflicts:
        sentence = "1 conflict is open." if conflicts == 1 else f"{conflicts} conflicts are open."
        yield _need_facts("conflict", "", sentence, f"`mirrord conflicts --tenant {tenant}`")
    for request in requests[:MAX_ROWS_PER_TENANT]:
        yield _need_facts(
            "approval", str(request.id), str(request.preview["summary"]), "Decide with `mirrord approvals`."
        )
    for problem in problems[:MAX_ROWS_PER_TENANT]:
        yield _need_facts("problem", problem.path, problem.sentence, REMEDIES.get(problem.code, ""))


def _need_facts(kind: str, path: str, sentence: str, remedy: str) -> dict[str, str]:
    return {"kind": kind, "path": path, "sentence": sentence, "remedy": remedy}


def _trash_size(root: Path) -> dict[str, int] | None:
    """{files, bytes} in the trash of a tree; None: there is no tree, or it cannot be read."""
    try:
        tree = Tree(root)
    except (MirrordError, OSError):
        return None
    try:
        files, size = trash.trash_size(tree)
    except OSError:
        return None
    finally:
        tree.close()
    return {"files": files, "bytes": size}
