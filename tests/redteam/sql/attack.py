"""An attack in SQL, and who tries it."""

from dataclasses import dataclass
from enum import StrEnum


class Attacker(StrEnum):
    """Whose session it is. CONSOLE: as the console's, logged in as the daemon and acting as an app."""

    APP = "app"
    CONSOLE = "console"
    DAEMON = "daemon"


@dataclass(frozen=True, slots=True)
class Attack:
    """Statements that one session executes one after the other; each may be refused, and the next is still tried."""

    name: str
    statements: tuple[str, ...]
    attackers: tuple[Attacker, ...] = (Attacker.APP, Attacker.CONSOLE, Attacker.DAEMON)
