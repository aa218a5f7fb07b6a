"""Positions: opaque keys with room for another one between any two, so that a move writes one row."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order of their bytes


def position_between(low: str | None, high: str | None) -> str | None:
    """
    A position after *low* and before *high*, compared byte by byte; None for one of them: no limit on that side.

    None: nothing fits between, because the positions are of another kind, or equal.
    """
    low = low or ""
    prefix = ""
    for place in range(len(low) + (len(high) if high is not None else 0) + 1):
        low_digit = _DIGITS.find(low[place]) if place < len(low) else 0
        if high is not None and place >= len(high):
            return None
        high_digit = _DIGITS.find(high[place]) if high is not None else len(_DIGITS)
        if low_digit < 0 or high_digit < 0 or low_digit > high_digit:
            return None
        if (middle := (low_digit + high_digit) // 2) > low_digit:
            return prefix + _DIGITS[middle]
        prefix += _DIGITS[low_digit]
        if high_digit > low_digit:
            high = None  # the prefix is already lower than that of *high*
    return None
