"""
Lines that go on with a paragraph of a list by CommonMark, though they look like items of a list.

Such a line leaves items, and stands four columns or more to the right of the innermost one that it does not leave: that
is the indent of code, which interrupts no paragraph. The parser itself compares with two items only.
"""

from markdown_it.rules_block import StateBlock, list_block

COLUMNS_KEY = "list_columns"  # key of `env`: where the content of the blocks begins that hold the open lists


def nested_list(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A list that knows the columns of the lists around it."""
    if silent:
        return not is_lazy_line(state, start) and list_block(state, start, end, silent)
    columns: list[int] = state.env.setdefault(COLUMNS_KEY, [])
    columns.append(state.blkIndent)
    try:
        return list_block(state, start, end, silent)
    finally:
        columns.pop()


def is_lazy_line(state: StateBlock, line: int) -> bool:
    """Whether *line* leaves items and is indented as code in the innermost one that it does not leave."""
    indent = state.sCount[line]
    if indent < 4 or indent >= state.blkIndent:
        return False
    columns: list[int] = state.env.get(COLUMNS_KEY, [])
    return next((indent - column >= 4 for column in reversed(columns) if column <= indent), False)
