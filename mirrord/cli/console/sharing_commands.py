"""`mirrord console share`, `publish`, `shares` and `unshare`: pages for people without a session."""

from datetime import UTC, datetime

import click

from mirrord.auth.page_shares import MAX_SHARE_DAYS, PageShare, SharedPlace, ShareStore
from mirrord.auth.sign_in import Gate
from mirrord.cli.console.console_address import console_url
from mirrord.cli.options import tenant_option, with_config_options
from mirrord.cli.output import current_person
from mirrord.cli.tenant_database import run_in_transaction
from mirrord.config import Config
from mirrord.db.database import Connection
from mirrord.documents.link_places import paths_of
from mirrord.domain.entry import EntryId, TenantId
from mirrord.errors import UserError
from mirrord.operations.restore import find_page


@click.command("share")
@with_config_options
@tenant_option
@click.argument("page")
@click.option("--days", type=click.IntRange(1, MAX_SHARE_DAYS), default=7, show_default=True, help="How long.")
@click.option("--inside", is_flag=True, help="With all pages below it.")
def share_page(config: Config, tenant: str | None, page: str, days: int, *, inside: bool) -> None:
    """Print a link by which anyone may read PAGE (a path, a title or an id). It is printed once."""
    _, token = _store_of(config).share(_find_place(config, tenant, page, inside=inside), days)
    click.echo(_address_of(config, token))


@click.command("publish")
@with_config_options
@tenant_option
@click.argument("page")
@click.option("--name", required=True, help="In the public address; a-z, digits and dashes.")
@click.option("--indexed", is_flag=True, help="Search engines may list it.")
def publish_page(config: Config, tenant: str | None, page: str, name: str, *, indexed: bool) -> None:
    """Let everyone read PAGE and all pages below it, under a public name, until `mirrord console unshare`."""
    _store_of(config).publish(_find_place(config, tenant, page, inside=True), name, is_indexed=indexed)
    click.echo(_address_of(config, name))


@click.command("shares")
@with_config_options
@tenant_option
def list_shares(config: Config, tenant: str | None) -> None:
    """List the shared pages of a tenant."""

    async def describe_shares(connection: Connection, tenant_id: TenantId) -> list[str]:
        shares = _store_of(config).shares_of(tenant_id)
        paths = await paths_of(connection, tenant_id, {EntryId(share.place.page) for share in shares})
        return [_line_of(share, paths.get(EntryId(share.place.page), "a page that is no more")) for share in shares]

    for line in run_in_transaction(config, tenant, describe_shares):
        click.echo(line)


@click.command("unshare")
@with_config_options
@tenant_option
@click.argument("share")
def revoke_share(config: Config, tenant: str | None, share: str) -> None:
    """End a share at once. SHARE is its id in `mirrord console shares`, or its public name."""

    async def revoke(_: Connection, tenant_id: TenantId) -> bool:
        store = _store_of(config)
        ids = [listed.id for listed in store.shares_of(tenant_id) if share in (listed.id, listed.name)]
        return bool(ids) and store.revoke(tenant_id, ids[0])

    if not run_in_transaction(config, tenant, revoke):
        raise UserError(f"There is no share {share!r}; `mirrord console shares` lists them.")


def _store_of(config: Config) -> ShareStore:
    Gate(config.data)  # makes the directory, for the owner only
    return ShareStore(config.data)


def _find_place(config: Config, tenant: str | None, page: str, *, inside: bool) -> SharedPlace:
    async def find(connection: Connection, tenant_id: TenantId) -> SharedPlace:
        entry = await find_page(connection, tenant_id, page)
        return SharedPlace(tenant_id, entry, inside, current_person().name)

    return run_in_transaction(config, tenant, find)


def _address_of(config: Config, token: str) -> str:
    return f"{console_url(config)}/s/{token}"


def _line_of(share: PageShare, path: str) -> str:
    end = datetime.fromtimestamp(share.until, UTC).strftime("until %Y-%m-%d %H:%M UTC") if share.until else ""
    state = f"published as {share.name}" if share.name else f"link {end}"
    return f"{share.id}  {path}{' and all inside' if share.place.has_inside else ''}: {state}, by {share.place.by}"
