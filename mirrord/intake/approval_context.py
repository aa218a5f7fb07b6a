"""What requests of one tenant are handled with, and who may make them."""

from dataclasses import dataclass

from mirrord.auth.access_grant import LOCAL_ACTOR
from mirrord.config import Config
from mirrord.domain.approval import Request
from mirrord.errors import Refused
from mirrord.sync.observation.mirror_handles import Sides


@dataclass(frozen=True, slots=True)
class TenantContext:
    """One tenant's mirror, with the operator's configuration for agents."""

    sides: Sides
    config: Config

    def check_author(self, request: Request) -> None:
        """Check the author of *request*. Raises Refused unless it is the claimed actor and may change these files."""
        if request.tenant_id != self.sides.tenant:
            raise Refused("It was made in another tenant.")
        if request.token is None:
            if not self.config.trusts_locally() or request.actor != LOCAL_ACTOR:
                raise Refused("It shows no token, and no actor is trusted without one here.")
            return
        from mirrord.auth import signed_tokens  # noqa: PLC0415  (cryptography: a tenth of a start, and few show a token)
        from mirrord.auth.token_keys import Keyring  # noqa: PLC0415  (as above)

        grant = signed_tokens.verify_token(Keyring(self.config.mirror), request.token)
        if grant.tenant_id != self.sides.tenant or grant.actor != request.actor:
            raise Refused("Its token belongs to another actor or tenant.")
        if not grant.may_write:
            raise Refused("Its token may only read.")
