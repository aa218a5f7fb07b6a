"""The console's modules are sent as one script only while it was built from them."""

from pathlib import Path

import pytest

from mirrord.web.own_files import assets


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of own files with a module and the script that was built from it."""
    module, directory = tmp_path / "page" / "page.js", tmp_path / "built"
    for parent in (module.parent, directory):
        parent.mkdir()
    module.write_text("export {};\n")
    (directory / "console.js").write_text("// all of them\n")
    monkeypatch.setattr(assets, "STATIC_DIRECTORY", tmp_path)
    monkeypatch.setattr(assets, "BUILT_DIRECTORY", directory)
    (directory / "console.sha256").write_text(assets.digest_of_modules([module]))
    return tmp_path


def test_a_script_that_has_all_modules_is_sent(built: Path) -> None:
    assert assets.has_console_script()


def test_a_script_is_not_sent_once_one_of_its_modules_was_changed_or_added(built: Path) -> None:
    module = built / "page" / "page.js"
    before = module.read_text()
    module.write_text("export const more = 1;\n")
    assert not assets.has_console_script()
    module.write_text(before)
    assert assets.has_console_script()
    (built / "page" / "more.js").write_text("export {};\n")
    assert not assets.has_console_script()


@pytest.mark.parametrize("name", ["console.js", "console.sha256"])
def test_without_the_script_or_its_digest_the_modules_are_sent(built: Path, name: str) -> None:
    (built / "built" / name).unlink()
    assert not assets.has_console_script()
