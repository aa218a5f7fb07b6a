"""What a section of the benchmark found."""

from dataclasses import dataclass, field

from tests.bench.figures import Figure, Goal

ALL, NONE = Goal(100.0, at_least=True), Goal(0.0)


@dataclass(slots=True)
class Report:
    """
    broken: laws that do not hold, each with the input that shows it.
    notes: what is no fault but worth a look, such as refusals.
    """

    figures: list[Figure] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        """Take in what another section found."""
        self.figures += other.figures
        self.broken += other.broken
        self.notes += other.notes


def share(part: int, total: int) -> float:
    """Percent; of nothing it is everything."""
    return 100.0 * part / total if total else 100.0


def shortened(text: str, length: int = 400) -> str:
    """*text* as a Python literal, the middle left out if it is long."""
    representation = repr(text)
    return (
        representation
        if len(representation) <= length
        else f"{representation[: length // 2]} … {representation[-length // 2 :]}"
    )
