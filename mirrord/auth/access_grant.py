"""What a token allows: one tenant, one actor, reading or writing, until a moment."""

from dataclasses import dataclass
from datetime import datetime

from mirrord.domain.entry import Actor, TenantId

LOCAL_ACTOR = Actor("agent", "local")  # the actor of local callers, who are trusted without a token


@dataclass(frozen=True, slots=True)
class Grant:
    """
    The rights of the holder of a token.

    token, key: ids of the token and of the key that signed it; both can be revoked.
    expires: None: never.
    """

    token: str
    key: str
    tenant: str
    tenant_id: TenantId
    actor: Actor
    may_write: bool
    expires: datetime | None
