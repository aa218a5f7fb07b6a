"""
Who is on a page: the people with a window open at it, for as long as its stream of events lasts.

Only this process knows, and nothing is stored. Places never cross tenants. Pure: a window is told through its callback.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from uuid import UUID

from mirrord.domain.entry import EntryId

MAX_NAME_CHARACTERS = 60  # of a name, cut after that
MAX_NAMES = 20  # told to a window; further people are counted
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+"
)  # direction of text included


def shown_name_of(name: str) -> str:
    """*name* as one short line of valid text, which cannot turn the direction of what stands beside it."""
    text = name.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair would end streams
    line = " ".join(_CONTROLS.sub(" ", text).split())
    return line if len(line) <= MAX_NAME_CHARACTERS else f"{line[: MAX_NAME_CHARACTERS - 1]}…"


@dataclass(slots=True)
class _Person:
    """A person at a place. windows: how many."""

    name: str
    windows: int = 0


@dataclass(slots=True)
class _Place:
    """A page of a tenant. people: by what tells them apart, in the order in which they came."""

    page: EntryId
    people: dict[str, _Person] = field(default_factory=dict)
    windows: set["Window"] = field(default_factory=set)

    def enter(self, window: "Window", name: str) -> None:
        """Add a window; the others are told of a person who was not there before."""
        is_new = window.person not in self.people
        self.people.setdefault(window.person, _Person(name)).windows += 1
        self.windows.add(window)
        for recipient in self.windows if is_new else (window,):
            recipient.call()

    def leave(self, window: "Window") -> None:
        """Remove a window; the others are told of a person with no window left."""
        self.windows.discard(window)
        person = self.people[window.person]
        person.windows -= 1
        if person.windows == 0:
            del self.people[window.person]
            for recipient in self.windows:
                recipient.call()


@dataclass(slots=True, eq=False)
class Window:
    """A window at a place. call_back: called once between two calls of list_others, however much changes."""

    place: _Place
    person: str
    call_back: Callable[["Window"], None]
    is_due: bool = False

    def call(self) -> None:
        """Say that the people are others now."""
        if not self.is_due:
            self.is_due = True
            self.call_back(self)

    def list_others(self) -> dict[str, Any]:
        """The page, the names of the first others, and how many more there are."""
        self.is_due = False
        people = self.place.people
        others = (person.name for key, person in people.items() if key != self.person)
        names = list(islice(others, MAX_NAMES))
        return {"page": self.place.page, "people": names, "more": len(people) - 1 - len(names)}


class Presence:
    """The places of all tenants at which people are."""

    def __init__(self) -> None:
        self._places: dict[tuple[UUID, EntryId], _Place] = {}

    @contextmanager
    def window(
        self, tenant: UUID, page: EntryId, person: str, name: str, call_back: Callable[[Window], None]
    ) -> Iterator[None]:
        """A window of *person* at a page; *call_back* is called at once, and when other people come or go."""
        place = self._places.setdefault((tenant, page), _Place(page))
        window = Window(place, person, call_back)
        place.enter(window, shown_name_of(name))
        try:
            yield
        finally:
            place.leave(window)
            if not place.windows:
                del self._places[tenant, page]
