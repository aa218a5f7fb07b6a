"""How many examples of a law a run plays: the profile of Hypothesis scales what each law asks for."""

from hypothesis import settings

_USUAL_EXAMPLES = 100
_MIN_EXAMPLES = 5


def scale_examples(count: int) -> int:
    """`count` in a usual run; `make check` takes the profile `quick`, which plays a fifth of it."""
    return max(_MIN_EXAMPLES, count * settings().max_examples // _USUAL_EXAMPLES)
