"""`mirrord console people`: who may sign in to the console with an account, and what they may do."""

import click

from mirrord import app
from mirrord.auth.accounts import Account, AccountStore
from mirrord.auth.roles import Role
from mirrord.auth.sign_in import Gate
from mirrord.cli.options import find_tenant, run, tenant_option, with_config_options
from mirrord.config import Config
from mirrord.db import tenant_rows
from mirrord.domain.entry import TenantId
from mirrord.errors import UserError


@click.group()
def people() -> None:
    """People who sign in with an account of `[console.accounts]`, and their roles."""


@people.command("add")
@with_config_options
@tenant_option
@click.argument("person")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    required=True,
    help="What the person may do in the tenant.",
)
def add_person(config: Config, tenant: str | None, person: str, role: str) -> None:
    """Give PERSON a role in a tenant, from now on. PERSON is as the identity provider writes it, such as an address."""
    _, tenant_id = run(_find_tenant(config, tenant))
    _store_of(config).set_role(person, tenant_id, Role(role))


@people.command("remove")
@with_config_options
@click.option("--tenant", help="Name or id of the only tenant to take the person out of; default: all.")
@click.argument("person")
def remove_person(config: Config, tenant: str | None, person: str) -> None:
    """Take PERSON out, at once: their sessions end."""
    tenant_id = run(_find_tenant(config, tenant))[1] if tenant is not None else None
    if not _store_of(config).remove(person, tenant_id):
        raise UserError(f"{person!r} has no role{' there' if tenant else ''}; `mirrord console people list` shows all.")


@people.command("list")
@with_config_options
def list_people(config: Config) -> None:
    """List people with their roles."""
    accounts = _store_of(config).list_accounts()
    names = run(_load_names(config)) if accounts else {}
    for account in accounts:
        click.echo(f"{account.person}: {_roles_of(account, names)}")


def _roles_of(account: Account, names: dict[TenantId, str]) -> str:
    roles = sorted((names.get(TenantId(tenant), str(tenant)), role) for tenant, role in account.roles.items())
    return ", ".join(f"{role} in {name}" for name, role in roles)


async def _find_tenant(config: Config, name: str | None) -> tuple[str, TenantId]:
    async with app.open_database(config) as database:
        return await find_tenant(database, config, name)


async def _load_names(config: Config) -> dict[TenantId, str]:
    async with app.open_database(config) as database:
        return {TenantId(tenant): name for name, tenant in (await tenant_rows.load_tenants(database)).items()}


def _store_of(config: Config) -> AccountStore:
    return Gate(config.data).accounts  # it makes the directory, for the owner only
