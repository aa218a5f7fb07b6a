"""Flags win over the environment, the environment over the file."""

from pathlib import Path

import pytest

from mirrord.auth.issuer.issuer_settings import Issuer
from mirrord.config import Agents, Config, Console, Flags, load
from mirrord.config_settings import DEFAULT_MODE
from mirrord.domain.answer_form import AnswerForm
from mirrord.domain.trust import Limits, Trust
from mirrord.errors import UserError

FILE = """
dsn = "host=file"
data = "file-data"
tenants = ["one", "two"]
[mirror]
dir = "file-tree"
mode = "2770"
"""
ENVIRONMENT = {
    "MIRRORD_DSN": "host=environment",
    "MIRRORD_DATA": "environment-data",
    "MIRROR_DIR": "environment-tree",
    "TENANT_ID": "three",
}


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text: str, name: str = "mirrord.toml") -> Path:
    file = Path(name)
    file.write_text(text, encoding="utf-8")
    return file


def test_an_operator_may_raise_levels_and_set_limits_and_what_is_wrong_is_said() -> None:
    write('[mcp]\nelicitation = true\n[mcp.trust]\nwrite_page = "require"\n[mcp.limits]\npending = 0\n')
    agents = load(Flags(), {}).agents
    assert agents.trust["write_page"] is Trust.REQUIRE
    assert agents.limits == Limits(pending=0)
    assert agents.elicitation
    for text, words in {
        '[mcp.trust]\ndelete_source = "NOTIFY"': "cannot be lowered below SUGGEST",
        '[mcp.trust]\nno_such_tool = "NOTIFY"': "no tool 'no_such_tool'",
        "[mcp.trust]\nwrite_page = 3": "must be text",
        "[mcp.limits]\npending = -1": "whole number",
        "[mcp.limits]\nparallel = 1": r"\[mcp.limits\] has no key 'parallel'",
        "[mcp]\nlimits = 1": "must be a table",
    }.items():
        write(text)
        with pytest.raises(UserError, match=words):
            load(Flags(), {})


def test_without_a_word_everything_is_below_data(working_directory: Path) -> None:
    assert load(Flags(), {}) == Config(
        working_directory / "data/mirror", working_directory / "data", None, (), DEFAULT_MODE
    )


def test_the_file_in_the_working_directory_is_read(working_directory: Path) -> None:
    write(FILE)
    assert load(Flags(), {}) == Config(
        working_directory / "file-tree", working_directory / "file-data", "host=file", ("one", "two"), 0o2770
    )


def test_the_environment_wins_over_the_file(working_directory: Path) -> None:
    write(FILE)
    expected = Config(
        working_directory / "environment-tree",
        working_directory / "environment-data",
        "host=environment",
        ("three",),
        0o2770,
    )
    assert load(Flags(), ENVIRONMENT) == expected


def test_flags_win_over_the_environment(working_directory: Path) -> None:
    write(FILE)
    flags = Flags(mirror=Path("tree"), data=Path("/d"), dsn="host=flag", tenants=("four",))
    assert load(flags, ENVIRONMENT) == Config(working_directory / "tree", Path("/d"), "host=flag", ("four",), 0o2770)


def test_a_dsn_on_the_command_line_needs_no_other_one_to_listen() -> None:
    write('dsn = "host=pooler"\nlisten_dsn = "host=file"')
    assert load(Flags(), {}).listen_dsn == "host=file"
    assert load(Flags(), {"MIRRORD_LISTEN_DSN": "host=environment"}).listen_dsn == "host=environment"
    assert load(Flags(dsn="host=flag"), {"MIRRORD_LISTEN_DSN": "host=environment"}).listen_dsn is None


def test_each_setting_wins_by_itself(working_directory: Path) -> None:
    write(FILE)
    config = load(Flags(dsn="host=flag"), {"MIRROR_DIR": "environment-tree"})
    assert (config.dsn, config.mirror, config.data) == (
        "host=flag",
        working_directory / "environment-tree",
        working_directory / "file-data",
    )


def test_the_tree_follows_the_data_directory(working_directory: Path) -> None:
    assert load(Flags(data=Path("elsewhere")), {}).mirror == working_directory / "elsewhere/mirror"


