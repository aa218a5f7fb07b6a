"""The time for deferrable work: in a quiet period, or after a maximum delay under constant load. Pure."""

LONGEST = 2.0  # seconds of delay without a quiet period


def is_due(now: float, *, worked: float, last: float, quiet: float, longest: float = LONGEST) -> bool:
    """
    Whether deferrable work is due. Times are monotonic.

    worked: time of the last edit that was carried over. last: time of the last deferrable work. quiet: seconds without
    edits that make a quiet period. longest: maximum delay in seconds.
    """
    return now - worked > quiet or now - last > longest
