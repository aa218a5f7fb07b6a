"""Shares on disk: as many as a tenant may have, and none of another tenant's."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.auth import page_shares
from mirrord.auth.page_shares import SharedPlace, ShareStore
from mirrord.errors import UserError


def test_a_tenant_with_all_the_shares_it_may_have_keeps_no_other_from_sharing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_shares, "MAX_SHARES", 3)
    store, place = ShareStore(tmp_path), SharedPlace(uuid4(), uuid4(), has_inside=False, by="ada")
    shares = [store.share(place, 1)[0] for _ in range(3)]
    with pytest.raises(UserError, match="revoke some"):
        store.share(place, 1)
    with pytest.raises(UserError, match="revoke some"):
        store.publish(place, "a-name", is_indexed=False)
    other = replace(place, tenant=uuid4())
    store.share(other, 1)
    assert not store.revoke(other.tenant, shares[0].id)
    assert store.revoke(place.tenant, shares[0].id)
    store.share(place, 1)
    assert len(store.shares_of(place.tenant)) == 3


def test_a_name_that_another_tenant_has_published_is_taken_and_stays_theirs(tmp_path: Path) -> None:
    store, place = ShareStore(tmp_path), SharedPlace(uuid4(), uuid4(), has_inside=True, by="ada")
    store.publish(place, "handbook", is_indexed=True)
    with pytest.raises(UserError, match="taken"):
        store.publish(replace(place, tenant=uuid4()), "handbook", is_indexed=False)
    share = store.find("handbook")
    assert share is not None
    assert (share.place, share.is_indexed, share.until) == (place, True, None)
    assert [file.name for file in (tmp_path / "console" / "shares").iterdir() if file.name.startswith(".")] == []