def test_a_named_file_replaces_the_one_in_the_working_directory() -> None:
    write(FILE)
    other = write('dsn = "host=other"', "other.toml")
    assert load(Flags(file=other), {"MIRRORD_CONFIG": "mirrord.toml"}).dsn == "host=other"
    assert load(Flags(), {"MIRRORD_CONFIG": "other.toml"}).dsn == "host=other"


def test_a_tilde_is_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    write('[mirror]\ndir = "~/notes"')
    assert load(Flags(), {}).mirror == Path("/home/somebody/notes")


@pytest.mark.parametrize("empty", ["MIRRORD_DSN", "MIRRORD_DATA", "MIRROR_DIR", "TENANT_ID", "MIRRORD_CONFIG"])
def test_an_empty_variable_says_nothing(empty: str) -> None:
    assert load(Flags(), {empty: ""}) == load(Flags(), {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dns = 'x'", "'dns' is unknown; there are dsn, data, tenants, notify, mirror"),
        ("[mirror]\npath = 'x'", "[mirror] has no key 'path'; there are dir, mode"),
        ("mirror = 'x'", "'mirror' must be a table"),
        ("dsn = 5", "'dsn' must be text"),
        ("tenants = 'one'", "'tenants' must be a list of texts"),
        ("tenants = [1]", "'tenants' must be a list of texts"),
        ("[mirror]\nmode = 0o700", "'mode' must be text"),
        ("[markdown]\ncontent_loss = 'drop'", "`markdown.content_loss` is one of"),
        ("[mirror]\nmode = '9'", "mirror.mode is '9'"),
        ("[mirror]\nmode = '70000'", "mirror.mode is '70000'"),
        ("[mirror]\nmode = '-700'", "mirror.mode is '-700'"),
        ("[mirror]\nmode = ''", "mirror.mode is ''"),
        ("[mirror]\nattachments = '*.png'", "'attachments' must be a list of texts"),
        ("[mirror]\nattachments = ['*.png', '!']", "mirror.attachments has '!'"),
        ("[mirror]\nattachments = ['']", "mirror.attachments has ''"),
        ("[mirror]\nattachments = ['# png']", "mirror.attachments has '# png'"),
        ("processes = 0", "processes is 0; write a whole number from 1 to 10"),
        ("processes = -1", "processes is -1;"),
        ("processes = true", "processes is True;"),
        ("processes = 1.5", "processes is 1.5;"),
        ("processes = 'many'", "processes is 'many';"),
        ("processes = 11", "processes is 11;"),
        ("processes = []", "processes is [];"),
        ("pool = 'My pool'", "pool is 'My pool'; use a-z"),
        ("pool = 1", "'pool' must be text"),
        ("notify = 'often'", "notify is 'often'; there are"),
        ("dsn = ", "is not TOML"),
    ],
)
def test_a_wrong_setting_is_named_in_a_sentence(text: str, sentence: str) -> None:
    file = write(text)
    with pytest.raises(UserError) as raised:
        load(Flags(), {})
    assert sentence in str(raised.value)
    assert any(
        name in str(raised.value)
        for name in (str(file), "mirror.mode", "mirror.attachments", "markdown", "notify", "processes", "pool")
    )


def test_attachments_are_those_of_assets_and_of_the_vault_unless_they_are_listed() -> None:
    assert load(Flags(), {}).attachments == ("assets/", ".obsidian")
    write("[mirror]\nattachments = ['assets/', '*.png', '!x.png', 'Files/']")
    assert load(Flags(), {}).attachments == ("assets/", "*.png", "!x.png", "Files/")


def test_a_file_that_is_not_text_is_named() -> None:
    Path("mirrord.toml").write_bytes(b"dsn = '\xff'")
    with pytest.raises(UserError, match=r"mirrord\.toml is not TOML"):
        load(Flags(), {})


def test_a_named_file_that_is_missing_is_an_error() -> None:
    with pytest.raises(UserError, match=r"none\.toml cannot be read"):
        load(Flags(file=Path("none.toml")), {})


def test_sources_can_be_in_another_directory() -> None:
    write('sources_dir = "/Research/Material/"')
    assert load(Flags(), {}).sources_dir == "Research/Material"


