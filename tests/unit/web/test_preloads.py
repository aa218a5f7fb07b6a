"""Modules that pages of the console preload are those that exist."""

import re
from pathlib import Path

import pytest

import mirrord.web

WEB = Path(mirrord.web.__file__).parent
TEMPLATES = sorted((WEB / "templates").glob("*.html"))
LIST = re.compile(
    r"{% for name in \(([^)]+)\) %}\n<link rel=\"modulepreload\" href=\"{{ assets }}/([a-z/]*){{ name }}\.js\">"
)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: str(template.name))
def test_every_module_that_a_template_preloads_exists(template: Path) -> None:
    lists = LIST.findall(template.read_text(encoding="utf-8"))
    assert len(lists) == template.read_text(encoding="utf-8").count("{% for name in (")
    names = [f"{folder}{name}" for written, folder in lists for name in re.findall(r'"([^"]+)"', written)]

    assert [name for name in names if not (WEB / "static" / f"{name}.js").exists()] == []
