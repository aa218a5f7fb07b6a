"""The list of tokens: what it says of each token, and what it never holds."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import orjson
import pytest

from mirrord.auth import token_list
from mirrord.auth.access_grant import Rights
from mirrord.auth.signed_tokens import Keyring, verify_token
from mirrord.auth.token_list import TokenDesk, TokenOrder, check_actor_name, expiry_after, note_end
from mirrord.domain.entry import TenantId
from mirrord.errors import Refused, UserError

ORDER = TokenOrder("gardener", Rights(), "ada", None)


@pytest.fixture
def desk(tmp_path: Path) -> TokenDesk:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    return TokenDesk(tmp_path / "data", mirror, "demo", TenantId(uuid4()))


def test_a_token_is_listed_and_kept_nowhere(desk: TokenDesk) -> None:
    text, listed = desk.make(ORDER)
    assert verify_token(Keyring(desk.mirror), text).token == listed.id
    assert desk.list_all() == [listed]
    signature = text.rpartition(".")[2].encode()
    assert not [file for file in desk.data.rglob("*") if file.is_file() and signature in file.read_bytes()]
    assert {file.stat().st_mode & 0o777 for file in (desk.data / "tokens").rglob("*.json")} == {0o600}


def test_a_revoked_token_says_by_whom(desk: TokenDesk) -> None:
    text, listed = desk.make(ORDER)
    assert desk.revoke(listed.id, "grace")
    (ended,) = desk.list_all()
    assert (ended.is_revoked, ended.ended_by) == (True, "grace")
    assert desk.revoke(listed.id, "lin")
    assert desk.list_all() == [ended]
    with pytest.raises(Refused, match="revoked"):
        verify_token(Keyring(desk.mirror), text)


def test_a_token_with_a_revoked_key_is_revoked(desk: TokenDesk) -> None:
    _, listed = desk.make(ORDER)
    Keyring(desk.mirror).revoke(listed.key)
    (ended,) = desk.list_all()
    assert (ended.is_revoked, ended.ended_by) == (True, None)


def test_a_tenant_neither_lists_nor_ends_tokens_of_another(desk: TokenDesk) -> None:
    other = TokenDesk(desk.data, desk.mirror, "rival", TenantId(uuid4()))
    _, listed = other.make(ORDER)
    assert desk.list_all() == []
    assert not desk.revoke(listed.id, "ada")
    assert not other.list_all()[0].is_revoked


def test_what_is_long_over_leaves_the_list_and_damaged_lines_end_nothing(desk: TokenDesk) -> None:
    past = datetime.now(UTC) - timedelta(days=100)
    _, over = desk.make(TokenOrder("old", Rights(), "ada", past))
    _, ended = desk.make(TokenOrder("ended", Rights(), "ada", None))
    _, valid = desk.make(TokenOrder("valid", Rights(), "ada", expiry_after(1)))
    directory = desk.data / "tokens" / str(desk.tenant_id)
    facts = orjson.loads((directory / f"{ended.id}.json").read_bytes())
    (directory / f"{ended.id}.json").write_bytes(orjson.dumps(facts | {"ended_at": time.time() - 100 * 86_400}))
    (directory / "0000000000000000.json").write_bytes(b"{")
    (directory / "1111111111111111.json").write_bytes(b"[]")
    wrong = facts | {"id": "2" * 16, "until": "later", "ended_at": 1.0}
    (directory / f"{'2' * 16}.json").write_bytes(orjson.dumps(wrong))
    (directory / f"{'3' * 16}.json").write_bytes(orjson.dumps(facts | {"id": "3" * 16, "made_at": None}))

    assert [token.id for token in desk.list_all()] == [valid.id]
    assert not (directory / f"{over.id}.json").exists()


def test_tokens_that_are_over_leave_a_full_list_for_new_ones(desk: TokenDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_list, "MAX_LISTED", 3)
    desk.make(TokenOrder("hourly", Rights(), "ada", datetime.now(UTC) - timedelta(hours=1)))
    _, ended = desk.make(ORDER)
    desk.revoke(ended.id, "ada")
    working = [desk.make(ORDER)[1].id for _ in range(3)]

    assert sorted(token.id for token in desk.list_all()) == sorted(working)
    with pytest.raises(UserError, match="End one"):
        desk.make(ORDER)
    assert len(desk.list_all()) == 3
    desk.revoke(working[0], "ada")
    assert desk.make(ORDER)[1] in desk.list_all()


def test_a_note_about_an_unknown_token_makes_none(desk: TokenDesk) -> None:
    note_end(desk.data, "0123456789abcdef", "ada")
    assert desk.list_all() == []


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "a" * 61, "bell\a", "turned\u202earound"])
def test_a_name_that_is_no_short_line_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        check_actor_name(name)


def test_a_name_has_no_space_around_it() -> None:
    assert check_actor_name(" gardener ") == "gardener"