def test_backups_are_below_the_data_unless_they_are_put_elsewhere() -> None:
    assert load(Flags(data=Path("/srv/data")), {}).backup_directory == Path("/srv/data/backup")
    write('backup = "/srv/written"')
    assert load(Flags(), {}).backup_directory == Path("/srv/written")
    assert load(Flags(), {"MIRRORD_BACKUP": "/srv/named"}).backup_directory == Path("/srv/named")


@pytest.mark.parametrize("text", ["", "/", "a//b", "../x", ".hidden", "a/assets"])
def test_sources_cannot_be_where_no_pages_are(text: str) -> None:
    write(f"sources_dir = {text!r}")
    with pytest.raises(UserError, match="sources_dir is"):
        load(Flags(), {})


def test_an_empty_dsn_means_the_embedded_postgres() -> None:
    write('dsn = ""')
    assert load(Flags(), {}).dsn is None


def test_the_server_for_agents_has_a_table_of_its_own(working_directory: Path) -> None:
    write('[mcp]\ntoken_file = "token"\nlocal_trust = false\nattach_from = ["pictures"]\n')
    assert load(Flags(), {}).agents == Agents(None, Path("token"), False, (working_directory / "pictures",))


def test_people_let_clients_in_where_the_flag_or_the_file_says_so() -> None:
    assert load(Flags(), {}).agents.oauth is None
    write('[mcp]\noauth = "https://pages.example"\n')
    assert load(Flags(), {}).agents.oauth == "https://pages.example"
    assert load(Flags(oauth=""), {}).agents.oauth == ""


def test_documents_of_clients_are_fetched_only_where_the_file_says_so() -> None:
    assert load(Flags(), {}).agents.client_documents is False
    write("[mcp]\nclient_documents = true\n")
    assert load(Flags(), {}).agents.client_documents is True


def test_people_sign_in_at_the_issuer_that_the_file_names() -> None:
    table = '[mcp.issuer]\nurl = "https://login.example"\nresource = "https://pages.example"\n'
    write(table + 'claim = "email"\n[mcp.issuer.people]\n"ada@example.com" = "write"\n')
    issuer = Issuer("https://login.example", "https://pages.example", {"ada@example.com": "write"}, "email")
    assert load(Flags(), {}).agents.issuer == issuer
    write(table)
    with pytest.raises(UserError, match="lacks 'people'"):
        load(Flags(), {})
    write(table + '[mcp.issuer.people]\n"ada@example.com" = "own"\n')
    with pytest.raises(UserError, match="there are read, review, write"):
        load(Flags(), {})


def test_answers_have_the_form_that_the_file_says() -> None:
    assert load(Flags(), {}).agents.answers is AnswerForm.BOTH
    write('[mcp]\nanswers = "text"\n')
    assert load(Flags(), {}).agents.answers is AnswerForm.TEXT
    write('[mcp]\nanswers = "html"\n')
    with pytest.raises(UserError, match=r"mcp\.answers is 'html'; there are both, structured, text"):
        load(Flags(), {})


def test_a_token_comes_from_the_environment_only() -> None:
    agents = load(Flags(), {"MIRRORD_TOKEN": "text", "MIRRORD_TOKEN_FILE": "elsewhere"}).agents
    assert (agents.token, agents.token_file) == ("text", Path("elsewhere"))


def test_local_trust_is_true_or_false() -> None:
    with pytest.raises(UserError, match="must be true or false"):
        load(Flags(file=write('[mcp]\nlocal_trust = "yes"\n')), {})


@pytest.fixture
def credentials(working_directory: Path) -> dict[str, str]:
    """An environment in which a service manager hands over secrets."""
    handed = working_directory / "credentials"
    handed.mkdir()
    for name, text in (("dsn", "host=secret password=x\n"), ("token", "t\n"), ("signing.pem", "a key\n")):
        (handed / name).write_text(text, encoding="utf-8")
    return {"CREDENTIALS_DIRECTORY": str(handed)}


def test_secrets_that_a_service_manager_hands_over_win_over_the_file(
    working_directory: Path, credentials: dict[str, str]
) -> None:
    write('dsn = "host=file"\n[mcp]\ntoken_file = "elsewhere"')
    config = load(Flags(), credentials)
    assert config.dsn == "host=secret password=x"
    assert config.agents.token_file == working_directory / "credentials/token"
    assert config.signing == working_directory / "credentials/signing.pem"


