"""Figures: what was measured, what was hoped for, and how both are shown."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Goal:
    """
    What a figure should be on two cores.

    limit: the most it should be, or the least (at_least). times: the most it should be as a multiple of its floor.
    None: no such limit. gated: whether it counts; percentiles beyond the median depend too much on the machine.
    """

    limit: float | None = None
    times: float | None = None
    at_least: bool = False
    gated: bool = True

    def is_met(self, value: float, floor: float | None) -> bool:
        """Whether *value* is as good as it should be."""
        if self.limit is not None and (value < self.limit if self.at_least else value > self.limit):
            return False
        return self.times is None or floor is None or value <= self.times * floor


@dataclass(frozen=True, slots=True)
class Figure:
    """
    One measured value.

    value: None: what would be measured is not there yet. floor: the same by something that does nothing else, in the
    same run; None: there is no such thing.
    """

    name: str
    value: float | None
    unit: str
    goal: Goal | None = None
    floor: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the floor it is."""
        return self.value / self.floor if self.value is not None and self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None: there is none that counts, or nothing to hold against it."""
        if self.goal is None or not self.goal.gated or self.value is None:
            return None
        return self.goal.is_met(self.value, self.floor)


def median(name: str, milliseconds: Sequence[float], goal: Goal | None = None, bare: Sequence[float] = ()) -> Figure:
    """The p50 of *milliseconds*; bare: those of the floor."""
    return Figure(
        f"{name}, p50", statistics.median(milliseconds), "ms", goal, statistics.median(bare) if bare else None
    )


def tail(name: str, milliseconds: Sequence[float], limit: float | None = None, bare: Sequence[float] = ()) -> Figure:
    """The p99 of *milliseconds* beside that of *bare*; *limit* is shown and does not count."""
    goal = Goal(limit, gated=False) if limit else None
    return Figure(f"{name}, p99", percentile(milliseconds), "ms", goal, percentile(bare) if bare else None)


def percentile(values: Sequence[float], of: int = 99) -> float:
    """The percentile *of* some values, at least two."""
    return statistics.quantiles(values, n=100, method="inclusive")[of - 1]


def shown(parts: Iterable[tuple[str, Sequence[Figure]]]) -> Table:
    """For people: figures by the name of their part."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("figure", no_wrap=True)
    for column in ("goal", "floor", "figure", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
    for name, figures in parts:
        table.add_row(f"[bold]{name}[/bold]")
        for figure in figures:
            table.add_row(f"  {figure.name}", *_cells(figure))
    return table


def as_json(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """For programs: {name, value, unit, goal {limit, times, at_least, gated}, floor, ratio, met}."""
    return [asdict(figure) | {"ratio": figure.ratio, "met": figure.met} for figure in figures]


def _cells(figure: Figure) -> list[str]:
    value = "not built yet" if figure.value is None else f"{_short(figure.value)} {figure.unit}"
    floor = f"{_short(figure.floor)} {figure.unit}" if figure.floor is not None else ""
    ratio = f"{figure.ratio:.2f} ×" if figure.ratio is not None else ""
    verdict = {True: "met", False: "[red]not met[/red]", None: ""}[figure.met]
    return [_aim(figure.goal, figure.unit), floor, value, ratio, verdict]


def _aim(goal: Goal | None, unit: str) -> str:
    """In brackets where it does not count."""
    if goal is None:
        return ""
    sign = "≥" if goal.at_least else "≤"
    limits = [f"{sign} {goal.limit:.4g} {unit}"] if goal.limit is not None else []
    limits += [f"≤ {goal.times:g} ×"] if goal.times is not None else []
    return ", ".join(limits) if goal.gated else f"({', '.join(limits)})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
