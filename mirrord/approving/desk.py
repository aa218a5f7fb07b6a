"""The context of one tenant's requests, and the check of who made them."""

from dataclasses import dataclass

from mirrord.config import Config
from mirrord.domain.approval import Request
from mirrord.domain.grant import LOCAL_ACTOR
from mirrord.errors import Refused
from mirrord.sync.sides import Sides


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
                raise Refused("It shows no token, and nobody is trusted without one here.")
            return
        from mirrord.mirror import tokens  # noqa: PLC0415  (cryptography: a tenth of a start, and few show a token)
        from mirrord.mirror.keys import Keyring  # noqa: PLC0415  (as above)

        grant = tokens.verify_token(Keyring(self.config.mirror), request.token)
        if grant.tenant_id != self.sides.tenant or grant.actor != request.actor:
            raise Refused("Its token is somebody else's.")
        if not grant.may_write:
            raise Refused("Its token may only read.")
