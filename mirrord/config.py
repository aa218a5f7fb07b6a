"""
Configuration: flags win over the environment, the environment over the TOML file; unknown keys are errors.

Credentials from a service manager (`dsn`, `token`, `signing.pem`) come between environment and file.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrord.auth.issuer.issuer_settings import AccountIssuer, Issuer, parse_accounts, parse_issuer
from mirrord.config_file import read_config_file
from mirrord.config_settings import (
    DEFAULT_MODE,
    Notify,
    parse_answers,
    parse_attachments,
    parse_metrics,
    parse_mode,
    parse_notify,
    parse_pool,
    parse_processes,
    parse_sources_dir,
)
from mirrord.domain.answer_form import AnswerForm
from mirrord.domain.dialect import AUTOMATIC, Dialect, parse_dialect
from mirrord.domain.history_rule import HistoryRules, parse_history
from mirrord.domain.link_rule import LinkRule, parse_link_rule
from mirrord.domain.measures import Endpoint
from mirrord.domain.place import DEFAULT_ATTACHMENTS
from mirrord.domain.trust import DEFAULTS, Limits, Trust, trust_levels
from mirrord.domain.write_rules import FOLDERS_KEY, WRITE_KEY, WriteRules, parse_write_rules
from mirrord.errors import UserError
from mirrord.markdown.content_loss import ContentLoss, parse_content_loss
from mirrord.research.sources.source_kinds import DIRECTORY

DEFAULT_DATA = Path("data")
DEFAULT_FILE = Path("mirrord.toml")
DEFAULT_TOOLS = ("pages",)

CONSOLE_PORT = 7447  # on loopback


@dataclass(frozen=True, slots=True)
class Agents:
    """
    The options of the server for agents.

    token, token_file: the token that it presents, or the file with it. local_trust: serve every user who may start
    the process without a token; None: only beside an embedded Postgres. attach_from: directories below which files may
    be attached; None: the working directory, and the system's temporary directory. tools: names of the sets that are
    served. trust: levels of tools after an operator's changes. rules: where a person reviews changes. limits: of the
    calls of one token to one process. elicitation: whether a person may approve through the client, if it can ask.
    answers: the form of answers to clients that ask for no other. oauth: the public origin of a server over HTTP at
    which people let clients in; empty: where it listens; None: at no server. client_documents: whether that server
    fetches the documents of clients that are named by their URLs. issuer: of tokens of people who sign in elsewhere.
    """

    token: str | None = None
    token_file: Path | None = None
    local_trust: bool | None = None
    attach_from: tuple[Path, ...] | None = None
    tools: tuple[str, ...] = DEFAULT_TOOLS
    trust: Mapping[str, Trust] = field(default_factory=lambda: DEFAULTS)
    rules: WriteRules = field(default_factory=WriteRules)
    limits: Limits = field(default_factory=Limits)
    elicitation: bool = False
    answers: AnswerForm = AnswerForm.BOTH
    oauth: str | None = None
    client_documents: bool = False
    issuer: Issuer | None = None

    def rules_of(self, *, is_reviewed: bool) -> WriteRules:
        """The rules for a token. is_reviewed: it says that a person reviews what is written."""
        return self.rules.reviewing_all() if is_reviewed else self.rules


@dataclass(frozen=True, slots=True)
class Console:
    """
    The console in a browser.

    serve: whether `mirrord up` serves it; None: if it runs on a terminal. port: on loopback; 0: any free one.
    hosts: host names accepted besides those of loopback, without ports: behind a proxy, for instance.
    accounts: where people sign in besides by links; None: by links only.
    """

    serve: bool | None = None
    port: int = CONSOLE_PORT
    hosts: tuple[str, ...] = ()
    accounts: AccountIssuer | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """
    The configuration of an installation.

    mirror: the directory that holds one tree per tenant. data: the directory of embedded Postgres and logs.
    backup: of the backups that the console lists and makes; None: `backup` below data.
    dsn: a libpq string or URL; None: embedded Postgres. tenants: names to mirror; empty: all of the database.
    mode: of the roots that mirrord makes. notify: who sends notifications: "commit", every transaction; "ticker", a
    daemon, which makes many commits a second cheaper. attachments: patterns of files beside the pages that are
    attachments, and `.obsidian` for the setting of a vault; files below `assets` always are. sources_dir: the directory
    of a tree below which sources are. agents: for `mirrord mcp` only. signing: the private key of tokens; None: below
    data, made when it is needed. metrics: the endpoint of measurements; None: none. console: in a browser.
    processes: how many engine processes share the tenants; 1: the daemon is one process. pool: the name under which
    daemons on several hosts share the tenants; None: they do not. history: which versions keep their texts.
    listen_dsn: of Postgres itself, where dsn reaches a pooler of transactions; None: dsn is for all connections.
    links: which renames and moves links follow. dialect: of the pages; None: as each tree shows it.
    content_loss: what becomes of tables of apps that Markdown lacks.
    """

    mirror: Path
    data: Path
    dsn: str | None = None
    tenants: tuple[str, ...] = ()
    mode: int = DEFAULT_MODE
    notify: Notify = "commit"
    attachments: tuple[str, ...] = DEFAULT_ATTACHMENTS
    sources_dir: str = DIRECTORY
    agents: Agents = Agents()
    signing: Path | None = None
    metrics: Endpoint | None = None
    console: Console = Console()
    processes: int = 1
    pool: str | None = None
    history: HistoryRules = field(default_factory=HistoryRules)
    listen_dsn: str | None = None
    links: LinkRule = LinkRule.TOOLS
    dialect: Dialect | None = None
    content_loss: ContentLoss = ContentLoss.DEGRADE
    backup: Path | None = None

    @property
    def backup_directory(self) -> Path:
        """The directory of the backups that the console lists and makes."""
        return self.backup or self.data / "backup"

    def trusts_locally(self) -> bool:
        """Whether agents may work without a token."""
        if self.agents.local_trust is not None:
            return self.agents.local_trust
        return self.dsn is None and (self.data / "pg").is_dir()  # one person's own machine, Postgres embedded


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of the command line. None, empty: not given."""

    mirror: Path | None = None
    data: Path | None = None
    dsn: str | None = None
    tenants: tuple[str, ...] = ()
    file: Path | None = None
    tools: tuple[str, ...] = ()
    oauth: str | None = None


