"""Which versions of a page keep their text: the rule of an operator, and the sentence about a text that was removed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from mirrord.errors import UserError

FOREVER = "forever"
DEFAULT_NEWEST = 10  # versions
MAX_NEWEST = 1_000_000  # versions
_DAYS = re.compile(r"([1-9][0-9]{0,4})d")  # less than a day would be shorter than work under way


@dataclass(frozen=True, slots=True)
class HistoryRule:
    """
    A version keeps its text while it is one of the newest, and for *age* after another version replaced it.

    age: None: for ever. newest: a number of versions of each page, at least 1: the present one.
    """

    age: timedelta | None = None
    newest: int = DEFAULT_NEWEST

    def describe(self) -> str:
        """The rule for people, such as `90 days, and the newest 10 of each page`."""
        if self.age is None:
            return FOREVER
        days = f"{self.age.days} days" if self.age.days > 1 else "1 day"
        return f"{days}, and the newest {self.newest} of each page"


@dataclass(frozen=True, slots=True)
class HistoryRules:
    """The rules of all tenants. ages: of tenants, by name, that have another age than the others; None: for ever."""

    rule: HistoryRule = field(default_factory=HistoryRule)
    ages: Mapping[str, timedelta | None] = field(default_factory=dict)

    def of_tenant(self, name: str) -> HistoryRule:
        """The rule of the tenant called *name*."""
        return HistoryRule(self.ages.get(name, self.rule.age), self.rule.newest)


def parse_history(written: Mapping[str, Any]) -> HistoryRules:
    """The rules from the table [history] of mirrord.toml. Raises UserError."""
    newest = written.get("newest", DEFAULT_NEWEST)
    if type(newest) is not int or not 1 <= newest <= MAX_NEWEST:
        raise UserError(f"history.newest is {newest!r}; write a whole number of versions from 1 to {MAX_NEWEST}.")
    ages = {name: _parse_age(f"history.tenants.{name}", age) for name, age in written.get("tenants", {}).items()}
    return HistoryRules(HistoryRule(_parse_age("history.keep", written.get("keep", FOREVER)), newest), ages)


def _parse_age(key: str, text: str) -> timedelta | None:
    if text == FOREVER:
        return None
    days = _DAYS.fullmatch(text)
    if days is None:
        raise UserError(f'{key} is {text!r}; write "{FOREVER}", or a number of days such as "90d".')
    return timedelta(days=int(days[1]))


@dataclass(frozen=True, slots=True)
class HistoryCost:
    """The earlier versions of pages and records. removed: those without a text. size: bytes of the others' texts."""

    versions: int = 0
    removed: int = 0
    size: int = 0


def describe_removal(version: int, removed_at: datetime) -> str:
    """The sentence about a version that has no text any more."""
    day = removed_at.astimezone().date().isoformat()
    return (
        f"The text of version {version} was removed on {day}: `history.keep` in mirrord.toml says how long "
        "texts of earlier versions are kept."
    )
