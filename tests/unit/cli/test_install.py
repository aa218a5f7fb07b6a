"""`mirrord install-service`: what it writes where, and what it leaves alone."""

from pathlib import Path

import pytest

from mirrord.cli.host.install import install_service, next_commands
from mirrord.cli.host.units import BACKUP, BACKUP_TIMER, CHECK, SERVICE, TIMER, Layout
from mirrord.errors import Refused, UserError


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "units"


def install(into: Path, *arguments: str) -> None:
    install_service.main(["--into", str(into), *arguments], standalone_mode=False)


def test_all_units_are_written_and_the_next_commands_said(into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(into, "--system")
    assert {file.name for file in into.iterdir()} == {SERVICE, CHECK, TIMER, BACKUP, BACKUP_TIMER}
    output = capsys.readouterr().out
    assert f"wrote {into / SERVICE}" in output
    assert "systemctl enable --now mirrord.service mirrord-check.timer mirrord-backup.timer" in output
    assert "init NAME --data '/var/lib/mirrord' --mirror '/var/lib/mirrord/mirror'" in output


def test_a_dry_run_writes_nothing(into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(into, "--system", "--dry-run")
    assert not into.exists()
    assert "\n[Service]\nType=notify\n" in capsys.readouterr().out


def test_a_person_gets_directories_of_their_own(
    into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    install(into, "--user")
    text = (into / SERVICE).read_text(encoding="utf-8")
    assert f"Environment=MIRRORD_DATA={tmp_path}/mirrord\nEnvironment=MIRROR_DIR={tmp_path}/mirrord/mirror\n" in text
    assert "User=" not in text
    assert "ProtectSystem=" not in text  # a manager of one person's may not
    assert f"--data '{tmp_path}/mirrord'" in capsys.readouterr().out


def test_directories_of_a_configuration_file_are_opened_for_the_service(into: Path, tmp_path: Path) -> None:
    file = tmp_path / "mirrord.toml"
    file.write_text('data = "/srv/data"\n[mirror]\ndir = "/srv/tree"\n', encoding="utf-8")
    install(into, "--system", "--config", str(file))
    text = (into / SERVICE).read_text(encoding="utf-8")
    assert "ReadWritePaths=/srv/tree\nReadWritePaths=/srv/data\n" in text


def test_backups_go_where_the_operator_says_at_night_and_from_the_console(into: Path) -> None:
    install(into, "--system", "--backup", "/srv/of many $ nights")
    text = (into / BACKUP).read_text(encoding="utf-8")
    assert ' backup create "/srv/of many $$ nights" --keep 14 --wait 3600\n' in text
    for unit, writable in ((BACKUP, "/srv/of many $ nights"), (SERVICE, "-/srv/of many $ nights"), (CHECK, None)):
        text = (into / unit).read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line.startswith("ReadWritePaths=") and "nights" in line]
        assert lines == ([f'ReadWritePaths="{writable}"'] if writable else [])
        assert 'Environment="MIRRORD_BACKUP=/srv/of many $ nights"\n' in text
    listed = next_commands(Layout(True, backup="/srv/backup"))
    assert "install -d -o mirrord -g mirrord -m 0750 /var/lib/mirrord '/srv/backup'" in listed


def test_a_daemon_starts_while_the_disk_of_its_backups_is_away(into: Path) -> None:
    install(into, "--system", "--backup", "/home/ada/backup")
    text = (into / SERVICE).read_text(encoding="utf-8")
    assert "ReadWritePaths=-/home/ada/backup\n" in text
    assert "ProtectHome=read-only\n" in text


def test_units_that_nobody_changed_are_renewed(into: Path) -> None:
    install(into, "--system", "--mirror", "/srv/old")
    install(into, "--system", "--mirror", "/srv/new")
    assert "MIRROR_DIR=/srv/new" in (into / SERVICE).read_text(encoding="utf-8")


def test_a_unit_that_somebody_changed_stays_and_so_do_the_others(into: Path) -> None:
    install(into, "--system")
    (into / TIMER).write_text((into / TIMER).read_text().replace("03:30", "04:00"), encoding="utf-8")
    with pytest.raises(Refused, match=r"(?s)was changed, and stays.*\+OnCalendar=\*-\*-\* 04:00"):
        install(into, "--system", "--mirror", "/srv/new")
    assert "/srv/new" not in (into / SERVICE).read_text()
    assert "04:00" in (into / TIMER).read_text()


def test_a_unit_that_mirrord_did_not_write_stays(into: Path) -> None:
    into.mkdir()
    (into / SERVICE).write_text("[Service]\nExecStart=/bin/true\n", encoding="utf-8")
    with pytest.raises(Refused, match="was changed"):
        install(into, "--user")


def test_force_overwrites(into: Path) -> None:
    into.mkdir()
    (into / SERVICE).write_text("mine", encoding="utf-8")
    install(into, "--user", "--force")
    assert "Type=notify" in (into / SERVICE).read_text(encoding="utf-8")


def test_somebody_has_to_say_for_whom(into: Path) -> None:
    with pytest.raises(UserError, match=r"--user .* or --system"):
        install(into)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        install(tmp_path / "file", "--system")


def test_directories_elsewhere_are_made_before_the_first_start() -> None:
    listed = next_commands(Layout(True, ("/opt/mirrord",), mirror="/srv/tree", data="/srv/data"))
    assert "install -d -o mirrord -g mirrord -m 0750 /var/lib/mirrord '/srv/data' '/srv/tree'" in listed
    assert "runuser -u mirrord -- /opt/mirrord init NAME --data '/srv/data' --mirror '/srv/tree'" in listed
