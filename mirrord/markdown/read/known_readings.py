"""
Readings of the pages that were read or written last: an editor saves them again and again, each time from the text.

A reading is a function of the text and its dialect, so what is remembered is never out of date.
"""

from collections import OrderedDict
from threading import Lock

from mirrord.domain.dialect import Dialect
from mirrord.markdown.read.reparse import Reading

MAX_CHARACTERS = 200_000  # of all remembered texts; each takes about 60 times as many bytes with tokens and blocks
READING_CHARACTERS = 200  # what each takes beside its text, counted as characters: a line of eleven has 2.8 kB


class KnownReadings:
    """Readings by their texts, the latest used last. Threads may share it."""

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._max_characters = max_characters
        self._readings: OrderedDict[tuple[str, Dialect], Reading] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def recall(self, body: str, dialect: Dialect) -> Reading | None:
        """
        The reading of *body*, with its outline and LF as line ending; None: it has to be parsed.

        It is forgotten, because the next save begins with another text.
        """
        with self._lock:
            reading = self._readings.pop((body, dialect), None)
            if reading is not None:
                self._characters -= _size_of(body)
            return reading

    def forget_all(self) -> None:
        """Let the next save of each page parse it, as the first one does."""
        with self._lock:
            self._readings.clear()
            self._characters = 0

    def remember(self, reading: Reading) -> None:
        """Remember *reading*, and forget those that were remembered first, if there are too many."""
        if reading.outline is None or "\r" in reading.body or _size_of(reading.body) > self._max_characters:
            return
        key = reading.body, reading.surroundings.dialect
        with self._lock:
            if key not in self._readings:
                self._characters += _size_of(reading.body)
            self._readings[key] = reading
            while self._characters > self._max_characters:
                (body, _), _ = self._readings.popitem(last=False)
                self._characters -= _size_of(body)


def _size_of(body: str) -> int:
    return len(body) + READING_CHARACTERS


LATEST_READINGS = KnownReadings()
