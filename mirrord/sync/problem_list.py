"""The list of problems: a problem of a path is listed once and removed when it is over."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from mirrord.db import open_issues
from mirrord.db.database import Connection
from mirrord.db.open_issues import Problem
from mirrord.domain.entry import EntryId
from mirrord.mirror.tree.tree_scan import Scan
from mirrord.sync.observation.look_result import LookResult
from mirrord.sync.observation.mirror_handles import Sides

# another look at the path shows whether these are solved
_CODES_SEEN_BY_LOOKING = frozenset({"refused", "unreadable"})
# only reading the file shows it: a look at an unchanged file does not read it
_CODES_SEEN_BY_READING = frozenset({"damaged", "front-matter", "name", "record"})
# files to read again when a scan shows them, though they did not change
_CODES_OF_UNREAD_FILES = _CODES_SEEN_BY_LOOKING | {"damaged"}
# the next move of the path shows whether these are solved
_CODES_ENDED_BY_MOVING = frozenset(
    {"in-the-way", "unwritable", "blob", "internal", "render", "content-lost", "livelock", "trigger"}
)
_CODE_OF_HELD_CONTENT = "content-lost"
CODES_OF_REFUSED_ROWS = frozenset({"render", _CODE_OF_HELD_CONTENT})
_RESTORED = (
    " Its file was removed meanwhile and is back with the last text, since the change waits; to delete the page, "
    "delete its row, or settle the change and remove the file again."
)
# these report a finished action, and stay as long as the file
_CODES_ENDED_BY_REMOVAL = frozenset({"twin"})
_CODES_SEEN_IN_TREE = _CODES_SEEN_BY_LOOKING | _CODES_SEEN_BY_READING | _CODES_ENDED_BY_REMOVAL

MAX_REPORTED_PROBLEMS = 50


class ProblemList:
    """
    The listed problems of one mirror.

    paths: the paths that have one. held_contents: path by entry with a document of an app that leaves nothing of its
    page.
    """

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._problems: dict[tuple[str, str], Problem] = {}
        self.paths = frozenset[str]()
        self.held_contents: dict[EntryId, str] = {}

    def paths_seen_in_tree(self) -> list[str]:
        """Paths of the problems that were seen in the tree."""
        return [path for path, code in self._problems if code in _CODES_SEEN_IN_TREE]

    def find_readable_again(self, scanned: Scan) -> set[str]:
        """Paths that could not be read and that *scanned* shows now: the obstacle is gone, though no file changed."""
        unreadable_paths = {path for path, code in self._problems if code in _CODES_OF_UNREAD_FILES}
        return {
            path
            for path in unreadable_paths
            if path in scanned.files or path in scanned.unchanged or path in scanned.directories
        }

    def first_sentences(self) -> list[tuple[str, str]]:
        """(path, sentence) of the first MOST problems, for use without the database."""
        return [(problem.path, problem.sentence) for problem in islice(self._problems.values(), MAX_REPORTED_PROBLEMS)]

    def hindered_entries(self) -> set[EntryId]:
        """Entries with an obstacle, until their move is carried out or no longer needed."""
        return {
            problem.entry
            for problem in self._problems.values()
            if problem.entry and problem.code in _CODES_ENDED_BY_MOVING
        }

    async def load(self, connection: Connection) -> None:
        """Load the problems that an earlier daemon listed, in an open transaction."""
        listed = await open_issues.load_problems(connection, self._sides.tenant)
        self._problems = {(problem.path, problem.code): problem for problem in listed}
        self._note_listed()

    async def update(
        self,
        look: LookResult,
        troubles: Iterable[Problem] = (),
        moved: Iterable[str] = (),
        settled: Collection[EntryId] = (),
    ) -> None:
        """
        After a pass: list new problems, and remove those that a look, a read or a move has shown to be solved.

        settled: entries without anything left to do, perhaps because an app removed the obstacle.
        """
        moved, troubles = set(moved), list(troubles)
        if not (self._problems or look.troubles or troubles):
            return
        current = {
            (problem.path, problem.code): problem
            for problem in [*(Problem(*trouble) for trouble in look.troubles), *troubles]
        }
        hindered = {(problem.entry, problem.code) for problem in troubles}
        looked_paths, read_paths = look.looked_paths | look.gone_paths, look.found_files.keys() | look.gone_paths
        solved = [
            (path, code)
            for (path, code), listed in self._problems.items()
            if (path, code) not in current
            and (
                (code in _CODES_SEEN_BY_LOOKING and path in looked_paths)
                or (code in _CODES_SEEN_BY_READING and path in read_paths)
                or (code in _CODES_ENDED_BY_MOVING and (path in moved or listed.entry in settled))
                or (code in _CODES_ENDED_BY_MOVING and (listed.entry, code) in hindered)  # under another name
                or (code in _CODES_ENDED_BY_REMOVAL and path in look.gone_paths)
            )
        ]
        new_problems = [
            problem
            for key, problem in current.items()
            if key not in self._problems or self._problems[key].sentence != problem.sentence
        ]
        await self.change(new_problems, solved)

    async def note_restored(self, entries: Collection[EntryId]) -> None:
        """Say, in the problems of refused rows, that their files were removed and are back."""
        listed = [problem for problem in self._problems.values() if problem.entry in entries]
        refused = [problem for problem in listed if problem.code in CODES_OF_REFUSED_ROWS]
        untold = [problem for problem in refused if not problem.sentence.endswith(_RESTORED)]
        await self.change([replace(problem, sentence=problem.sentence + _RESTORED) for problem in untold], [])

    async def change(self, new_problems: Sequence[Problem], solved: Sequence[tuple[str, str]]) -> None:
        """List *new_problems* and remove *solved* (path, code), some of which may not be listed."""
        solved = [key for key in solved if key in self._problems]
        if not new_problems and not solved:
            return
        sides = self._sides
        async with sides.database.transaction(sides.tenant, sides.fence) as connection:
            await open_issues.delete_problems(connection, sides.tenant, sides.mirror, solved)
            await open_issues.store_problems(connection, sides.tenant, sides.mirror, new_problems)
        for key in solved:
            del self._problems[key]
        self._problems.update({(problem.path, problem.code): problem for problem in new_problems})
        self._note_listed()

    async def end_held_content(self, entry: EntryId) -> None:
        """Remove the problem of a document that a person has decided about."""
        await self.change([], [key for key, each in self._problems.items() if _is_held(each) and each.entry == entry])

    def _note_listed(self) -> None:
        self.paths = frozenset(path for path, _ in self._problems)
        held_problems = [problem for problem in self._problems.values() if _is_held(problem)]
        self.held_contents = {problem.entry: problem.path for problem in held_problems if problem.entry is not None}


def _is_held(problem: Problem) -> bool:
    return problem.code == _CODE_OF_HELD_CONTENT
