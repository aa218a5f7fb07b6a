"""When rows that transactions of an app hold are looked at again: more and more rarely while nothing is notified."""

from dataclasses import dataclass

FIRST_SECONDS = 0.3  # seconds until rows are looked at again
MAX_SECONDS = 5.0  # seconds; an app that commits a change of such a row notifies, and one that rolls back does not


@dataclass(slots=True)
class RowWaits:
    """The waits of one binding. until: a moment. count: how many passes in a row found rows that are held."""

    until: float = 0.0
    count: int = 0

    def note_pass(self, now: float, *, is_waiting: bool) -> None:
        """A pass ended. is_waiting: an app holds rows that it had to write."""
        self.count = self.count + 1 if is_waiting else 0
        if is_waiting:
            self.until = now + min(MAX_SECONDS, FIRST_SECONDS * 2 ** min(self.count - 1, 10))

    def note_notification(self) -> None:
        """Something changed: it may be the end of what the rows wait for."""
        self.until = 0.0
