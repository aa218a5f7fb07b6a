"""Settling a conflict: what each choice does, and when it is refused. No daemon runs."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from mirrord.cli.command_table import cli
from mirrord.db.database import Database
from mirrord.domain.entry import Actor, TenantId, digest_of
from mirrord.errors import Stale
from mirrord.operations.conflict_resolution import Choice, Resolution, resolve_conflict
from tests.support.commands import Command, commands
from tests.support.entries import add, change, delete, history, lives, row_of, value
from tests.support.harness import eventually
from tests.support.rows import Connection

NAME = "Page (conflict 2026-01-02 030405Z abcdef)"
BASE, FILE, ROW = "colour?\n", "red\n", "blue\n"


@dataclass(frozen=True, slots=True)
class Dispute:
    """A conflict as a daemon leaves it."""

    number: int
    page: UUID
    sibling: UUID

    @property
    def said(self) -> str:
        """Its number, for a command."""
        return str(self.number)


@pytest.fixture
def mirrord(admin_dsn: str, tenant: TenantId, tmp_path: Path) -> Command:
    """Runs commands of the tenant."""
    return commands(admin_dsn, tenant, tmp_path)


def text(markdown: str) -> dict[str, object]:
    return {"markdown": markdown, "digest": digest_of(markdown.encode())}


def sibling_text(sibling: UUID, file: str = FILE) -> str:
    return f"---\nid: {sibling}\n---\n{file}"


@pytest.fixture
def dispute(daemon_connection: Connection) -> Dispute:
    """Both sides changed `Page.md`."""
    page = add(daemon_connection, "page", name="Page", name_key="page", title="Page", **text(BASE))
    change(daemon_connection, page, **text(ROW))
    return disputed(daemon_connection, page, "Page.md", NAME)


def disputed(daemon: Connection, page: UUID, path: str, name: str) -> Dispute:
    sibling = uuid4()
    add(daemon, "page", id=sibling, name=name, name_key=name, title=name, **text(sibling_text(sibling)))
    number = value(
        daemon,
        "INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, sibling_id, path, base_text, file_text, "
        "row_text, row_version) VALUES (mirrord.current_tenant(), gen_random_uuid(), %s, %s, %s, %s, %s, %s, 2) "
        "RETURNING id",
        page,
        sibling,
        path,
        BASE,
        FILE,
        ROW,
    )
    return Dispute(number, page, sibling)


def resolution(daemon: Connection, dispute: Dispute) -> str | None:
    stored = value(daemon, "SELECT resolution FROM mirrord.conflict WHERE id = %s", dispute.number)
    return str(stored) if stored is not None else None


def test_the_list_names_both(mirrord: Command, dispute: Dispute) -> None:
    for arguments in (("conflicts",), ("conflicts", "list")):
        listed = mirrord(*arguments).out
        assert "Page.md" in listed
        assert f"{NAME}.md" in listed
    (conflict,) = json.loads(mirrord("conflicts", "list", "--json").out)
    assert (conflict["number"], conflict["path"], conflict["sibling_path"]) == (dispute.number, "Page.md", f"{NAME}.md")


def test_show_tells_what_each_side_changed(mirrord: Command, dispute: Dispute) -> None:
    output = mirrord("conflicts", "show", dispute.said).out
    assert "-colour?\n+blue\n" in output
    assert "-colour?\n+red\n" in output
    facts = json.loads(mirrord("conflicts", "show", dispute.said, "--json").out)
    assert (facts["base"], facts["file"], facts["row"], facts["seen"]) == (BASE, FILE, ROW, "2/1")


def test_taking_the_file_gives_the_page_its_exact_text(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection
) -> None:
    result = mirrord("conflicts", "take-file", dispute.said)
    assert result.code == 0, result.err
    row = row_of(daemon_connection, dispute.page)
    assert (row["markdown"], row["version"], row["digest"]) == (FILE, 3, digest_of(FILE.encode()))
    assert not lives(daemon_connection, dispute.sibling)
    assert resolution(daemon_connection, dispute) == "took-file"
    assert [version["markdown"] for version in history(daemon_connection, dispute.page)] == [BASE, ROW, FILE]
    assert mirrord("conflicts").out == ""


def test_taking_the_row_leaves_the_page_alone(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection
) -> None:
    change(daemon_connection, dispute.page, **text("blue, and later\n"))  # merged by hand, say
    assert mirrord("conflicts", "take-row", dispute.said).code == 0
    row = row_of(daemon_connection, dispute.page)
    assert (row["markdown"], row["version"]) == ("blue, and later\n", 3)
    assert not lives(daemon_connection, dispute.sibling)
    assert resolution(daemon_connection, dispute) == "took-row"


def test_a_merged_text_comes_from_a_file(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection, tmp_path: Path
) -> None:
    merged = tmp_path / "merged.md"
    merged.write_text(sibling_text(dispute.sibling, "violet\n"), encoding="utf-8")  # edited in the sibling's file
    assert mirrord("conflicts", "take-merged", dispute.said, str(merged)).code == 0
    assert row_of(daemon_connection, dispute.page)["markdown"] == "violet\n"
    assert not lives(daemon_connection, dispute.sibling)
    assert resolution(daemon_connection, dispute) == "took-merged"


def test_a_merged_text_keeps_the_id_the_page_shows(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection, tmp_path: Path
) -> None:
    own_text = f"---\nid: {dispute.page}\n---\nblue\n"
    change(daemon_connection, dispute.page, **text(own_text))
    daemon_connection.execute("UPDATE mirrord.conflict SET row_text = %s, row_version = 3", [own_text])
    merged = tmp_path / "merged.md"
    merged.write_text("violet\n", encoding="utf-8")
    assert mirrord("conflicts", "take-merged", dispute.said, str(merged)).code == 0
    assert row_of(daemon_connection, dispute.page)["markdown"] == f"---\nid: {dispute.page}\n---\nviolet\n"


def test_a_text_with_markers_left_is_refused(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection, tmp_path: Path
) -> None:
    merged = tmp_path / "merged.md"
    merged.write_text(mirrord("conflicts", "show", dispute.said, "--markers").out, encoding="utf-8")
    assert {"blue", "red"} <= set(merged.read_text(encoding="utf-8").splitlines())
    result = mirrord("conflicts", "take-merged", dispute.said, str(merged))
    assert result.code == 4
    assert "markers" in result.err
    assert resolution(daemon_connection, dispute) is None
    merged.write_bytes(b"\xff")
    assert mirrord("conflicts", "take-merged", dispute.said, str(merged)).code == 4
    assert mirrord("conflicts", "take-merged", dispute.said).code == 2
    assert row_of(daemon_connection, dispute.page)["version"] == 2


def test_a_page_that_changed_since_is_not_overwritten_unseen(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection
) -> None:
    change(daemon_connection, dispute.page, **text("green\n"))
    result = mirrord("conflicts", "take-file", dispute.said)
    assert result.code == 4
    assert "'Page.md' changed since the conflict arose" in result.err
    assert "--seen 3/1" in result.err
    assert row_of(daemon_connection, dispute.page)["markdown"] == "green\n"
    assert lives(daemon_connection, dispute.sibling)
    assert mirrord("conflicts", "take-file", dispute.said, "--seen", "2/1").code == 4
    assert mirrord("conflicts", "take-file", dispute.said, "--seen", "3/1").code == 0
    assert row_of(daemon_connection, dispute.page)["markdown"] == FILE


def test_a_page_that_only_moved_is_not_changed(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection
) -> None:
    change(daemon_connection, dispute.page, name="Moved", name_key="moved")
    assert mirrord("conflicts", "take-file", dispute.said).code == 0
    assert row_of(daemon_connection, dispute.page)["name"] == "Moved"


def test_an_edited_sibling_is_not_dropped_unseen_and_its_text_is_taken_when_seen(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection
) -> None:
    change(daemon_connection, dispute.sibling, **text(sibling_text(dispute.sibling, "dark red\n")))
    for command in ("take-row", "take-file"):
        result = mirrord("conflicts", command, dispute.said)
        assert result.code == 4
        assert "The sibling of 'Page.md' changed" in result.err
    assert mirrord("conflicts", "take-file", dispute.said, "--seen", "2/2").code == 0
    assert row_of(daemon_connection, dispute.page)["markdown"] == "dark red\n"


def test_pages_below_the_sibling_and_a_conflict_of_its_own_come_first(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection
) -> None:
    child = add(daemon_connection, "page", name="Child", name_key="child", parent_id=dispute.sibling, **text("c\n"))
    result = mirrord("conflicts", "take-row", dispute.said)
    assert result.code == 4
    assert "below the sibling" in result.err
    delete(daemon_connection, child)
    inner = disputed(daemon_connection, dispute.sibling, f"{NAME}.md", f"{NAME} (conflict 2026-01-02 030406Z abcdef)")
    result = mirrord("conflicts", "take-row", dispute.said)
    assert result.code == 4
    assert f"settle {inner.number} first" in result.err
    assert mirrord("conflicts", "take-row", inner.said).code == 0
    assert mirrord("conflicts", "take-row", dispute.said).code == 0


def test_taking_the_file_of_a_deleted_page_brings_it_back(
    mirrord: Command, dispute: Dispute, daemon_connection: Connection
) -> None:
    delete(daemon_connection, dispute.page)
    result = mirrord("conflicts", "take-file", dispute.said)
    assert result.code == 4
    assert mirrord("conflicts", "take-file", dispute.said, "--seen", "3/1").code == 0
    assert lives(daemon_connection, dispute.page)
    assert row_of(daemon_connection, dispute.page)["markdown"] == FILE


async def test_a_change_at_the_very_moment_leaves_everything_as_it_was(
    database: Database, tenant: TenantId, dispute: Dispute, daemon_connection: Connection, admin_dsn: str
) -> None:
    def waits() -> bool:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'mirrord'"
        with psycopg.connect(admin_dsn) as admin:
            return bool(value(admin, query))

    with daemon_connection.transaction():
        change(daemon_connection, dispute.page, **text("green\n"))
        taking = asyncio.create_task(
            resolve_conflict(database, tenant, Actor("human", "ada"), Resolution(dispute.number, Choice.FILE))
        )
        await asyncio.to_thread(eventually, waits, "the command to wait for the page's row")
    with pytest.raises(Stale):
        await taking
    assert row_of(daemon_connection, dispute.page)["markdown"] == "green\n"
    assert lives(daemon_connection, dispute.sibling)
    assert resolution(daemon_connection, dispute) is None


def test_a_settled_conflict_is_not_settled_again(mirrord: Command, dispute: Dispute) -> None:
    assert mirrord("conflicts", "take-row", dispute.said).code == 0
    for command in ("show", "take-file", "take-row"):
        result = mirrord("conflicts", command, dispute.said)
        assert result.code == 2
        assert "no open conflict" in result.err


def test_an_app_that_deletes_the_sibling_settles_it_and_restoring_it_opens_it_again(
    dispute: Dispute, daemon_connection: Connection, app_connection: Connection
) -> None:
    delete(app_connection, dispute.sibling)
    assert resolution(daemon_connection, dispute) == "sibling-deleted"
    change(app_connection, dispute.sibling, deleted_at=None)
    assert resolution(daemon_connection, dispute) is None


def test_a_sibling_with_a_name_of_its_own_is_a_page_of_its_own(dispute: Dispute, daemon_connection: Connection) -> None:
    change(daemon_connection, dispute.sibling, name=NAME + " (2)")
    assert resolution(daemon_connection, dispute) is None
    change(daemon_connection, dispute.sibling, name="Red")
    assert resolution(daemon_connection, dispute) == "sibling-renamed"
    assert lives(daemon_connection, dispute.sibling)


def test_a_page_that_got_the_files_text_by_hand_is_settled(
    dispute: Dispute, daemon_connection: Connection, app_connection: Connection
) -> None:
    change(app_connection, dispute.page, markdown=FILE)
    assert resolution(daemon_connection, dispute) == "same-text"
    assert lives(daemon_connection, dispute.sibling)


def test_an_attachment_has_conflicts_too(mirrord: Command, daemon_connection: Connection, tmp_path: Path) -> None:
    disputed = disputed_attachment(daemon_connection)
    result = mirrord("conflicts", "show", disputed.said)
    assert "3 bytes" in result.out
    assert mirrord("conflicts", "take-file", disputed.said).code == 0
    row = row_of(daemon_connection, disputed.page, "attachment")
    assert (row["digest"], row["size"], row["version"]) == (digest_of(b"red"), 3, 2)
    assert not lives(daemon_connection, disputed.sibling, "attachment")

    other = disputed_attachment(daemon_connection, "b")
    merged = tmp_path / "merged.png"
    merged.write_bytes(b"violet")
    assert mirrord("conflicts", "take-merged", other.said, str(merged)).code == 0
    row = row_of(daemon_connection, other.page, "attachment")
    assert (row["digest"], row["size"], row["media_type"]) == (digest_of(b"violet"), 6, "image/png")
    stored = value(daemon_connection, "SELECT bytes FROM mirrord.blob WHERE digest = %s", digest_of(b"violet"))
    assert bytes(stored) == b"violet"

    last = disputed_attachment(daemon_connection, "c")
    change(daemon_connection, last.page, "attachment", digest=digest_of(b"blue, later"), size=11)
    assert mirrord("conflicts", "take-file", last.said).code == 4
    assert mirrord("conflicts", "take-row", last.said).code == 0
    assert row_of(daemon_connection, last.page, "attachment")["digest"] == digest_of(b"blue, later")


def test_an_attachment_that_got_the_files_bytes_is_settled(daemon_connection: Connection) -> None:
    disputed = disputed_attachment(daemon_connection)
    change(daemon_connection, disputed.page, "attachment", digest=digest_of(b"red"))
    assert resolution(daemon_connection, disputed) == "same-text"


def test_options_of_a_subcommand_follow_it(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["conflicts", "--tenant", "demo", "show", "1"]
    assert cli.main(arguments, prog_name="mirrord", standalone_mode=False) == 2
    assert "after the subcommand" in capsys.readouterr().err


def disputed_attachment(daemon: Connection, stem: str = "a") -> Dispute:
    sibling_name = f"{stem} (conflict 2026-01-02 030405Z abcdef).png"
    row, file = digest_of(b"blue"), digest_of(b"red")
    page = add(daemon, "attachment", name=f"{stem}.png", name_key=f"{stem}.png", digest=row, size=4)
    sibling = add(daemon, "attachment", name=sibling_name, name_key=sibling_name, digest=file, size=3)
    number = value(
        daemon,
        "INSERT INTO mirrord.conflict (tenant_id, mirror_id, entry_id, sibling_id, path, kind, file_digest, "
        "row_digest, row_version) VALUES (mirrord.current_tenant(), gen_random_uuid(), %s, %s, %s, 'attachment', "
        "%s, %s, 1) RETURNING id",
        page,
        sibling,
        f"assets/{stem}.png",
        file,
        row,
    )
    return Dispute(number, page, sibling)
