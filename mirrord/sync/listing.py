"""The list of problems: what is wrong with a path is listed once, and taken off when it is over."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from mirrord.db import attention
from mirrord.db.attention import Problem
from mirrord.domain.entry import EntryId
from mirrord.mirror.scan import Scan
from mirrord.sync.look import Look
from mirrord.sync.sides import Sides

# looking at the path again tells whether these are over
_SEEN_BY_LOOKING = frozenset({"damaged", "refused", "unreadable"})
# only reading it does: a look that finds the file unchanged does not ask again
_SEEN_BY_READING = frozenset({"front-matter", "name", "record"})
# carrying out the next move of the path tells whether these are
_ENDED_BY_MOVING = frozenset({"in-the-way", "unwritable", "blob", "internal", "render", "livelock"})
# these tell of something that was done, and stand as long as the file does
_ENDED_BY_GOING = frozenset({"twin"})
_SEEN_IN_TREE = _SEEN_BY_LOOKING | _SEEN_BY_READING | _ENDED_BY_GOING

MOST = 50


class ProblemList:
    """What is listed for one mirror now."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._listed: dict[tuple[str, str], Problem] = {}

    def in_tree(self) -> list[str]:
        """Paths listed for what was seen in the tree."""
        return [path for path, code in self._listed if code in _SEEN_IN_TREE]

    def passed(self, found: Scan) -> set[str]:
        """Paths that could not be looked at, and that *found* shows: what hindered went, though no file changed."""
        doubted = {path for path, code in self._listed if code in _SEEN_BY_LOOKING}
        return {path for path in doubted if path in found.files or path in found.same or path in found.directories}

    def sentences(self) -> list[tuple[str, str]]:
        """(path, sentence) of the first MOST problems, for who cannot ask the database."""
        return [(one.path, one.sentence) for one in islice(self._listed.values(), MOST)]

    def entries(self) -> set[EntryId]:
        """Entries that something hinders, until it is carried out or no longer to be done."""
        return {one.entry for one in self._listed.values() if one.entry and one.code in _ENDED_BY_MOVING}

    async def load(self) -> None:
        """Read what an earlier daemon listed."""
        async with self._sides.database.transaction(self._sides.tenant) as connection:
            listed = await attention.problems(connection, self._sides.tenant)
        self._listed = {(problem.path, problem.code): problem for problem in listed}

    async def update(
        self, look: Look, troubles: Iterable[Problem] = (), moved: Iterable[str] = (), settled: Collection[EntryId] = ()
    ) -> None:
        """
        After a pass: list what is new; take off what was looked at, read or moved and is no trouble any more.

        settled: entries for which nothing is left to do, maybe because an app took back what was in the way.
        """
        moved, troubles = set(moved), list(troubles)
        if not (self._listed or look.troubles or troubles):
            return
        found = {(one.path, one.code): one for one in [*(Problem(*said) for said in look.troubles), *troubles]}
        hindered = {(one.entry, one.code) for one in troubles}
        looked, read = look.looked | look.gone, look.found.keys() | look.gone
        over = [
            (path, code)
            for (path, code), listed in self._listed.items()
            if (path, code) not in found
            and (
                (code in _SEEN_BY_LOOKING and path in looked)
                or (code in _SEEN_BY_READING and path in read)
                or (code in _ENDED_BY_MOVING and (path in moved or listed.entry in settled))
                or (code in _ENDED_BY_MOVING and (listed.entry, code) in hindered)  # under another name
                or (code in _ENDED_BY_GOING and path in look.gone)
            )
        ]
        fresh = [
            one for key, one in found.items() if key not in self._listed or self._listed[key].sentence != one.sentence
        ]
        await self.change(fresh, over)

    async def change(self, fresh: Sequence[Problem], over: Sequence[tuple[str, str]]) -> None:
        """List *fresh*, take off *over* (path, code); those not listed are no error."""
        over = [key for key in over if key in self._listed]
        if not fresh and not over:
            return
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await attention.settle(connection, sides.tenant, sides.mirror, over)
            await attention.report(connection, sides.tenant, sides.mirror, fresh)
        for key in over:
            del self._listed[key]
        self._listed.update({(one.path, one.code): one for one in fresh})
