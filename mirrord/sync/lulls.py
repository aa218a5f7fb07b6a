"""The time for deferrable work: in a quiet period, or after a maximum delay under constant load. Pure."""

MAX_DELAY_SECONDS = 2.0  # seconds of delay without a quiet period


def is_deferred_work_due(
    now: float,
    *,
    worked_at: float,
    last_run_at: float,
    quiet_seconds: float,
    max_delay_seconds: float = MAX_DELAY_SECONDS,
) -> bool:
    """
    Whether deferrable work is due. Times are monotonic.

    worked_at: time of the last edit that was carried over. last_run_at: time of the last deferrable work.
    quiet_seconds: seconds without edits that make a quiet period. max_delay_seconds: maximum delay in seconds.
    """
    return now - worked_at > quiet_seconds or now - last_run_at > max_delay_seconds
