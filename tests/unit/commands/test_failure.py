"""What goes wrong in a command: what is told of it, and what is not."""

import logging

import pytest

from mirrord.commands.core.failure import Failed, containing_errors
from mirrord.errors import Busy, Damaged, MirrordError, Refused, Stale, Unavailable, UserError


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (Refused("no"), "REFUSED", "forbidden"),
        (Damaged("no text"), "INVALID_PAGE", "invalid"),
        (Busy("open elsewhere"), "BUSY", "busy"),
        (Stale("changed"), "CONFLICT", "conflict"),
        (UserError("unknown"), "INVALID", "invalid"),
        (Unavailable("/srv/tree cannot be opened"), "UNAVAILABLE", "unavailable"),
        (MirrordError("/srv/tree"), "UNAVAILABLE", "unavailable"),
    ],
)
def test_every_error_of_ours_is_a_failure_of_its_kind(error: MirrordError, code: str, kind: str) -> None:
    with pytest.raises(Failed) as failed, containing_errors("read_page"):
        raise error

    assert (failed.value.code, failed.value.kind) == (code, kind)
    assert "/srv" not in str(failed.value)


def test_what_failed_already_says_what_it_said() -> None:
    before = Failed("PAGE_NOT_FOUND", "not_found", "No.", "Look.")

    with pytest.raises(Failed) as failed, containing_errors("read_page"):
        raise before

    assert failed.value is before


def test_what_nobody_foresaw_is_in_the_log_and_not_in_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(Failed) as failed, containing_errors("read_page"):
        raise KeyError("a secret")

    assert failed.value.code == "INTERNAL_ERROR"
    assert "secret" not in f"{failed.value} {failed.value.instruction} {failed.value.facts}"
    assert [(record.getMessage(), record.__dict__["command"]) for record in caplog.records] == [
        ("command_failed", "read_page")
    ]
    assert "a secret" in caplog.text


def test_somebody_who_ends_the_program_is_not_held_up() -> None:
    with pytest.raises(KeyboardInterrupt), containing_errors("read_page"):
        raise KeyboardInterrupt
