"""A place between two whole numbers: the rows that follow get other numbers where none is free."""

from dataclasses import dataclass

from mirrord.binding.app_row_writes import AppRowWrites
from mirrord.binding.app_rows import number_below, position_of_number
from mirrord.binding.mappings.mapping import Mapping, OrderKind
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import read_values, with_keys
from mirrord.markdown.frontmatter.page_text import PageText

MAX_RENUMBERED = 500  # rows that get other numbers for one page


@dataclass(frozen=True, slots=True)
class NumberedText:
    """
    The text of a page with a whole number as its position.

    moved: rows that have to make room, each with the number that it has; it gets the next one.
    """

    text: str
    moved: tuple[tuple[str, int], ...] = ()

    def takes_number(self, position: str | None) -> bool:
        """Whether one of the other rows gets the number *position*."""
        return any(str(number + 1) == position for _, number in self.moved)


def number_before(mapping: Mapping, text: str) -> int | None:
    """The whole number after which *text* has its place; None: the app can have its position as it is."""
    order = mapping.page.order
    if order is None or order.kind is not OrderKind.INT:
        return None
    position = read_values(PageText(text, mapping.dialect)).get("position")
    return number_below(position) if isinstance(position, str) else None


async def number_place(
    app: AppRowWrites, text: str, before: int, external_id: str | None, parent: str | None
) -> NumberedText:
    """
    *text* with the number that its place gets in the app, and what makes room for it.

    before: of number_before(). external_id: of its row; None: it has none yet. parent: the id of the row above; None:
    at the top.

    Raises:
        Damaged: too many rows would get other numbers.
    """
    number = before + 1
    following = await app.load_following(parent, number, MAX_RENUMBERED + 2)  # one may be its own row
    moved = _contiguous([pair for pair in following if pair[0] != external_id], number)
    if len(moved) > MAX_RENUMBERED:
        raise Damaged(f"its position is after {before}, where more than {MAX_RENUMBERED} rows follow without a gap")
    return NumberedText(with_keys(PageText(text), {"position": position_of_number(number)}).text, moved)


def _contiguous(following: list[tuple[str, str]], number: int) -> tuple[tuple[str, int], ...]:
    """Those of *following* rows, in order, that have *number*, the next number, and so on, up to the first gap."""
    moved: list[tuple[str, int]] = []
    for external_id, text in following:
        if not text.removeprefix("-").isdecimal() or int(text) not in (number, number + 1):
            break
        if int(text) > number and (not moved or moved[-1][1] != number):
            break
        number = int(text)
        moved.append((external_id, number))
    return tuple(moved)
