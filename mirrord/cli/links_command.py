"""`mirrord links`: links from and to a page, and broken links."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.tenant_database import run_in_transaction
from mirrord.config import Config
from mirrord.db.content import link_rows as store
from mirrord.db.content.link_rows import PageLink
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import EntryId, TenantId
from mirrord.operations.restore import find_page


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The requested links. incoming: None if no page was named. paths: by id, of every page and attachment in them."""

    outgoing: list[PageLink]
    incoming: list[PageLink] | None
    paths: Mapping[EntryId, str]


@click.command()
@with_config_options
@tenant_option
@click.argument("page", required=False)
@click.option("--unresolved", is_flag=True, help="List only unresolved and ambiguous links.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def links(config: Config, tenant: str | None, page: str | None, unresolved: bool, as_json: bool) -> None:
    """List links from and to PAGE. PAGE is a path, a title or an id; without PAGE, list all links."""
    gathered = run_in_transaction(config, tenant, partial(gather_links, page=page, unresolved=unresolved))
    if as_json:
        click.echo(json.dumps(facts_of(gathered), indent=2))
    else:
        print_links(gathered)


async def gather_links(connection: Connection, tenant: TenantId, page: str | None, *, unresolved: bool) -> PageLinks:
    """The links of a page (a path, a title or an id), or of all. Raises UserError if there is no such page."""
    entry = await find_page(connection, tenant, page) if page is not None else None
    outgoing = await store.list_links(connection, tenant, source=entry, unresolved=unresolved)
    incoming = await store.list_links(connection, tenant, target=entry) if entry and not unresolved else None
    listed = [*outgoing, *(incoming or ())]
    ids = {entry_id for link in listed for entry_id in (link.source, link.target_id) if entry_id is not None}
    return PageLinks(outgoing, incoming, await paths_of(connection, tenant, ids))


def facts_of(page_links: PageLinks) -> dict[str, Any]:
    """{outgoing [{from, to, kind, written, alias, state}], incoming [...] (if a page was named)}."""
    result = {"outgoing": [_link_facts(link, page_links.paths) for link in page_links.outgoing]}
    if page_links.incoming is not None:
        result["incoming"] = [_link_facts(link, page_links.paths) for link in page_links.incoming]
    return result


def _link_facts(link: PageLink, paths: Mapping[EntryId, str]) -> dict[str, Any]:
    return {
        "from": paths.get(link.source),
        "to": paths.get(link.target_id) if link.target_id else None,
        "kind": link.kind,
        "written": link.target if link.heading is None else f"{link.target}#{link.heading}",
        "alias": link.alias,
        "state": _state_of(link),
    }


def _state_of(link: PageLink) -> str:
    if link.target_id is not None:
        return "resolved"
    return "ambiguous" if link.ambiguous else "unresolved"


def print_links(page_links: PageLinks) -> None:
    """Print the links, one a line."""
    for link in [*page_links.outgoing, *(page_links.incoming or ())]:
        facts = _link_facts(link, page_links.paths)
        click.echo(
            f"{facts['state']:10}  {facts['from']} → {facts['to'] or '?'}  ({facts['kind']} {facts['written']!r})"
        )
    broken = sum(link.target_id is None for link in page_links.outgoing)
    incoming = "" if page_links.incoming is None else f", {len(page_links.incoming)} incoming"
    click.echo(f"{len(page_links.outgoing)} links{incoming}, {broken} of them unresolved or ambiguous", err=True)
