"""From a configuration and credentials to a caller whose commands can run."""

import secrets
import tempfile
from pathlib import Path

from mirrord.auth.access_grant import LOCAL_ACTOR, Grant
from mirrord.commands.core.session import Gate, Session, SessionSettings
from mirrord.config import Config
from mirrord.domain.entry import Actor
from mirrord.errors import Refused
from mirrord.mcp.admission import Tenant, find_tenant, open_tree, read_token, tenant_of
from mirrord.mcp.callers import Caller


def local_caller(config: Config) -> tuple[Tenant, Caller]:
    """Tenant and caller of a process on stdio: by its token, or by local trust. Raises Refused without either."""
    token = read_token(config)
    if token is not None:
        return _token_caller(config, token)
    if not config.trusts_locally():
        raise Refused(
            "No token was given. Put what `mirrord tenant token NAME` prints into MIRRORD_TOKEN, or the path of a file "
            "with it into MIRRORD_TOKEN_FILE; an operator may instead set mcp.local_trust = true in the configuration."
        )
    tenant = find_tenant(config)
    return tenant, Caller(
        _create_session(config, tenant, LOCAL_ACTOR), _gate_of(config), may_write=True, still_holds=_stay_valid
    )


def _token_caller(config: Config, token: str) -> tuple[Tenant, Caller]:
    from mirrord.auth import signed_tokens, token_keys  # noqa: PLC0415  (a tenth of a second that local trust saves)

    grant = signed_tokens.verify_token(token_keys.Keyring(config.mirror), token)
    tenant = tenant_of(config, grant)
    return tenant, create_caller(config, tenant, grant, token)


def create_caller(config: Config, tenant: Tenant, grant: Grant, token: str, *, by_session: bool = False) -> Caller:
    """The caller for a token of *tenant*. grant: the rights of the token. by_session: as in Caller."""
    from mirrord.auth import signed_tokens, token_keys  # noqa: PLC0415  (as above)

    keyring = token_keys.Keyring(config.mirror)
    return Caller(
        _create_session(config, tenant, grant.actor),
        _gate_of(config, token),
        may_write=grant.may_write,
        still_holds=lambda: signed_tokens.check_grant(keyring, grant),
        by_session=by_session,
    )


def attachable_dirs(config: Config) -> tuple[Path, ...]:
    """
    Directories below which files may be attached.

    Default: the working directory of the server and the temporary directory, except `/` and the person's home: clients
    start servers there too, and they would include everything.
    """
    if config.agents.attach_from is not None:
        return config.agents.attach_from
    working, home = Path.cwd(), Path("~").expanduser()
    defaults = (working, Path(tempfile.gettempdir()))
    return tuple(directory.resolve() for directory in defaults if directory not in (Path("/"), home))


def _create_session(config: Config, tenant: Tenant, actor: Actor) -> Session:
    writer = f"mcp-{secrets.token_hex(8)}"
    return Session(
        open_tree(config, tenant),
        tenant.name,
        tenant.id,
        actor,
        writer,
        SessionSettings(
            attach_from=attachable_dirs(config),
            excluded_paths=(config.data,),  # Postgres and the private key
            sources_dir=config.sources_dir,
        ),
    )


def _gate_of(config: Config, token: str | None = None) -> Gate:
    return Gate(config.agents.trust, config.agents.limits, token, config.agents.elicitation)


def _stay_valid() -> None:
    """Do nothing: local trust lasts as long as the process."""
