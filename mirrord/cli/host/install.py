"""`mirrord install-service`: write the systemd units."""

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from mirrord.cli.host.units import NAME, Layout, render_units
from mirrord.cli.options import as_options
from mirrord.config import Flags, load
from mirrord.domain.entry import digest_of
from mirrord.errors import Refused, UserError
from mirrord.mirror.process_setup import command_line

SYSTEM_UNITS_DIR = Path("/etc/systemd/system")
_MARK = "# Written by `mirrord install-service`; changes belong into `systemctl edit`. Digest "


@dataclass(frozen=True, slots=True)
class _InstallOptions:
    """What `mirrord install-service` takes. file: the configuration. into: directory of the units."""

    for_user: bool | None
    dry_run: bool
    force: bool
    mirror: Path | None
    data: Path | None
    backup: Path | None
    file: Path | None
    into: Path | None


@click.command("install-service")
@click.option("--user/--system", "for_user", default=None, help="Install for yourself, or for the machine (as root).")
@click.option("--dry-run", is_flag=True, help="Print the units and the next commands without writing.")
@click.option("--force", is_flag=True, help="Overwrite modified units.")
@click.option("--mirror", type=click.Path(path_type=Path), help="Directory with one tree for each tenant.")
@click.option("--data", type=click.Path(path_type=Path), help="Directory of the embedded Postgres.")
@click.option(
    "--backup", type=click.Path(path_type=Path), help="Directory of the nightly backups, best on another disk."
)
@click.option("--config", "file", type=click.Path(path_type=Path), help="TOML file that names the directories.")
@click.option("--into", type=click.Path(path_type=Path), help="Directory of the units; default: that of systemd.")
@as_options(_InstallOptions)
def install_service(options: _InstallOptions) -> None:
    """Write systemd units for the daemon. They run and watch it, and check and back up every night."""
    for_user = options.for_user
    if for_user is None:
        raise UserError("Say --user (it runs as you) or --system (it runs as the user mirrord).")
    layout = layout_of(Flags(options.mirror, options.data, file=options.file), options.backup, is_system=not for_user)
    user_directory = _home("XDG_CONFIG_HOME", ".config") / "systemd/user"
    directory = options.into or (user_directory if for_user else SYSTEM_UNITS_DIR)
    texts = {directory / name: _with_mark(text) for name, text in render_units(layout).items()}
    if options.dry_run:
        for path, text in texts.items():
            click.echo(f"# {path}\n{text}")
    else:
        _write_units(texts, force=options.force)
        click.echo("\n".join(f"wrote {path}" for path in texts))
    click.echo("\nNext:\n" + "\n".join(f"  {line}" for line in next_commands(layout)), err=options.dry_run)


def layout_of(flags: Flags, backup: Path | None, *, is_system: bool) -> Layout:
    """
    The installation that *flags* describe. Directories without a name are below the state of the machine or the user.

    Directories of a configuration file are written into the units: systemd has to open its sandbox for them.
    """
    configured = load(flags, {}) if flags.file is not None else None
    mirror = configured.mirror if configured else flags.mirror
    data = configured.data if configured else flags.data
    if not is_system:
        data = data or _home("XDG_STATE_HOME", ".local/state") / NAME
        mirror = mirror or data / "mirror"
        backup = backup or data / "backup"
    return Layout(is_system, command_line(), _absolute_text(mirror), _absolute_text(data), _absolute_text(backup))


def next_commands(layout: Layout) -> list[str]:
    """The commands to run after the units are written."""
    command = " ".join(layout.program)
    data = layout.data or f"/var/lib/{NAME}"
    enabled = f"{NAME}.service {NAME}-check.timer {NAME}-backup.timer"
    make_tenant = f"{command} init NAME --data '{data}' --mirror '{layout.mirror or f'{data}/mirror'}'"
    if not layout.is_system:
        return [
            "systemctl --user daemon-reload",
            make_tenant,
            f"systemctl --user enable --now {enabled}",
            "loginctl enable-linger    # so that it runs while you are not logged in",
        ]
    return [
        f"useradd --system --user-group --home-dir /var/lib/{NAME} --shell /usr/sbin/nologin {NAME}",
        f"install -d -o {NAME} -g {NAME} -m 0750 /var/lib/{NAME}"
        + "".join(f" '{path}'" for path in (layout.data, layout.mirror, layout.backup) if path),
        f"install -d -m 0700 /etc/credstore    # /etc/credstore/{NAME}.dsn: a DSN, unless Postgres is the embedded one",
        "systemctl daemon-reload",
        "# with a DSN: add it to the next command, too (--dsn)",
        f"runuser -u {NAME} -- {make_tenant}",
        f"systemctl enable --now {enabled}",
    ]


def _absolute_text(path: Path | None) -> str | None:
    return str(path.expanduser().absolute()) if path is not None else None


def _home(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default)


def _with_mark(text: str) -> str:
    """*text* with a first line by which a later `install-service` recognises changes."""
    return f"{_MARK}{_digest(text)}\n{text}"


def _digest(text: str) -> str:
    return digest_of(text.encode()).hex()[:32]


def _is_changed(text: str) -> bool:
    """Whether a unit differs from its text as written by mirrord."""
    first, _, body = text.partition("\n")
    return first != f"{_MARK}{_digest(body)}"


def _write_units(texts: Mapping[Path, str], *, force: bool) -> None:
    """Write all units or none. Raises Refused if changes would be lost, UserError if a file cannot be written."""
    try:
        for path, text in texts.items():
            if path.exists() and not force and _is_changed(current := path.read_text(encoding="utf-8")):
                changes = "\n".join(difflib.unified_diff(text.splitlines(), current.splitlines(), "new", "yours", n=0))
                raise Refused(
                    f"{path} was changed, and stays. Move your changes into `systemctl edit {path.name}` and run this "
                    f"again, or overwrite it with --force:\n{changes}"
                )
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.new")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
    except OSError as error:
        raise UserError(f"{error.filename} cannot be written: {error.strerror}. As root, or with --user?") from error
