"""The TOML file of the configuration: reads it, and refuses unknown keys and values of wrong types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mirrord.domain.write_rules import FOLDERS_KEY
from mirrord.errors import UserError

_ANY_KEY = "*"  # every other key, with text
_ANY_VALUE = object  # checked when it is read
ExpectedType = type | dict[str, Any]  # a table's keys; an empty table: every key, with text

_KEYS: dict[str, ExpectedType] = {
    "dsn": str,
    "data": str,
    "tenants": list,
    "notify": str,
    "mirror": {"dir": str, "mode": str, "attachments": list},
    "markdown": {"dialect": str, "content_loss": str},
    "sources_dir": str,
    "backup": str,
    "metrics": str,
    "processes": _ANY_VALUE,
    "pool": str,
    "listen_dsn": str,
    "history": {"keep": str, "newest": _ANY_VALUE, "tenants": {}},
    "links": {"rewrite": str},
    "console": {
        "serve": bool,
        "port": int,
        "hosts": list,
        "accounts": {"url": str, "client": str, "origin": str, "claim": str, "secret_file": str},
    },
    "mcp": {
        "token_file": str,
        "local_trust": bool,
        "attach_from": list,
        "tools": list,
        "elicitation": bool,
        "answers": str,
        "oauth": str,
        "client_documents": bool,
        "issuer": {"url": str, "resource": str, "claim": str, "keys": str, "people": {}},
        "trust": {FOLDERS_KEY: {}, _ANY_KEY: str},
        "limits": {"pending": int, "calls": int, "mutations": int},
    },
}


def read_config_file(file: Path | None) -> dict[str, Any]:
    """Read the file and check its keys; None: nothing is set."""
    if file is None:
        return {}
    import tomllib  # noqa: PLC0415  (the server for agents mostly starts without a file)

    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The configuration {file} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The configuration {file} is not TOML: {error}.") from error
    _check_keys(file, written)
    return written


def _check_keys(file: Path, written: Mapping[str, Any]) -> None:
    for key, value in written.items():
        expected = _KEYS.get(key)
        if expected is None:
            raise UserError(f"{file}: the key {key!r} is unknown; there are {', '.join(_KEYS)}.")
        _check_key(file, key, key, value, expected)


def _check_key(file: Path, table: str, key: str, value: Any, expected: ExpectedType) -> None:
    if isinstance(expected, dict):
        _check_table(file, table, value, expected)
    else:
        _check_value(file, key, value, expected)


def _check_table(file: Path, table: str, written: Any, expected: Mapping[str, ExpectedType]) -> None:
    if not isinstance(written, dict):
        raise UserError(
            f"{file}: {table!r} must be a table, [{table}], with {', '.join(expected) or 'names and texts'}."
        )
    for key, value in written.items():
        if expected and key not in expected and _ANY_KEY not in expected:
            raise UserError(f"{file}: [{table}] has no key {key!r}; there are {', '.join(expected)}.")
        _check_key(file, f"{table}.{key}", key, value, expected.get(key, str))


def _check_value(file: Path, key: str, value: Any, expected: type) -> None:
    if expected is str and not isinstance(value, str):
        raise UserError(f"{file}: {key!r} must be text, in quotes.")
    if expected is bool and not isinstance(value, bool):
        raise UserError(f"{file}: {key!r} must be true or false.")
    if expected is int and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise UserError(f"{file}: {key!r} must be a whole number; 0 is no limit.")
    if expected is list and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise UserError(f"{file}: {key!r} must be a list of texts.")