def load(flags: Flags, environment: Mapping[str, str] = os.environ) -> Config:
    """Combine flags, environment and file. Raises UserError that names the wrong key or file."""
    written = read_config_file(file_of(flags, environment))
    tree = written.get("mirror", {})
    data = flags.data or _to_path(environment.get("MIRRORD_DATA")) or _to_path(written.get("data")) or DEFAULT_DATA
    mirror = flags.mirror or _to_path(environment.get("MIRROR_DIR")) or _to_path(tree.get("dir")) or data / "mirror"
    tenant = environment.get("TENANT_ID")
    return Config(
        mirror=mirror.absolute(),
        data=data.absolute(),
        dsn=flags.dsn
        or environment.get("MIRRORD_DSN")
        or _read_secret("dsn", environment)
        or written.get("dsn")
        or None,
        tenants=flags.tenants or ((tenant,) if tenant else tuple(written.get("tenants", ()))),
        mode=parse_mode(tree.get("mode")),
        notify=parse_notify(written.get("notify", "commit")),
        attachments=parse_attachments(tree.get("attachments")),
        sources_dir=parse_sources_dir(written.get("sources_dir", DIRECTORY)),
        agents=_parse_agents(written.get("mcp", {}), environment, flags),
        signing=_credential_file("signing.pem", environment),
        metrics=parse_metrics(written.get("metrics")),
        console=_parse_console(written.get("console", {}), environment.get("MIRRORD_CONSOLE")),
        processes=parse_processes(environment.get("MIRRORD_PROCESSES") or written.get("processes", 1)),
        pool=parse_pool(written.get("pool")),
        history=parse_history(written.get("history", {})),
        listen_dsn=_listen_dsn_of(flags, environment, written),
        links=parse_link_rule(written.get("links", {}).get("rewrite", LinkRule.TOOLS)),
        dialect=parse_dialect(written.get("markdown", {}).get("dialect", AUTOMATIC)),
        content_loss=parse_content_loss(written.get("markdown", {}).get("content_loss", ContentLoss.DEGRADE.value)),
        backup=_absolute(_to_path(environment.get("MIRRORD_BACKUP")) or _to_path(written.get("backup"))),
    )


