"""`mirrord links`: outgoing, incoming and unresolved links of pages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from mirrord import app
from mirrord.cli.options import configured, run, tenant_option, the_tenant
from mirrord.config import Config
from mirrord.db import links as store
from mirrord.db.connect import Connection
from mirrord.db.links import Listed
from mirrord.domain.entry import EntryId, TenantId
from mirrord.sync.linking import paths_of
from mirrord.sync.whereabouts import find_page


@dataclass(frozen=True, slots=True)
class Links:
    """The requested links. incoming: None if no page was named. paths: by id, of every page and attachment in them."""

    outgoing: list[Listed]
    incoming: list[Listed] | None
    paths: Mapping[EntryId, str]


@click.command()
@configured
@tenant_option
@click.argument("page", required=False)
@click.option("--unresolved", is_flag=True, help="List only unresolved and ambiguous links.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def links(config: Config, tenant: str | None, page: str | None, unresolved: bool, as_json: bool) -> None:
    """List links from and to PAGE. PAGE is a path, a title or an id; without PAGE, list all links."""

    async def work() -> Links:
        async with app.opened(config) as database:
            _, tenant_id = await the_tenant(database, config, tenant)
            async with database.transaction(tenant_id) as connection:
                return await gather(connection, tenant_id, page, unresolved=unresolved)

    gathered = run(work())
    if as_json:
        click.echo(json.dumps(values_of(gathered), indent=2))
    else:
        describe(gathered)


async def gather(connection: Connection, tenant: TenantId, page: str | None, *, unresolved: bool) -> Links:
    """The links of a page (a path, a title or an id), or of all. Raises UserError if there is no such page."""
    entry = await find_page(connection, tenant, page) if page is not None else None
    outgoing = await store.listed(connection, tenant, source=entry, unresolved=unresolved)
    incoming = await store.listed(connection, tenant, target=entry) if entry and not unresolved else None
    listed = [*outgoing, *(incoming or ())]
    ids = {entry_id for link in listed for entry_id in (link.source, link.target_id) if entry_id is not None}
    return Links(outgoing, incoming, await paths_of(connection, tenant, ids))


def values_of(found: Links) -> dict[str, Any]:
    """{outgoing [{from, to, kind, written, alias, state}], incoming [...] (if a page was named)}."""
    result = {"outgoing": [_link_facts(link, found.paths) for link in found.outgoing]}
    if found.incoming is not None:
        result["incoming"] = [_link_facts(link, found.paths) for link in found.incoming]
    return result


def _link_facts(link: Listed, paths: Mapping[EntryId, str]) -> dict[str, Any]:
    return {
        "from": paths.get(link.source),
        "to": paths.get(link.target_id) if link.target_id else None,
        "kind": link.kind,
        "written": link.target if link.heading is None else f"{link.target}#{link.heading}",
        "alias": link.alias,
        "state": _state_of(link),
    }


def _state_of(link: Listed) -> str:
    if link.target_id is not None:
        return "resolved"
    return "ambiguous" if link.ambiguous else "unresolved"


def describe(found: Links) -> None:
    """Print the links, one a line."""
    for link in [*found.outgoing, *(found.incoming or ())]:
        facts = _link_facts(link, found.paths)
        click.echo(
            f"{facts['state']:10}  {facts['from']} → {facts['to'] or '?'}  ({facts['kind']} {facts['written']!r})"
        )
    broken = sum(link.target_id is None for link in found.outgoing)
    incoming = "" if found.incoming is None else f", {len(found.incoming)} incoming"
    click.echo(f"{len(found.outgoing)} links{incoming}, {broken} of them unresolved or ambiguous", err=True)
