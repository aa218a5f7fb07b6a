"""How quick a machine is, and how much of it a run had: virtual ones share their cores with strangers."""

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Times:
    """What the cores have done since the machine started, of proc(5): in ticks."""

    busy: int  # work, and work that had to wait for the host
    stolen: int  # the latter

    @classmethod
    def now(cls) -> "Times":
        """Up to this moment."""
        first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
        user, nice, system, _idle, _waiting, hard, soft, stolen = map(int, first.split()[1:9])
        return cls(user + nice + system + hard + soft + stolen, stolen)

    def stolen_since(self, before: "Times") -> float:
        """The share, 0 to 1, of the time for which there was work and the host ran something else."""
        return (self.stolen - before.stolen) / max(1, self.busy - before.busy)


def turning() -> float:
    """Seconds for ten million turns of an empty loop: what a core does, whatever is measured on it."""
    spans = []
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(1_000_000):
            pass
        spans.append(time.perf_counter() - began)
    return 10 * min(spans)


def sentence(stolen: float, load: float, turning: float) -> str:
    """For people, below the figures. load: how many processes wanted a core before something was measured."""
    core = f"Ten million turns of an empty loop take {turning:.2f} s here."
    host = f"The host took {stolen:.0%} of the cores' time for other machines"
    many = f"{load:.1f} processes wanted a core before a part began"
    return f"{core} {host}, and {many}; the more, the worse the figures."
