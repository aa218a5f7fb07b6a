"""Figures: what was measured, what was hoped for, and how both are shown."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Target:
    """The least (at_least) or the most a figure should be; decided for a machine with two cores."""

    limit: float
    at_least: bool = False

    def is_met(self, value: float) -> bool:
        """Whether *value* is as good as it should be."""
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. bare: the same by a loop that does nothing else, in the same run."""

    name: str
    value: float
    unit: str
    target: Target | None = None
    bare: float | None = None


def median(name: str, milliseconds: Sequence[float], target: float | None = None) -> Figure:
    """The p50 of *milliseconds*; target: the most it should be."""
    return Figure(f"{name}, p50", statistics.median(milliseconds), "ms", Target(target) if target else None)


def tail(name: str, milliseconds: Sequence[float]) -> Figure:
    """The p99 of *milliseconds*."""
    return Figure(f"{name}, p99", statistics.quantiles(milliseconds, n=100, method="inclusive")[98], "ms")


def shown(figures: Iterable[Figure]) -> Table:
    """For people."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("figure")
    for column in ("value", "bare loop", "target"):
        table.add_column(column, justify="right")
    table.add_column("")
    for one in figures:
        bare = f"{_short(one.bare)} {one.unit}" if one.bare is not None else ""
        table.add_row(one.name, f"{_short(one.value)} {one.unit}", bare, *_aim(one))
    return table


def as_json(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """For programs: {name, value, unit, target {limit, at_least}, bare, met}; met is None without a target."""
    return [asdict(one) | {"met": one.target.is_met(one.value) if one.target else None} for one in figures]


def _aim(figure: Figure) -> tuple[str, str]:
    if figure.target is None:
        return "", ""
    sign = "≥" if figure.target.at_least else "≤"
    met = figure.target.is_met(figure.value)
    return f"{sign} {figure.target.limit:g} {figure.unit}", "met" if met else "not met"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
