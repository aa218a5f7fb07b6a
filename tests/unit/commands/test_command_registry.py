"""Every command is found under its name, and loaded no sooner than it is used."""

import subprocess
import sys

from mirrord.commands.command_registry import COMMANDS
from mirrord.commands.core.command_plan import Command

LOADED = """
import sys
from mirrord.commands.command_registry import COMMANDS
assert COMMANDS["write_page"].name == "write_page" and "apply_changes" in COMMANDS
print(*sorted(module for module in sys.modules if module.startswith("mirrord.research.") or "changes" in module))
"""


def test_every_command_is_found_by_its_own_name() -> None:
    assert len(COMMANDS) == len({*COMMANDS}) > 20
    for name, command in COMMANDS.items():
        assert isinstance(command, Command)
        assert command.name == name


def test_a_write_loads_no_command_but_its_own() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True).stdout.split()
    assert not {name for name in loaded if name.endswith(("commands", "command", "survey_import", "file_imports"))}
