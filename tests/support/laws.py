"""How many examples of a law a run plays: the profile of Hypothesis scales what each law asks for."""

from hypothesis import settings

_FULL_EXAMPLES = 100
_MIN_EXAMPLES = 5


def scale_examples(count: int) -> int:
    """`count` in `make laws`, a quarter of it in a usual run, and a fifth in `make check`."""
    return max(_MIN_EXAMPLES, count * settings().max_examples // _FULL_EXAMPLES)
