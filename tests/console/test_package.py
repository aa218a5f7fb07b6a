"""The npm package of the console's schema and saving: packed, installed in a project of its own, and used there."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import mirrord
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.schema.document import Document, Node, make_document
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from tests.console.bundle import run
from tests.support import node
from tests.support.tiptap import SOURCE
from tests.unit.codec.test_starterkit import EVERY_KIND

APP = Path(__file__).parent / "package_app.ts"
INSTALLATION = 150  # seconds
POLL: Node = {"type": "poll", "attrs": {"question": "When?"}}


def finished(directory: Path, *words: str) -> str:
    """What a command prints that ends well."""
    completed = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=INSTALLATION, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which the packed package and what it needs are installed."""
    node.installed(SOURCE)
    directory = tmp_path_factory.mktemp("app")
    run("build.js", "--package", str(directory / "built"))
    (file,) = json.loads(finished(directory / "built", "npm", "pack", "--json", "--pack-destination", str(directory)))
    (directory / "package.json").write_text('{"name": "app", "private": true, "type": "module"}')
    needed = json.loads((directory / "built" / "package.json").read_text(encoding="utf-8"))["peerDependencies"]
    packages = [f"{name}@{version.removeprefix('^')}" for name, version in needed.items()]
    packages += [f"./{file['filename']}", "@types/node@20.19.0"]
    options = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
    completed = subprocess.run(
        ["npm", "install", *options, *packages],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=INSTALLATION,
        check=False,
    )
    if completed.returncode and any(code in completed.stderr for code in ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT")):
        pytest.skip("the registry of npm is out of reach")
    assert completed.returncode == 0, completed.stderr
    shutil.copy(APP, directory / "app.ts")
    return directory


@pytest.fixture(scope="module")
def content() -> Document:
    """A page with every kind of node, and one of an app."""
    return make_document([*read_document(EVERY_KIND)["content"], POLL])


@pytest.fixture(scope="module")
def outcome(project: Path, content: Document) -> Any:
    """What the app saved."""
    finished(project, str(SOURCE / "node_modules" / ".bin" / "esbuild"), "app.ts", "--outfile=app.js", "--format=esm")
    return json.loads(finished(project, "node", "app.js", json.dumps(content)))


def meaning(document: Document) -> str:
    return fingerprint(normalize(document))


def test_the_package_is_of_this_version_and_holds_what_it_exports(project: Path) -> None:
    installed = project / "node_modules" / "@mirrord" / "tiptap"
    about = json.loads((installed / "package.json").read_text(encoding="utf-8"))

    assert about["version"] == mirrord.__version__
    assert all((installed / path).is_file() for path in about["exports"]["."].values())
    assert (installed / "LICENSE").is_file()


def test_an_app_is_checked_against_its_types(project: Path) -> None:
    options = [
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
        "--target",
        "es2022",
        "--skipLibCheck",
        "--types",
        "node",
    ]
    finished(project, str(SOURCE / "node_modules" / ".bin" / "tsc"), "--noEmit", "--strict", *options, "app.ts")


def test_a_page_that_is_opened_is_not_changed(outcome: Any) -> None:
    assert outcome["untouched"] is False


def test_a_key_is_saved_over_the_version_that_was_read_and_changes_nothing_else(
    outcome: Any, content: Document
) -> None:
    first = outcome["saved"][0]

    assert first["version"] == 7
    edited = json.loads(json.dumps(content).replace("About ", "xAbout ", 1))
    assert meaning(first["content"]) == meaning(edited)
    without = [block["type"] for block in first["content"]["content"] if not block["attrs"].get("id")]
    assert set(without) == {"poll"}


def test_what_changed_elsewhere_is_merged_and_saved_over_its_version(outcome: Any, content: Document) -> None:
    versions = [save["version"] for save in outcome["saved"]]
    last = json.dumps(outcome["saved"][-1]["content"])

    assert versions == [7, 8, 9]
    assert "yxAbout" in last
    assert "from elsewhere" in last


def test_a_page_without_a_document_cannot_be_edited_or_saved_until_it_has_one(outcome: Any) -> None:
    underived = outcome["underived"]

    assert (underived["isEditableBefore"], underived["isEditableAfter"]) == (False, True)
    assert underived["asRead"] == ["10 true"]


def test_an_older_version_that_arrives_late_makes_no_page_without_a_document_editable(outcome: Any) -> None:
    stale = outcome["stale"]

    assert (stale["editable"]["afterOlder"], stale["savedAfterOlder"]) == (False, [])
    assert stale["overVersions"] == [7]
    assert "new words" in stale["text"]


def test_a_page_is_editable_when_it_has_a_document_and_the_app_lets_it_be(outcome: Any) -> None:
    editable = outcome["stale"]["editable"]

    assert editable["afterApp"] is False
    assert (editable["afterDocument"], editable["afterAppAgain"]) == (False, True)


def test_versions_may_be_texts_as_drivers_give_large_numbers(outcome: Any) -> None:
    assert "more words" in outcome["underived"]["text"]
