"""Names the authors of versions from events of commands: version and event arrive independently."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from mirrord.db import change_set_rows
from mirrord.domain.event import Event
from mirrord.sync.observation.mirror_handles import Sides

OFTEN_SECONDS = 0.5  # seconds between two tries while an event is new
SELDOM_SECONDS = 30.0  # seconds between two tries afterwards
PATIENCE_SECONDS = 3.0  # seconds for which an undo waits for a version: two saves may have become one
NEW_SECONDS = 60.0  # seconds of tries; a version arrives within one, unless rows or files are held
DELETION_SECONDS = 24 * 3600.0  # seconds of tries for a deletion, which may wait for a person


@dataclass(slots=True)
class VersionAuthors:
    """The events of one mirror that have named no version yet. Times are of the monotonic clock."""

    sides: Sides
    _deadlines: dict[UUID, tuple[float, float]] = field(default_factory=dict)  # until when often, and until when at all
    _tried_at: float = 0.0
    _is_loaded: bool = False

    @property
    def retry_seconds(self) -> float | None:
        """Seconds until the next try; None: no event waits."""
        if not self._deadlines:
            return None
        is_new = any(often > time.monotonic() for often, _ in self._deadlines.values())
        return OFTEN_SECONDS if is_new else SELDOM_SECONDS

    @property
    def is_done(self) -> bool:
        """Whether no new event waits for its version."""
        now = time.monotonic()
        return not any(often - now > NEW_SECONDS - PATIENCE_SECONDS for often, _ in self._deadlines.values())

    def add(self, events: Iterable[Event]) -> None:
        """Add events from files, those about a page or record."""
        now = time.monotonic()
        for event in events:
            if "page_id" in event.data or "record_id" in event.data:
                seconds = DELETION_SECONDS if event.type.endswith("Deleted") else NEW_SECONDS
                self._deadlines[event.event_id] = (now + NEW_SECONDS, now + seconds)
                self._tried_at = 0.0

    async def name(self) -> None:
        """Try to name the versions of all waiting events. Raises Unavailable, Fenced."""
        now, wait = time.monotonic(), self.retry_seconds
        is_loaded = self._is_loaded or self.sides.is_first
        if is_loaded and (wait is None or now - self._tried_at < wait * 0.9):
            return
        sides = self.sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            if not is_loaded:
                earlier = await change_set_rows.load_unnamed(connection, sides.tenant)
                halted = await change_set_rows.load_halted_deletions(connection, sides.tenant)
                earlier_deadlines = dict.fromkeys(halted, (now, now + DELETION_SECONDS))
                earlier_deadlines |= dict.fromkeys(earlier, (now + NEW_SECONDS, now + NEW_SECONDS))
                self._deadlines = {**earlier_deadlines, **self._deadlines}
            waiting = self._deadlines
            named = await change_set_rows.name_authors(connection, sides.tenant, waiting) if waiting else set()
        self._is_loaded, self._tried_at = True, now
        self._deadlines = {
            event: (often, until)
            for event, (often, until) in self._deadlines.items()
            if event not in named and until > now
        }
