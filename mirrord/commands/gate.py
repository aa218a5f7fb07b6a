"""What one asker may do in this process: how far each command is trusted, and how much of it there may be."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from mirrord.commands.failure import Failed
from mirrord.domain.limits import Limits, Rate
from mirrord.domain.trust import DEFAULTS, Trust


@dataclass(slots=True)
class Gate:
    """
    What lets commands through.

    levels: by name. token: what the asker showed; None: trusted locally. elicits: whether a person may approve through
    the asker's client.
    """

    levels: Mapping[str, Trust] = field(default_factory=lambda: DEFAULTS)
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    elicits: bool = False
    _calls: Rate = field(init=False)
    _mutations: Rate = field(init=False)

    def __post_init__(self) -> None:
        self._calls, self._mutations = Rate(self.limits.calls), Rate(self.limits.mutations)

    def count(self, *, writes: bool) -> None:
        """One more call. Raises Failed, RATE_LIMITED, where it is one too many."""
        now = time.monotonic()
        wait = self._calls.wait(now) or (self._mutations.wait(now) if writes else 0.0)
        if wait > 0:
            seconds = math.ceil(wait)
            sentence = f"Too many calls{' that change something' if writes else ''} in a minute."
            raise Failed("RATE_LIMITED", "busy", sentence, f"Wait {seconds} seconds.", {"seconds": seconds})
