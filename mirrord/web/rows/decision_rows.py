"""What people decided in a tenant: about requests of agents, about halts and about conflicts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mirrord.db.database import Connection

_DECIDED = """
SELECT 'request', decided_at, decision -> 'by' || jsonb_build_object('channel', decision ->> 'channel'),
       preview ->> 'summary', CASE WHEN state = 'rejected' THEN 'rejected' ELSE 'approved' END,
       decision ->> 'reason', NULL::uuid
  FROM mirrord.approval WHERE tenant_id = mirrord.current_tenant() AND decided_at IS NOT NULL
UNION ALL
SELECT 'halt', decided_at, decided_by, sentence, decision, NULL, NULL
  FROM mirrord.halt WHERE tenant_id = mirrord.current_tenant() AND decided_at IS NOT NULL
UNION ALL
SELECT 'conflict', resolved_at, resolved_by, path, resolution, NULL, CASE WHEN kind = 'page' THEN entry_id END
  FROM mirrord.conflict WHERE tenant_id = mirrord.current_tenant() AND resolved_at IS NOT NULL
 ORDER BY 2 DESC LIMIT 50"""


@dataclass(frozen=True, slots=True)
class MadeDecision:
    """
    A decision. about: "request", "halt" or "conflict". by: the actor; None: not known. subject: a sentence, or a path.

    decision: approved, rejected; apply, discard; how the conflict was settled. page: the page in conflict.
    """

    about: str
    at: datetime
    by: dict[str, Any] | None
    subject: str
    decision: str
    reason: str | None
    page: UUID | None


async def load_decisions(connection: Connection) -> list[MadeDecision]:
    """The decisions of the tenant that were made last, the newest first."""
    return [MadeDecision(*row) for row in await (await connection.execute(_DECIDED)).fetchall()]
