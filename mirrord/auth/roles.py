"""What a person may do in a tenant, from the least to the most. Pure."""

from enum import StrEnum


class Role(StrEnum):
    """reader: sees all pages. writer: changes them, too. operator: decides what waits, and publishes, too."""

    READER = "reader"
    WRITER = "writer"
    OPERATOR = "operator"

    @property
    def may_write(self) -> bool:
        """Whether the person may change pages."""
        return self is not Role.READER

    @property
    def is_operator(self) -> bool:
        """Whether the person decides about requests, halts and reviews."""
        return self is Role.OPERATOR
