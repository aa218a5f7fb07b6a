"""What a token allows: one tenant, one actor, reading or writing, until a moment."""

from dataclasses import dataclass
from datetime import datetime

from mirrord.domain.entry import Actor, TenantId
from mirrord.domain.scope import UNLIMITED, Scope

REVIEW_SCOPE = "review"
RIGHTS_CLAIM, PATHS_CLAIM = "rights", "paths"  # of tokens with patterns, instead of `scope`
DAEMON_AUDIENCE = "mirrord:daemon"  # of tokens that only requests through files may show
LOCAL_ACTOR = Actor("agent", "local")  # the actor of local callers, who are trusted without a token


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a token to be made. is_reviewed: a person reviews what is written. paths: where it may do so."""

    may_write: bool = True
    is_reviewed: bool = False
    paths: Scope = UNLIMITED

    @property
    def scope(self) -> str:
        """The claim `scope`; servers that know no review read a reviewed token as one that may only read."""
        if self.is_reviewed:
            return f"read {REVIEW_SCOPE}"
        return "read write" if self.may_write else "read"

    def to_claims(self) -> dict[str, object]:
        """
        The claims of a token with these rights.

        With patterns it has no claim `scope`, which servers require that know no patterns: they refuse the token.
        """
        if self.paths.is_unlimited:
            return {"scope": self.scope}
        return {RIGHTS_CLAIM: self.scope, PATHS_CLAIM: self.paths.to_claims()}


@dataclass(frozen=True, slots=True)
class Grant:
    """
    The rights of the holder of a token.

    token, key: ids of the token and of the key that signed it; both can be revoked.
    expires: None: never. is_reviewed: a person reviews what is written. audience: the only server that accepts the
    token; None: every server of the tenant. paths: what may be seen and changed.
    """

    token: str
    key: str
    tenant: str
    tenant_id: TenantId
    actor: Actor
    may_write: bool
    expires: datetime | None
    is_reviewed: bool = False
    audience: str | None = None
    paths: Scope = UNLIMITED