def test_the_environment_wins_over_secrets_handed_over(working_directory: Path, credentials: dict[str, str]) -> None:
    config = load(Flags(), {**credentials, **ENVIRONMENT, "MIRRORD_TOKEN_FILE": "mine"})
    assert (config.dsn, config.agents.token_file) == ("host=environment", Path("mine"))


def test_secrets_that_are_not_handed_over_are_looked_for_elsewhere(working_directory: Path) -> None:
    write('dsn = "host=file"')
    config = load(Flags(), {"CREDENTIALS_DIRECTORY": str(working_directory / "nothing")})
    assert (config.dsn, config.agents.token_file, config.signing) == ("host=file", None, None)


def test_a_secret_that_cannot_be_read_is_no_empty_one(working_directory: Path, credentials: dict[str, str]) -> None:
    (working_directory / "credentials/dsn").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"credential .*dsn cannot be read"):
        load(Flags(), credentials)


def test_the_sets_of_tools_are_those_of_pages_unless_file_or_flags_say_others() -> None:
    assert load(Flags(), {}).agents.tools == ("pages",)
    file = write('[mcp]\ntools = ["pages", "collections"]\n')
    assert load(Flags(file=file), {}).agents.tools == ("pages", "collections")
    assert load(Flags(file=file, tools=("all",)), {}).agents.tools == ("all",)
    with pytest.raises(UserError, match="must be a list of texts"):
        load(Flags(file=write('[mcp]\ntools = "pages"\n')), {})


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("127.8.0.1:1", ("127.8.0.1", 1)),
        ("localhost:9464", ("127.0.0.1", 9464)),
        ("[::1]:9464", ("::1", 9464)),
        ("unix:/run/mirrord/metrics", "/run/mirrord/metrics"),
    ],
)
def test_measurements_are_served_on_this_machine(text: str, endpoint: object) -> None:
    write(f'metrics = "{text}"')
    assert load(Flags(), {}).metrics == endpoint


@pytest.mark.parametrize(
    "text",
    [
        *("0.0.0.0:9464", "192.168.1.2:9464", "example.org:9464", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536"),
        *("127.0.0.1:²", "127.0.0.1.example.org:9464", ":9464", "9464", "unix:metrics", "unix:", "", "[::]:9464"),
    ],
)
def test_measurements_are_served_nowhere_else(text: str) -> None:
    write(f'metrics = "{text}"')
    with pytest.raises(UserError, match="only loopback"):
        load(Flags(), {})


def test_without_a_word_no_measurements_are_served() -> None:
    assert load(Flags(), {}).metrics is None


def test_the_number_of_processes_is_one_unless_somebody_says_otherwise() -> None:
    assert (load(Flags(), {}).processes, load(Flags(), {}).pool) == (1, None)
    write("processes = 3\npool = 'notes-2'\n")
    assert (load(Flags(), {}).processes, load(Flags(), {}).pool) == (3, "notes-2")
    assert load(Flags(), {"MIRRORD_PROCESSES": "2"}).processes == 2
    assert 1 <= load(Flags(), {"MIRRORD_PROCESSES": "auto"}).processes <= 10
    with pytest.raises(UserError, match="processes is '0'"):
        load(Flags(), {"MIRRORD_PROCESSES": "0"})


def test_the_console_is_where_the_environment_or_the_file_says_and_what_is_wrong_is_said() -> None:
    write('[console]\nport = 8000\nhosts = ["notes.example"]\n')
    assert load(Flags(), {}).console == Console(None, 8000, ("notes.example",))
    assert load(Flags(), {"MIRRORD_CONSOLE": "off"}).console == Console(False, 8000, ("notes.example",))
    assert load(Flags(), {"MIRRORD_CONSOLE": "9000"}).console == Console(True, 9000, ("notes.example",))
    with pytest.raises(UserError, match="MIRRORD_CONSOLE"):
        load(Flags(), {"MIRRORD_CONSOLE": "yes"})
    for text, words in {
        "[console]\nport = 70000": "65535",
        "[console]\nport = true": "whole number",
        "[console]\nserve = 1": "true or false",
        "[console]\naddress = 1": "has no key 'address'",
    }.items():
        write(text)
        with pytest.raises(UserError, match=words):
            load(Flags(), {})
