"""An operator lists the backups of a tenant, has one made, and is told how one is restored."""

import shlex
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mirrord.db import event_rows
from mirrord.domain.entry import Actor, TenantId, new_id
from mirrord.domain.event import Event, EventType
from mirrord.operations.backup_listing import BackupList, ListedBackup, list_tenant_backups
from mirrord.operations.backup_worker import BackupOrder
from mirrord.web.operators.backup_runs import BackupDesk
from mirrord.web.read_limits import run_in_thread
from mirrord.web.request_context import (
    CHANNEL,
    Visit,
    json_response,
    not_found,
    refusal,
    require_operator,
    visit_of,
)

MAX_BACKUPS_A_DAY = 4  # of a tenant, with those of commands: more would soon push older ones out of a `--keep`
_DAY = timedelta(hours=24)
_PLACE, _TREES = "the directory of the backups", "the directory of the trees"


async def list_backups(request: Request) -> Response:
    """GET api/backups: the directory, the backups of the tenant, the newest first, and the run as below."""
    visit = require_operator(await visit_of(request))
    desk = _desk_of(visit)
    listed = await run_in_thread(_list, desk, visit)
    return json_response(
        {
            "directory": str(desk.directory) if visit.session.sees_all else None,
            "backups": [_backup_facts(desk, visit, backup) for backup in listed.backups],
            "damaged": listed.damaged,
            "run": _run_facts(desk, visit),
        }
    )


async def show_run(request: Request) -> Response:
    """GET api/backups/run: how the backup stands that was asked for last; `run` is null if none was."""
    visit = require_operator(await visit_of(request))
    return json_response({"run": _run_facts(_desk_of(visit), visit)})


async def make_backup(request: Request) -> Response:
    """POST api/backups: let one be made. 409 while one is, 429 after some within a day."""
    visit = require_operator(await visit_of(request))
    desk = _desk_of(visit)
    desk.check_free(visit.tenant)
    if not desk.start_rate.allows(str(visit.tenant)):
        raise HTTPException(429, "A backup was asked for a moment ago. Try again in a minute.")
    if desk.directory.is_relative_to(desk.trees):
        sentence = f"{desk.directory} is below {desk.trees}, so a backup would hold itself. Configure one elsewhere."
        raise refusal(_without_places(desk, visit, sentence))
    _check_number(await run_in_thread(_list, desk, visit))
    await _note_request(visit)
    order = BackupOrder(desk.dsn, str(desk.directory), str(visit.tenant), str(desk.trees / visit.name))
    desk.begin(visit.tenant, order, visit.session.name)
    return json_response({"run": _run_facts(desk, visit)}, 202)


async def _note_request(visit: Visit) -> None:
    """Put into the events who asked for a backup."""
    actor = Actor("human", visit.session.name)
    event = Event(new_id(), EventType.BACKUP_REQUESTED, datetime.now(UTC), visit.name, actor, {})
    async with visit.write_transaction() as connection:
        await event_rows.add_events(connection, TenantId(visit.tenant), [(event, CHANNEL)])


def _check_number(listed: BackupList) -> None:
    since = datetime.now(UTC) - _DAY
    if sum(backup.made_at > since for backup in listed.backups) >= MAX_BACKUPS_A_DAY:
        raise HTTPException(
            429, f"{MAX_BACKUPS_A_DAY} backups were made within a day. Make another one tomorrow, or by the command."
        )


def _desk_of(visit: Visit) -> BackupDesk:
    if visit.app.backups is None:
        raise not_found()
    return visit.app.backups


def _list(desk: BackupDesk, visit: Visit) -> BackupList:
    try:
        return list_tenant_backups(desk.directory, visit.name, TenantId(visit.tenant), desk.sizes)
    except OSError as error:
        sentence = f"{error.filename or desk.directory} cannot be read: {error.strerror}."
        raise refusal(_without_places(desk, visit, sentence)) from error


def _run_facts(desk: BackupDesk, visit: Visit) -> dict[str, Any] | None:
    run = desk.last_run(visit.tenant)
    if run is None:
        return None
    return asdict(run) | {"sentence": run.sentence and _without_places(desk, visit, run.sentence)}


def _without_places(desk: BackupDesk, visit: Visit, sentence: str) -> str:
    """What is told of a failure. Only who sees all tenants is told places on the machine."""
    if visit.session.sees_all:
        return sentence
    return sentence.replace(str(desk.directory), _PLACE).replace(str(desk.trees), _TREES)


def _backup_facts(desk: BackupDesk, visit: Visit, backup: ListedBackup) -> dict[str, Any]:
    facts = asdict(backup) | {"made_at": backup.made_at.isoformat(), "restore": None}
    if not visit.session.sees_all:  # commands name places on the machine, and are run there
        return facts
    beside = f"{visit.name[:40]}-of-{backup.number}"
    restore = {"lost": _restore_command(desk, visit, backup), "beside": _restore_command(desk, visit, backup, beside)}
    return facts | {"restore": restore}


def _restore_command(desk: BackupDesk, visit: Visit, backup: ListedBackup, name: str | None = None) -> str:
    """The command that restores a backup. name: of a new tenant; None: the tenant itself, which has to be gone."""
    words = [
        "mirrord",
        "backup",
        "restore",
        str(desk.directory),
        "--tenant",
        visit.name,
        "--number",
        str(backup.number),
    ]
    words += [] if name is None else ["--as", name]
    words += ["--mirror", str(desk.trees), "--data", str(desk.data)]
    dsn = "" if desk.has_own_server else ' --dsn "${MIRRORD_DSN:?}"'  # may have a password, which is not shown
    return shlex.join(words) + dsn
