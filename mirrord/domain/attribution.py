"""Who made the versions that came from a file: tools tell it in events, each of the text it left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mirrord.domain.entry import Digest


@dataclass(frozen=True, slots=True)
class Told:
    """What an event says: who left a text, and when. actor: {kind, name}."""

    digest: Digest
    at: datetime
    actor: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Made:
    """A version that some file brought."""

    version: int
    digest: Digest
    at: datetime


def attributed(versions: Sequence[Made], events: Sequence[Told]) -> dict[int, Mapping[str, object]]:
    """
    The actor of each version of which an event tells.

    An event tells of one version: of those with its text the one nearest in time that no other event tells of.
    """
    actors: dict[int, Mapping[str, object]] = {}
    for event in sorted(events, key=lambda event: event.at):
        free = [one for one in versions if one.digest == event.digest and one.version not in actors]
        if free:
            nearest = min(free, key=lambda one: (abs(one.at - event.at), one.version))
            actors[nearest.version] = event.actor
    return actors
