"""Permissions of one caller in this process: trust level of each command, and rate limits."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from mirrord.commands.failure import Failed
from mirrord.domain.limits import Limits, RateLimit
from mirrord.domain.trust import DEFAULTS, Trust


@dataclass(slots=True)
class Gate:
    """
    The permissions of one caller.

    levels: trust level by command name. token: the caller's token; None: a local caller. elicits: a person may approve
    through the caller's client.
    """

    levels: Mapping[str, Trust] = field(default_factory=lambda: DEFAULTS)
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    elicits: bool = False
    _calls: RateLimit = field(init=False)
    _mutations: RateLimit = field(init=False)

    def __post_init__(self) -> None:
        self._calls, self._mutations = RateLimit(self.limits.calls), RateLimit(self.limits.mutations)

    def count_call(self, *, writes: bool) -> None:
        """Count a call. Raises Failed, RATE_LIMITED, if it exceeds a limit."""
        now = time.monotonic()
        wait = self._calls.seconds_to_wait(now) or (self._mutations.seconds_to_wait(now) if writes else 0.0)
        if wait > 0:
            seconds = math.ceil(wait)
            sentence = f"Too many calls{' that change something' if writes else ''} in a minute."
            raise Failed("RATE_LIMITED", "busy", sentence, f"Wait {seconds} seconds.", {"seconds": seconds})
