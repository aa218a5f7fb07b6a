"""`mirrord tenant token`, `tokens` and `revoke`."""

import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import click

from mirrord import app
from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring
from mirrord.auth.token_list import ListedToken, TokenDesk, TokenOrder, note_end
from mirrord.cli.options import as_options, find_tenant, run, with_config_options
from mirrord.cli.output import current_person
from mirrord.cli.person_session import open_session
from mirrord.config import Config
from mirrord.domain.entry import TenantId
from mirrord.domain.scope import Scope, check_reachable, parse_scope
from mirrord.errors import MirrordError, UserError
from mirrord.mirror.read.pattern_matches import find_unmatched

_SPAN_PATTERN = re.compile("([1-9][0-9]{0,4})([dh])")
_ID_PATTERN = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class _TokenOptions:
    """What `mirrord tenant token` takes."""

    name: str
    scope: str
    is_reviewed: bool
    write: tuple[str, ...]
    read: tuple[str, ...]
    deny: tuple[str, ...]
    actor: str
    expires: str


@click.command()
@with_config_options
@click.argument("name")
@click.option("--scope", type=click.Choice(["read", "write"]), default="write", show_default=True)
@click.option("--review", "is_reviewed", is_flag=True, help="A person reviews what the agent writes, before it counts.")
@click.option("--write", multiple=True, metavar="PATTERN", help='Where it may write, such as "Inbox/**".')
@click.option("--read", multiple=True, metavar="PATTERN", help="Where it may only read.")
@click.option("--deny", multiple=True, metavar="PATTERN", help="What it never sees.")
@click.option("--actor", default="agent", show_default=True, help="Name of the agent in history and events.")
@click.option("--expires", default="90d", show_default=True, help="Lifetime in days (90d) or hours (12h), or `never`.")
@as_options(_TokenOptions)
def token(config: Config, options: _TokenOptions) -> None:
    """
    Create and print a token for an agent of the tenant NAME.

    PATTERN: a path from the tenant's root; `*` is any text in a name, `**` any folders. With --write or --read nothing
    else is seen.
    """
    rights, name, actor = _rights_of(options), options.name, options.actor
    until = _parse_expiry(options.expires)
    tenant, tenant_id = run(_find_tenant(config, name))
    desk = TokenDesk(config.data, config.mirror, tenant, tenant_id, config.signing)
    text, listed = desk.make(TokenOrder(actor, rights, current_person().name, until))
    _warn_of_unmatched(config, tenant, rights.paths)
    validity = f"until {until:%Y-%m-%d %H:%M} UTC" if until else "without expiry"
    click.echo(
        f"Token {listed.id} of {tenant}, scope {_name_scope(rights)}, {validity}. "
        f"`mirrord tenant revoke {listed.id}` ends it.",
        err=True,
    )
    click.echo(text)


def _rights_of(options: _TokenOptions) -> Rights:
    if options.write and options.scope != "write":
        raise UserError("--write names where an agent writes, and --scope read lets it write nothing.")
    paths = parse_scope(options.write, options.read, options.deny)
    check_reachable(paths)
    may_write = options.scope == "write" and not paths.is_read_only
    if options.is_reviewed and not may_write:
        raise UserError("--review is about what an agent writes, and this token lets it write nothing.")
    return Rights(may_write, options.is_reviewed, paths)


def _warn_of_unmatched(config: Config, tenant: str, paths: Scope) -> None:
    """Say which patterns mean nothing that is there now, as misspelt ones do; silent where the tree is elsewhere."""
    if paths.is_unlimited:
        return
    with suppress(MirrordError, OSError), open_session(config, tenant) as session:
        for pattern in find_unmatched(session.tree, (*paths.write, *paths.read, *paths.deny)):
            click.echo(f"Nothing in the tree matches {str(pattern)!r} now.", err=True)


def _name_scope(rights: Rights) -> str:
    name = "review" if rights.is_reviewed else "write" if rights.may_write else "read"
    return name if rights.paths.is_unlimited else f"{name} ({rights.paths})"


@click.command()
@with_config_options
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tokens(config: Config, name: str, as_json: bool) -> None:
    """List the tokens that were made for the tenant NAME, with the ids that `mirrord tenant revoke` takes."""
    tenant, tenant_id = run(_find_tenant(config, name))
    listed = TokenDesk(config.data, config.mirror, tenant, tenant_id).list_all()
    if as_json:
        click.echo(json.dumps([asdict(token) for token in listed], indent=2, ensure_ascii=False))
        return
    for token in listed:
        scope = f"{token.scope} ({token.paths})" if token.paths else token.scope
        click.echo(f"{token.id}  {token.actor}  {scope}  {_span(token)}")
    if not listed:
        click.echo(f"No token was made for {tenant}.")


def _span(token: ListedToken) -> str:
    origin = f"made {_day(token.made_at)} by {token.by}"
    if token.is_revoked:
        return f"{origin}, revoked{f' by {token.ended_by}' if token.ended_by else ''}"
    return f"{origin}, until {_day(token.until)}" if token.until is not None else f"{origin}, without expiry"


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


@click.command()
@with_config_options
@click.argument("revoked", metavar="ID")
def revoke(config: Config, revoked: str) -> None:
    """Revoke the token ID, or all tokens of the key ID."""
    if not _ID_PATTERN.fullmatch(revoked):
        raise UserError(f"{revoked!r} is not the id of a token or key: those have 16 hex digits.")
    Keyring(config.mirror).revoke(revoked)
    note_end(config.data, revoked, current_person().name)
    click.echo(f"{revoked} is revoked, at once.")


async def _find_tenant(config: Config, name: str) -> tuple[str, TenantId]:
    async with app.open_database(config) as database:
        return await find_tenant(database, config, name)


def _parse_expiry(text: str) -> datetime | None:
    if text == "never":
        return None
    if not (match := _SPAN_PATTERN.fullmatch(text)):
        raise UserError(f"--expires is {text!r}; write for instance 90d, 12h or never.")
    amount, unit = int(match[1]), match[2]
    return datetime.now(UTC) + (timedelta(days=amount) if unit == "d" else timedelta(hours=amount))
