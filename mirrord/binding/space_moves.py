"""Where pages are in the spaces of an app: the columns that say it, and the rows below a page that is moved."""

from collections.abc import Mapping
from dataclasses import dataclass

from mirrord.binding.app_row_writes import AppRowWrites
from mirrord.binding.mappings.mapping import SPACE_PREFIX
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.page_properties import Json

MAX_MOVED_ROWS = 500  # below one page


@dataclass(frozen=True, slots=True)
class SpaceMoves:
    """Places of rows, in the transaction of a pass."""

    app: AppRowWrites

    async def columns_below(self, above: str | None) -> Mapping[str, Json]:
        """
        The values of the columns with the row and the space above, of a row below *above*: a space, or a row.

        above: None: at the top. A row is in the space of the row above it.
        """
        page, columns = self.app.source.mapping.page, dict[str, Json]()
        is_in_space = above is not None and self.app.source.mapping.is_space(above)
        if page.parent is not None:
            columns[page.parent] = None if is_in_space else above
        if page.space is not None:
            columns[page.space] = await self._space_of(above) if above is not None else None
        return columns

    async def _space_of(self, above: str) -> str | None:
        if self.app.source.mapping.is_space(above):
            return above.removeprefix(SPACE_PREFIX)
        return await self.app.load_space(above)

    async def move_below(self, external_id: str) -> int:
        """
        Give all rows below a row its space; returns how many had another.

        Raises:
            Damaged: they are too many.
            Outpaced: a transaction of the app has one of them.
        """
        if self.app.source.mapping.page.parent is None:
            return 0
        below = await self.app.load_in_other_spaces(external_id, MAX_MOVED_ROWS + 1)
        if len(below) > MAX_MOVED_ROWS:
            raise Damaged(f"more than {MAX_MOVED_ROWS} pages are below it: move it to another space in the app")
        if below:
            await self.app.write_space(external_id, below)
        return len(below)
