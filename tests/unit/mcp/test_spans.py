"""Spans of OpenTelemetry are made for each message where the process has a provider, and not otherwise."""

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import sys
from pathlib import Path
from opentelemetry import trace
from mirrord.mcp.server import assemble_server
from mirrord.mcp.callers import Callers
from tests.support.clients import tenant_in

if sys.argv[2] == "with":
    trace.set_tracer_provider(trace.NoOpTracerProvider())
server = assemble_server(tenant_in(Path(sys.argv[1])), Callers())
print([type(layer).__name__ for layer in server._lowlevel_server.middleware].count("OpenTelemetryMiddleware"))
"""


@pytest.mark.parametrize(("provider", "count"), [("with", "1"), ("without", "0")])
def test_a_message_makes_a_span_only_for_a_provider(tmp_path: Path, provider: str, count: str) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / "mirror"), provider]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == count
