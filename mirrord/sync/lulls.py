"""When work that can wait is done: in a lull, or after so long that it has to be, however busy it is. Pure."""

LONGEST = 2.0  # seconds that it waits where there is no lull


def is_due(now: float, *, worked: float, last: float, quiet: float, longest: float = LONGEST) -> bool:
    """
    Whether it is time, by the monotonic clock.

    worked: when an edit was last carried over. last: when what waits was last done. quiet: seconds that make a lull.
    longest: seconds that it may wait.
    """
    return now - worked > quiet or now - last > longest
