"""Which files of one reader are to be looked at: nothing that was marked is forgotten before it was looked at."""

import pytest

from mirrord.errors import Unavailable
from mirrord.intake.marked_files import Marks


class Reader:
    """Knows two files; looking at those in `broken` fails."""

    def __init__(self) -> None:
        self.marks = Marks(lambda path: path.startswith("own/"))
        self.broken: set[str] = set()
        self.looks: list[str] = []

    async def take(self) -> list[str]:
        self.looks = []
        await self.marks.look_at_marked(self._look_around, self._look)
        return sorted(self.looks)

    async def _look_around(self) -> None:
        self._check("everywhere")
        for name in ("own/a", "own/b"):
            self.marks.mark(name)

    async def _look(self, path: str) -> None:
        self._check(path)
        self.looks.append(path)

    def _check(self, name: str) -> None:
        if name in self.broken:
            raise Unavailable(name)


async def test_every_file_is_looked_at_first_and_then_only_what_was_marked() -> None:
    reader = Reader()
    assert (await reader.take(), reader.marks.is_empty) == (["own/a", "own/b"], True)
    assert await reader.take() == []
    reader.marks.mark("own/b")
    assert not reader.marks.is_empty
    assert await reader.take() == ["own/b"]


@pytest.mark.parametrize("elsewhere", ["own", "other/a"])
async def test_what_is_no_file_of_its_own_may_be_any_of_them(elsewhere: str) -> None:
    reader = Reader()
    await reader.take()
    reader.marks.mark(elsewhere)
    assert await reader.take() == ["own/a", "own/b"]


@pytest.mark.parametrize("broken", ["own/a", "everywhere"])
async def test_what_could_not_be_looked_at_stays_marked(broken: str) -> None:
    reader = Reader()
    reader.broken = {broken}
    with pytest.raises(Unavailable):
        await reader.take()
    assert not reader.marks.is_empty
    looked_at, reader.broken = set(reader.looks), set()
    assert looked_at | {*(await reader.take())} == {"own/a", "own/b"}
    assert reader.marks.is_empty
