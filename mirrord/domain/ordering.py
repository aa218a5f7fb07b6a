"""Positions: opaque keys between which there is always another one, so that a move writes one row."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order of their bytes


def between(low: str | None, high: str | None) -> str | None:
    """
    A position behind *low* and before *high*, compared byte by byte; None for one of them: there is no such border.

    None: nothing fits between, because somebody gave positions of another kind, or the same one twice.
    """
    low = low or ""
    found = ""
    for place in range(len(low) + (len(high) if high is not None else 0) + 1):
        least = _DIGITS.find(low[place]) if place < len(low) else 0
        if high is not None and place >= len(high):
            return None
        most = _DIGITS.find(high[place]) if high is not None else len(_DIGITS)
        if least < 0 or most < 0 or least > most:
            return None
        if (middle := (least + most) // 2) > least:
            return found + _DIGITS[middle]
        found += _DIGITS[least]
        if most > least:
            high = None  # what was found is less already, whatever follows
    return None
