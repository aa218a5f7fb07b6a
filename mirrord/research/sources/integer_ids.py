"""PURE: integer forms of ids, for interfaces without UUIDs; the same on every host."""

import re

from mirrord.domain.entry import EntryId, digest_of, parse_id

_BITS = 53  # exact in JSON numbers in every language
_DECIMAL = re.compile("[0-9]{1,16}")


def number_of(entry: EntryId) -> int:
    """The first 53 bits of the digest of the UUID's bytes."""
    return int.from_bytes(digest_of(entry.bytes)[:7], "big") >> 56 - _BITS


def parse_reference(reference: int | str) -> int | EntryId | None:
    """
    The number or id in *reference*: an integer, its decimal digits or a UUID; None: none of these.

    means() compares the result with ids.
    """
    if isinstance(reference, int):
        return reference
    text = reference.strip()
    return int(text) if _DECIMAL.fullmatch(text) else parse_id(text)


def is_reference_to(reference: int | EntryId, entry: EntryId) -> bool:
    """Whether the number or id *reference* denotes *entry*."""
    return reference in (entry, number_of(entry))
