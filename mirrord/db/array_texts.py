"""Arrays of ids and numbers as Postgres writes them; the driver takes each element by itself, which takes long."""

from collections.abc import Sequence
from uuid import UUID

import orjson


def array_of(values: Sequence[UUID] | Sequence[int]) -> str:
    """The text of an array, for a parameter with a cast such as `%s::uuid[]`."""
    return "{" + orjson.dumps(values)[1:-1].decode() + "}"