def file_of(flags: Flags, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The TOML file that load() reads; None: there is none."""
    named = flags.file or _to_path(environment.get("MIRRORD_CONFIG"))
    return named or (DEFAULT_FILE if DEFAULT_FILE.is_file() else None)


def _listen_dsn_of(flags: Flags, environment: Mapping[str, str], written: Mapping[str, Any]) -> str | None:
    """None: the DSN of *flags* does for all connections, or there is none."""
    return None if flags.dsn else environment.get("MIRRORD_LISTEN_DSN") or written.get("listen_dsn") or None


def _credential_file(name: str, environment: Mapping[str, str]) -> Path | None:
    """The file with a secret from a service manager; None: there is none."""
    directory = _to_path(environment.get("CREDENTIALS_DIRECTORY"))
    return directory / name if directory is not None and (directory / name).is_file() else None


def _read_secret(name: str, environment: Mapping[str, str]) -> str | None:
    file = _credential_file(name, environment)
    try:
        return file.read_text(encoding="utf-8").strip() if file is not None else None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The credential {file} cannot be read: {error}.") from error


def _parse_agents(written: Mapping[str, Any], environment: Mapping[str, str], flags: Flags) -> Agents:
    listed, trust = written.get("attach_from"), written.get("trust", {})
    return Agents(
        token=environment.get("MIRRORD_TOKEN") or None,
        token_file=_to_path(environment.get("MIRRORD_TOKEN_FILE"))
        or _credential_file("token", environment)
        or _to_path(written.get("token_file")),
        local_trust=written.get("local_trust"),
        attach_from=None if listed is None else tuple(Path(path).expanduser().absolute() for path in listed),
        tools=flags.tools or tuple(written.get("tools", DEFAULT_TOOLS)),
        trust=trust_levels({tool: level for tool, level in trust.items() if tool not in (WRITE_KEY, FOLDERS_KEY)}),
        rules=parse_write_rules(trust),
        limits=Limits(**written.get("limits", {})),
        elicitation=written.get("elicitation", False),
        answers=parse_answers(written.get("answers", AnswerForm.BOTH)),
        oauth=written.get("oauth") if flags.oauth is None else flags.oauth,
        client_documents=written.get("client_documents", False),
        issuer=parse_issuer(written["issuer"]) if "issuer" in written else None,
    )


def _to_path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.absolute()


def _parse_console(written: Mapping[str, Any], setting: str | None) -> Console:
    """The console's options. setting: of the environment, a port or "off"; None or empty: not set."""
    hosts = tuple(written.get("hosts", ()))
    serve, port = written.get("serve"), written.get("port", CONSOLE_PORT)
    if setting:
        if setting != "off" and not (setting.isascii() and setting.isdigit()):
            raise UserError(f'MIRRORD_CONSOLE is {setting!r}; it is a port, for instance {CONSOLE_PORT}, or "off".')
        serve, port = setting != "off", port if setting == "off" else int(setting)
    if port >= 1 << 16:
        raise UserError(f"The console's port is {port}; there are 65535.")
    return Console(serve, port, hosts, parse_accounts(written.get("accounts")))
