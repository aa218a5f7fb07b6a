"""Front matter: what it says, and changing single keys of it."""

from collections.abc import Mapping

from mirrord.codec.fences import Parts, fenced, inner, split
from mirrord.codec.properties import REMOVED, Json, Removed, load, same
from mirrord.codec.rewriting import is_plain, rewritten
from mirrord.codec.text import newline
from mirrord.errors import Damaged

_SHORT = 500  # characters: of such a front matter no key is too long for YAML, and no limit of `properties` is near

__all__ = ["REMOVED", "Json", "Parts", "Removed", "inner", "same", "split", "values", "with_keys"]


def values(head: str) -> dict[str, Json]:
    """
    What *head* says, in its order; see `properties` for what a plain scalar becomes.

    Raises:
        Damaged: not YAML mirrord reads; the message names the line.
    """
    return load(inner(head))


def with_keys(text: str, changes: Mapping[str, Json | Removed]) -> str:
    """
    *text* with top-level keys set or REMOVED; every other byte stays, and so do keys whose value is equal.

    The front matter is made if there is none, and goes when its last key goes and no comment is left.

    Raises:
        Damaged: the front matter is not valid, or cannot take this change without harm to other keys.
    """
    parts = split(text)
    before = values(parts.head)
    real = {k: v for k, v in changes.items() if not same(before.get(k, REMOVED), v)}
    if not real:
        return text
    result = _changed(parts, real, newline(parts.head or parts.body))
    surely = len(result) - len(text) <= _SHORT and _are_plain(real)
    if parts.head or not surely:  # what stands alone and for itself need not be read back
        _check(parts, split(result), {**before, **real})
    return result


def _are_plain(changes: Mapping[str, Json | Removed]) -> bool:
    return all(is_plain(key) and isinstance(value, str) and is_plain(value) for key, value in changes.items())


def _changed(parts: Parts, changes: Mapping[str, Json | Removed], ending: str) -> str:
    opening, source, closing = fenced(parts.head or f"---{ending}---{ending}")
    new = rewritten(source, changes, ending)
    if not new.strip() and split(parts.bom + parts.body) == Parts(parts.bom, "", parts.body):
        return parts.bom + parts.body
    return parts.bom + opening + new + closing + parts.body


def _check(old: Parts, new: Parts, wanted: Mapping[str, Json | Removed]) -> None:
    expected = {key: value for key, value in wanted.items() if not isinstance(value, Removed)}
    if (new.bom, new.body) != (old.bom, old.body) or not same(values(new.head), expected):
        raise Damaged("the front matter is written in a way that mirrord cannot change without harm")
