"""How much of the machine a run had: virtual ones share their cores with strangers, and figures suffer."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Times:
    """What the cores have done since the machine started, of proc(5): in ticks."""

    wanted: int  # work, and work that had to wait for the host
    stolen: int  # the latter

    @classmethod
    def now(cls) -> "Times":
        """Up to this moment."""
        first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
        user, nice, system, _idle, _waiting, hard, soft, stolen = map(int, first.split()[1:9])
        return cls(user + nice + system + hard + soft + stolen, stolen)

    def stolen_since(self, before: "Times") -> float:
        """The share, 0 to 1, of the time for which there was work and the host ran something else."""
        return (self.stolen - before.stolen) / max(1, self.wanted - before.wanted)


def sentence(stolen: float, load: float) -> str:
    """For people, below the figures. load: how many processes wanted a core before something was measured."""
    host = f"The host took {stolen:.0%} of the cores' time for other machines"
    return f"{host}, and {load:.1f} processes wanted a core before a part began; the more, the worse the figures."
