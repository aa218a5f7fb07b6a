"""
Conditions on the keys of front matter, as agents write them: {"status": "draft", "due": {"lt": "2026-06-01"}}.

A value of another type than the condition's never fits and never fails: pages write one key in many ways.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache

from mirrord.domain.place import name_key
from mirrord.errors import UserError

MAX_CONDITIONS = 20  # of one question
MAX_OPERAND_CHARACTERS = 1_000
MAX_LISTED_OPERANDS = 100  # of `in`

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?$", re.DOTALL)
_ABSENT = object()


class Operator(StrEnum):
    """How a condition compares."""

    EQUALS = "equals"
    NOT = "not"
    IN = "in"
    CONTAINS = "contains"
    EXISTS = "exists"
    GREATER = "gt"
    AT_LEAST = "gte"
    LESS = "lt"
    AT_MOST = "lte"


_ORDERS = frozenset({Operator.GREATER, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST})


class ConditionError(UserError):
    """A condition that is none."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, or a time, of which *instant* is the point; a time without a zone is one of UTC."""

    day: date
    instant: datetime | None

    def compare(self, other: "Moment") -> int:
        """-1, 0 or 1; where one of both is a whole day, days are compared."""
        if self.instant is not None and other.instant is not None:
            return (self.instant > other.instant) - (self.instant < other.instant)
        return (self.day > other.day) - (self.day < other.day)


Comparable = bool | float | str | Moment


@dataclass(frozen=True, slots=True)
class Condition:
    """operand: a JSON value that suits the operator."""

    key: str
    operator: Operator
    operand: object

    def fits(self, properties: Mapping[str, object]) -> bool:
        """Whether front matter with these *properties* meets it."""
        value = value_at(properties, self.key)
        match self.operator:
            case Operator.EXISTS:
                return (value is not _ABSENT and value is not None) is self.operand
            case Operator.EQUALS:
                return _is_equal(value, self.operand)
            case Operator.NOT:
                return not _is_equal(value, self.operand)
            case Operator.IN:
                return any(_is_equal(value, operand) for operand in _as_list(self.operand))
            case Operator.CONTAINS:
                return _contains(value, self.operand)
        return any(_is_in_order(self.operator, item, self.operand) for item in _as_list(value))


def read_conditions(where: Mapping[str, object]) -> tuple[Condition, ...]:
    """The conditions of *where*, which must all be met. Raises ConditionError."""
    conditions = tuple(condition for key, operands in where.items() for condition in _conditions_on(key, operands))
    if len(conditions) > MAX_CONDITIONS:
        raise ConditionError(f"There are more than {MAX_CONDITIONS} conditions.")
    return conditions


def value_at(properties: Mapping[str, object], key: str) -> object:
    """The value of *key*, of which dots may lead into mappings; a value that equals nothing if there is none."""
    if key in properties:
        return properties[key]
    value: object = properties
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def read_moment(text: str) -> Moment | None:
    """The date or time that *text* is in ISO 8601; None: none."""
    if not _ISO_DATE.match(text):
        return None
    try:
        if len(text) == 10:
            return Moment(date.fromisoformat(text), None)
        instant = datetime.fromisoformat(text)
        aware = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
        return Moment(instant.date(), aware.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def _conditions_on(key: str, operands: object) -> Iterator[Condition]:
    if not isinstance(operands, Mapping):
        yield _checked(Condition(key, Operator.EQUALS, operands))
        return
    if not operands:
        raise ConditionError(f"The condition on {key!r} is empty.")
    for name, operand in operands.items():
        if name not in tuple(Operator):
            raise ConditionError(f"A condition on {key!r} has no {name!r}; there are {', '.join(Operator)}.")
        yield _checked(Condition(key, Operator(name), operand))


def _checked(condition: Condition) -> Condition:
    """The condition. Raises ConditionError if its operand does not suit its operator."""
    operator, operand = condition.operator, condition.operand
    needed = None
    if operator is Operator.EXISTS:
        needed = None if isinstance(operand, bool) else "true or false"
    elif operator is Operator.IN:
        is_list = isinstance(operand, list) and len(operand) <= MAX_LISTED_OPERANDS and all(map(_is_plain, operand))
        needed = None if is_list else f"a list of up to {MAX_LISTED_OPERANDS} texts, numbers or dates"
    elif operator in _ORDERS or operator is Operator.CONTAINS:
        is_bound = _is_plain(operand) and operand is not None and not isinstance(operand, bool)
        needed = None if is_bound else "a number, a date or a text"
    elif not _is_plain(operand):
        needed = "a text, a number, a date, true, false or null"
    if needed is not None:
        raise ConditionError(f"{condition.operator} of {condition.key!r} needs {needed}.")
    return condition


def _is_plain(operand: object) -> bool:
    if isinstance(operand, str):
        return len(operand) <= MAX_OPERAND_CHARACTERS
    return operand is None or isinstance(operand, bool | int | float)


def _is_equal(value: object, operand: object) -> bool:
    """Whether *value*, or an item of it, is *operand*; None is a missing key, or one without a value."""
    if operand is None:
        return value is None or value is _ABSENT
    return any(_is_same(item, operand) for item in _as_list(value))


def _is_same(value: object, operand: object) -> bool:
    return _order_of(value, operand) == 0


def _contains(value: object, operand: object) -> bool:
    """Whether a text has *operand* in it, or a list has it as an item."""
    if isinstance(value, list):
        return any(_is_same(item, operand) for item in value)
    return isinstance(value, str) and isinstance(operand, str) and name_key(operand) in name_key(value)


def _is_in_order(operator: Operator, value: object, operand: object) -> bool:
    order = _order_of(value, operand)
    if order is None:
        return False
    match operator:
        case Operator.GREATER:
            return order > 0
        case Operator.AT_LEAST:
            return order >= 0
        case Operator.LESS:
            return order < 0
        case _:
            return order <= 0


def _order_of(value: object, operand: object) -> int | None:
    """-1, 0 or 1; None: they are not of one type. Texts are compared as names are: case does not count."""
    first, second = _comparable(value), _comparable(operand)
    if isinstance(first, Moment) and isinstance(second, Moment):
        return first.compare(second)
    if isinstance(first, str) and isinstance(second, str):
        return (first > second) - (first < second)
    if isinstance(first, bool) is not isinstance(second, bool):
        return None
    if isinstance(first, int | float) and isinstance(second, int | float):
        return (first > second) - (first < second)
    return None


def _comparable(value: object) -> Comparable | None:
    if isinstance(value, str):
        return _comparable_text(value)
    return value if isinstance(value, bool | int | float) else None


@lru_cache(maxsize=4_096)  # the operand is compared with every page, and many pages have the same value
def _comparable_text(value: str) -> Moment | str:
    text = value.strip()
    return read_moment(text) or name_key(text)


def _as_list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]
