"""A ledger for hours: what was found in rows once is not looked for again before the end."""

import time
from dataclasses import dataclass, field

import psycopg

from tests.faults.tokens import Ledger, tokens_in
from tests.faults.world import World

OVERLAP = 120.0  # seconds: a transaction that began so long ago may have committed just now

_NEW = """
SELECT concat_ws(' ', markdown, views, frontmatter, name) FROM mirrord.page_revision
 WHERE tenant_id = %(t)s AND created_at > clock_timestamp() - make_interval(secs => %(s)s)
UNION ALL
SELECT concat_ws(' ', text, data) FROM mirrord.record_revision
 WHERE tenant_id = %(t)s AND created_at > clock_timestamp() - make_interval(secs => %(s)s)
UNION ALL
SELECT concat_ws(' ', base_text, file_text, row_text) FROM mirrord.conflict WHERE tenant_id = %(t)s
UNION ALL
SELECT concat_ws(' ', text, data) FROM mirrord.record WHERE tenant_id = %(t)s
UNION ALL
SELECT encode(bytes, 'escape') FROM mirrord.blob WHERE tenant_id = %(t)s
"""


@dataclass(slots=True)
class Diary(Ledger):
    """seen: tokens that the history has; it forgets nothing, so they need not be looked for again."""

    known_lines: set[str] = field(default_factory=set)
    _read_at: float | None = None  # when the history was last read, by the monotonic clock

    def destroy(self, world: World, data: bytes) -> None:
        """The author is about to destroy *data*: what no row ever had is nobody's duty to find."""
        missing = tokens_in(data) - self.known_lines
        if not missing:
            return
        try:
            self._read_on(world)
        except psycopg.OperationalError:  # nobody can tell what was read
            pass
        self.excused |= missing - self.known_lines

    def _read_on(self, world: World) -> None:
        now = time.monotonic()
        back = (now - self._read_at if self._read_at is not None else now) + OVERLAP
        with world.cluster.administered() as connection:
            for (text,) in connection.execute(_NEW, {"t": world.tenant, "s": back}):
                self.known_lines |= tokens_in(text or "")
        self._read_at = now
