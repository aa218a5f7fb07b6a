"""Configuration: flags win over the environment, the environment over the TOML file. Unknown keys are errors."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrord.errors import UserError

DATA = Path("data")
FILE = Path("mirrord.toml")
DEFAULT_MODE = 0o700


@dataclass(frozen=True, slots=True)
class Config:
    """
    What an installation chooses.

    mirror: the directory that holds one tree a tenant. data: where embedded Postgres and logs live.
    dsn: a libpq string or URL; None: embedded Postgres. tenants: names to mirror; empty: all there are.
    mode: of the roots mirrord makes.
    """

    mirror: Path
    data: Path
    dsn: str | None = None
    tenants: tuple[str, ...] = ()
    mode: int = DEFAULT_MODE


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line said. None, empty: nothing."""

    mirror: Path | None = None
    data: Path | None = None
    dsn: str | None = None
    tenants: tuple[str, ...] = ()
    file: Path | None = None


def load(flags: Flags, environment: Mapping[str, str] = os.environ) -> Config:
    """Put flags, environment and file together. Raises UserError that names the wrong key or file."""
    written = _read(flags.file or _path(environment.get("MIRRORD_CONFIG")))
    tree = written.get("mirror", {})
    data = flags.data or _path(environment.get("MIRRORD_DATA")) or _path(written.get("data")) or DATA
    mirror = flags.mirror or _path(environment.get("MIRROR_DIR")) or _path(tree.get("dir")) or data / "mirror"
    tenant = environment.get("TENANT_ID")
    return Config(
        mirror=mirror.absolute(),
        data=data.absolute(),
        dsn=flags.dsn or environment.get("MIRRORD_DSN") or written.get("dsn"),
        tenants=flags.tenants or ((tenant,) if tenant else tuple(written.get("tenants", ()))),
        mode=_mode(tree.get("mode")),
    )


def _read(file: Path | None) -> dict[str, Any]:
    if file is None:
        if not FILE.is_file():
            return {}
        file = FILE
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The configuration {file} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The configuration {file} is not TOML: {error}.") from error
    _check(file, written)
    return written


_KEYS: dict[str, type | dict[str, type]] = {
    "dsn": str,
    "data": str,
    "tenants": list,
    "mirror": {"dir": str, "mode": str},
}


def _check(file: Path, written: Mapping[str, Any]) -> None:
    for key, value in written.items():
        wanted = _KEYS.get(key)
        inner = {key: value} if not isinstance(wanted, dict) else value
        types = {key: wanted} if not isinstance(wanted, dict) else wanted
        if wanted is None or (isinstance(wanted, dict) and not isinstance(value, dict)):
            raise UserError(f"{file}: the key {key!r} is unknown; there are {', '.join(_KEYS)}.")
        for name, content in inner.items():
            if name not in types:
                raise UserError(f"{file}: [{key}] has no key {name!r}; there are {', '.join(types)}.")
            expected = types[name]
            if isinstance(expected, type) and not isinstance(content, expected):
                raise UserError(f"{file}: {name!r} must be a {expected.__name__}.")


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _mode(text: str | None) -> int:
    if text is None:
        return DEFAULT_MODE
    try:
        return int(text, 8)
    except ValueError:
        raise UserError(f'mirror.mode is {text!r}; write an octal number as text, for instance "2770".') from None
