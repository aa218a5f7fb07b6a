"""`mirrord links`: what pages link to, what links to a page, and what means nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from mirrord.db import links
from mirrord.db.connect import Connection
from mirrord.db.links import Listed
from mirrord.domain.entry import EntryId, TenantId
from mirrord.sync.linking import paths_of
from mirrord.sync.whereabouts import find_page


@dataclass(frozen=True, slots=True)
class Links:
    """What was asked for. incoming: None where no page was named. paths: of every page and attachment in them."""

    outgoing: list[Listed]
    incoming: list[Listed] | None
    paths: Mapping[EntryId, str]


async def gather(connection: Connection, tenant: TenantId, page: str | None, *, unresolved: bool) -> Links:
    """The links of a page (a path, a title or an id), or of all. Raises UserError if there is no such page."""
    found = await find_page(connection, tenant, page) if page is not None else None
    outgoing = await links.listed(connection, tenant, source=found, unresolved=unresolved)
    incoming = await links.listed(connection, tenant, target=found) if found and not unresolved else None
    everything = [*outgoing, *(incoming or ())]
    named = {entry for one in everything for entry in (one.source, one.target_id) if entry is not None}
    return Links(outgoing, incoming, await paths_of(connection, tenant, named))


def as_json(found: Links) -> dict[str, Any]:
    """{outgoing [{from, to, kind, written, alias, state}], incoming [...] where a page was named}."""
    result = {"outgoing": [_facts(one, found.paths) for one in found.outgoing]}
    if found.incoming is not None:
        result["incoming"] = [_facts(one, found.paths) for one in found.incoming]
    return result


def _facts(link: Listed, paths: Mapping[EntryId, str]) -> dict[str, Any]:
    return {
        "from": paths.get(link.source),
        "to": paths.get(link.target_id) if link.target_id else None,
        "kind": link.kind,
        "written": link.target if link.heading is None else f"{link.target}#{link.heading}",
        "alias": link.alias,
        "state": _state(link),
    }


def _state(link: Listed) -> str:
    if link.target_id is not None:
        return "resolved"
    return "ambiguous" if link.ambiguous else "unresolved"


def describe(found: Links) -> None:
    """Show it to a person: a line a link."""
    for one in [*found.outgoing, *(found.incoming or ())]:
        facts = _facts(one, found.paths)
        click.echo(
            f"{facts['state']:10}  {facts['from']} → {facts['to'] or '?'}  ({facts['kind']} {facts['written']!r})"
        )
    broken = sum(one.target_id is None for one in found.outgoing)
    incoming = "" if found.incoming is None else f", {len(found.incoming)} incoming"
    click.echo(f"{len(found.outgoing)} links{incoming}, {broken} of them unresolved or ambiguous", err=True)
