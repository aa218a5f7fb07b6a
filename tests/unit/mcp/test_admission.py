"""Which tenant is served, and who is let in without a token."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from mirrord.auth.access_grant import Grant, Rights
from mirrord.auth.signed_tokens import Keyring, issue_token, signing_key
from mirrord.config import Agents, Config
from mirrord.domain.entry import Actor, TenantId
from mirrord.errors import Refused, UserError
from mirrord.mcp.admission import Tenant, find_tenant, read_token, tenant_of
from mirrord.mcp.callers import attachable_dirs, local_caller
from tests.support.clients import tenant_in

ACTOR = Actor("agent", "tester")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "mirror").mkdir()
    return Config(mirror=tmp_path / "mirror", data=tmp_path / "data")


def grant_of(tenant: Tenant) -> Grant:
    return Grant("0" * 16, "1" * 16, tenant.name, tenant.id, ACTOR, may_write=True, expires=None)


def with_token(config: Config, tenant: Tenant) -> Config:
    private = signing_key(config.data, Keyring(config.mirror))
    text, _ = issue_token(private, tenant.name, tenant.id, ACTOR, rights=Rights(), expires=None)
    return replace(config, agents=Agents(token=f" {text}\n"))


def test_the_only_tenant_need_not_be_named(config: Config) -> None:
    demo = tenant_in(config.mirror)
    (config.mirror / ".mirrord").mkdir()
    (config.mirror / "notes").mkdir()  # no mirror
    assert find_tenant(config) == demo


def test_of_several_tenants_one_must_be_named_and_none_is_told(config: Config) -> None:
    tenant_in(config.mirror, "secret-one"), tenant_in(config.mirror, "secret-two")
    with pytest.raises(UserError, match="name one in TENANT_ID") as refused:
        find_tenant(config)
    assert "secret" not in str(refused.value)


def test_a_tenant_is_named_by_its_name_or_its_id(config: Config) -> None:
    tenant_in(config.mirror, "other")
    demo = tenant_in(config.mirror)
    assert find_tenant(replace(config, tenants=("demo",))) == demo
    assert find_tenant(replace(config, tenants=(str(demo.id),))) == demo


def test_a_tenant_without_a_tree_is_not_served(config: Config) -> None:
    tenant_in(config.mirror)
    with pytest.raises(UserError, match="no such tenant"):
        find_tenant(replace(config, tenants=("elsewhere",)))


def test_a_token_for_another_tenant_than_the_named_one_is_refused(config: Config) -> None:
    demo, _ = tenant_in(config.mirror), tenant_in(config.mirror, "other")
    with pytest.raises(Refused, match=r"^Cannot access pages in another tenant$"):
        tenant_of(replace(config, tenants=("other",)), grant_of(demo))


def test_a_token_of_an_older_tenant_of_the_same_name_is_refused(config: Config) -> None:
    demo = tenant_in(config.mirror)
    with pytest.raises(Refused, match=r"^Cannot access pages in another tenant$"):
        tenant_of(config, replace(grant_of(demo), tenant_id=TenantId(uuid4())))


@pytest.mark.parametrize("name", ["..", "../other", "", ".mirrord", "a/b", "/etc"])
def test_a_tenants_name_is_no_path(config: Config, name: str) -> None:
    with pytest.raises(Refused):
        tenant_of(config, replace(grant_of(tenant_in(config.mirror)), tenant=name))


def test_a_token_says_the_tenant_where_the_tree_does_not_yet(config: Config) -> None:
    demo = tenant_in(config.mirror)
    (demo.root / ".mirrord" / "id").unlink()
    assert tenant_of(config, grant_of(demo)) == demo


def test_local_trust_is_for_an_embedded_postgres_only_unless_an_operator_says_otherwise(config: Config) -> None:
    assert not config.trusts_locally()
    (config.data / "pg").mkdir(parents=True)
    assert config.trusts_locally()
    assert not replace(config, dsn="host=elsewhere").trusts_locally()
    assert not replace(config, agents=Agents(local_trust=False)).trusts_locally()
    assert replace(config, dsn="host=elsewhere", agents=Agents(local_trust=True)).trusts_locally()


def test_without_token_or_trust_the_server_says_what_to_do(config: Config) -> None:
    tenant_in(config.mirror)
    with pytest.raises(Refused, match="mirrord tenant token"):
        local_caller(config)


def test_a_bad_token_is_refused_even_where_nobody_needs_one(config: Config) -> None:
    tenant_in(config.mirror)
    trusting = replace(config, agents=Agents(token="x.y.z", local_trust=True))
    with pytest.raises(Refused, match="not one of mirrord's"):
        local_caller(trusting)


def test_a_tokens_holder_acts_as_its_actor(config: Config) -> None:
    demo = tenant_in(config.mirror)
    tenant, caller = local_caller(with_token(config, demo))
    try:
        assert (tenant, caller.session.actor, caller.may_write) == (demo, ACTOR, True)
    finally:
        caller.session.close()


def test_a_token_comes_from_a_file_too(config: Config, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n", encoding="utf-8")
    assert read_token(replace(config, agents=Agents(token_file=tmp_path / "token"))) == "abc"
    assert read_token(replace(config, agents=Agents("first", tmp_path / "token"))) == "first"
    with pytest.raises(UserError, match="cannot be read"):
        read_token(replace(config, agents=Agents(token_file=tmp_path / "missing")))


def test_the_root_and_the_home_are_too_much_to_attach_from(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for everything in (Path("/"), tmp_path):
        monkeypatch.chdir(everything)
        assert everything not in attachable_dirs(config)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    assert tmp_path / "project" in attachable_dirs(config)


def test_an_operator_says_where_attachments_come_from(config: Config, tmp_path: Path) -> None:
    assert attachable_dirs(replace(config, agents=Agents(attach_from=(tmp_path,)))) == (tmp_path,)
