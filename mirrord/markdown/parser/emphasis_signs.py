"""Signs of emphasis and of strikethrough beside a vertical tab, which is no blank to CommonMark, but to the parser."""

from types import SimpleNamespace
from typing import cast

from markdown_it.rules_inline import StateInline, emphasis, strikethrough

_VERTICAL_TAB = "\x0b"
_PLAIN_CHARACTER = "x"  # stands for a vertical tab: neither a blank nor punctuation


def emphasis_sign(state: StateInline, silent: bool) -> bool:
    """A run of `*` or `_`."""
    start, count = state.pos, len(state.delimiters)
    return emphasis.tokenize(state, silent) and _weigh_again(state, start, count)


def strikethrough_sign(state: StateInline, silent: bool) -> bool:
    """A run of `~`."""
    start, count = state.pos, len(state.delimiters)
    return strikethrough.tokenize(state, silent) and _weigh_again(state, start, count)


def _weigh_again(state: StateInline, start: int, count: int) -> bool:
    """Decide again what the run from *start* may begin and end, if a vertical tab is beside it. True."""
    above, beyond = state.src[max(0, start - 1) : start], state.src[state.pos : min(state.pos + 1, state.posMax)]
    if _VERTICAL_TAB in (above, beyond):
        window = (above + state.src[start : state.pos] + beyond).replace(_VERTICAL_TAB, _PLAIN_CHARACTER)
        excerpt = cast("StateInline", SimpleNamespace(src=window, posMax=len(window)))
        scanned = StateInline.scanDelims(excerpt, len(above), state.src[start] != "_")
        for delimiter in state.delimiters[count:]:
            delimiter.open, delimiter.close = scanned.can_open, scanned.can_close
    return True
