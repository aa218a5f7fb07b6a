"""Who was let in is known again, by whoever has the key, and by nobody else."""

from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.auth.roles import Role
from mirrord.auth.sign_in import Gate
from mirrord.errors import UserError


def test_an_invitation_makes_one_session(tmp_path: Path) -> None:
    gate, tenant = Gate(tmp_path), uuid4()
    token = gate.invite("ada", tenant)
    assert gate.is_unused(token)
    cookie = gate.admit(token)
    assert cookie is not None
    assert not gate.is_unused(token)
    assert gate.admit(token) is None
    session = gate.session(cookie)
    assert session is not None
    assert (session.name, session.roles, session.sees_all) == ("ada", {tenant: Role.WRITER}, False)


def test_a_session_outlives_the_process_and_ends_for_all(tmp_path: Path) -> None:
    cookie = Gate(tmp_path).admit(Gate(tmp_path).invite("ada", None)) or ""
    session = Gate(tmp_path).session(cookie)
    assert session is not None
    assert session.sees_all
    Gate(tmp_path).end_session(session)
    assert Gate(tmp_path).session(cookie) is None


def test_another_installation_knows_nobody(tmp_path: Path) -> None:
    first, other = Gate(tmp_path / "one"), Gate(tmp_path / "other")
    token = first.invite("ada", None)
    assert other.admit(token) is None
    assert other.session(first.admit(token) or "") is None
    assert first.cookie != other.cookie


def test_a_key_that_is_none_is_said(tmp_path: Path) -> None:
    Gate(tmp_path)
    (tmp_path / "console" / "key").write_bytes(b"short")
    with pytest.raises(UserError, match="not a key of the console"):
        Gate(tmp_path)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "console").write_text("in the way")
    with pytest.raises(UserError, match="cannot be used"):
        Gate(tmp_path)
