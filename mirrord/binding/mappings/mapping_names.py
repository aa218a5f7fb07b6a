"""Names in the file of a mapping: its keys, and columns of the app."""

import re
from collections.abc import Collection
from difflib import get_close_matches

from mirrord.errors import UserError

IDENTIFIER = re.compile(r'(?!.*\$mirrord\$)[^\x00-\x1f"%.]{1,63}')


def check_names(names: Collection[str], allowed: Collection[str], prefix: str) -> None:
    """Raise UserError for the first of *names* that is not *allowed*, with the nearest. prefix: of their section."""
    for name in names:
        if name not in allowed:
            close = get_close_matches(name, allowed, n=1)
            advice = f"Did you mean `{prefix}{close[0]}`?" if close else f"There are: {', '.join(allowed)}."
            raise UserError(f"`{prefix}{name}` is no key of a mapping. {advice}")


def checked_column(text: str, key: str) -> str:
    """*text*, checked to be the name of a column. key: where it was in the file."""
    if not IDENTIFIER.fullmatch(text):
        raise UserError(f"`{key}` must be the name of a column, and {text!r} cannot be one here.")
    return text
