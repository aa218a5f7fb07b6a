"""Files become sources: a readable page, the file itself beside it, one event; or nothing, with a reason."""

import hashlib
import tempfile
from pathlib import Path

import pytest

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.domain.entry import digest_of
from mirrord.markdown.frontmatter.page_properties import read_values
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.research.sources.file_imports import import_file
from mirrord.research.sources.folder_commands import create_folder
from mirrord.research.sources.source_commands import get_source_text
from mirrord.research.sources.source_deletion import delete_source
from mirrord.research.sources.source_listing import read_holdings
from tests.unit.commands.conftest import Open, events, page
from tests.unit.convert import documents as made
from tests.unit.kills import killed_at

TEXT = "Q: Was it loud?\r\nA: [laughs] Naïve – *very*.\r\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "Interview.txt").write_bytes(TEXT.encode("cp1252"))
    return directory


@pytest.fixture
def session(connect: Open, outside: Path) -> Session:
    return connect(attach_from=(outside,))


def shown(root: Path) -> set[str]:
    """Every file a person sees, but for events."""
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {str(path) for path in files if not path.parts[0].startswith(".")}


def test_a_text_becomes_a_page_with_its_words_and_the_file_is_kept(root: Path, session: Session, outside: Path) -> None:
    imported = import_file(session, "Interview.txt")
    assert (imported.name, imported.source_type, imported.path) == ("Interview", "text", "Sources/Interview.md")
    assert imported.original == "Sources/assets/Interview.txt"
    assert shown(root) == {imported.path, imported.original}
    data = (outside / "Interview.txt").read_bytes()
    assert (root / imported.original).read_bytes() == data
    text = (root / imported.path).read_text()
    assert digest_of(text.encode()).hex() == imported.digest
    keys = read_values(PageText(text))
    assert keys["type"] == "source"
    assert keys["original"] == "./assets/Interview.txt"
    assert keys["sha256"] == hashlib.sha256(data).hexdigest()
    assert keys["id"] == imported.page_id
    assert PageText(text).body == TEXT.replace("\r\n", "\n")


def test_it_is_a_source_like_any_other_and_told_once(root: Path, session: Session) -> None:
    imported = import_file(session, "Interview.txt")
    (source,) = read_holdings(session).sources
    assert (source.number, source.name, source.original) == (imported.source_id, "Interview", imported.original)
    assert "laughs" in get_source_text(session, imported.source_id).content
    ((kind, data),) = events(root)
    assert kind == "SourceImported"
    assert (data["source_id"], data["path"], data["digest"]) == (imported.source_id, imported.path, imported.digest)
    delete_source(session, imported.source_id)
    assert shown(root) == set()


def test_a_document_brings_its_pictures(root: Path, session: Session, outside: Path) -> None:
    (outside / "My (guide).docx").write_bytes((made.REAL / "guide.docx").read_bytes())
    imported = import_file(session, "My (guide).docx", name="The [guide]")
    picture = "Sources/assets/The [guide]/image-1.png"
    assert shown(root) == {imported.path, picture, "Sources/assets/My (guide).docx"}
    assert "![](./assets/The%20%5Bguide%5D/image-1.png)" in (root / imported.path).read_text()
    snapshot = session.catalogue.snapshot()
    assert picture in {target.path for target in session.linkage.outgoing(snapshot, imported.path)}


def test_a_recording_a_picture_and_a_strange_file_are_shown_or_linked(
    root: Path, session: Session, outside: Path
) -> None:
    for name, data in {"a b.mp3": b"ID3\4", "a.png": made.PNG, "a.bin": bytes(range(256))}.items():
        (outside / name).write_bytes(data)
        import_file(session, name)
    bodies = {path.stem: PageText(path.read_text()).body for path in (root / "Sources").glob("*.md")}
    assert bodies == {
        "a b": "![[assets/a b.mp3]]\n",
        "a": "![a.png](./assets/a.png)\n",
        "a (2)": "[a.bin](./assets/a.bin)\n",
    }
    assert [source.kind for source in read_holdings(session).sources] == ["image", "unknown", "audio"]
    snapshot = session.catalogue.snapshot()
    for name in ("a", "a b", "a (2)"):
        (target,) = session.linkage.outgoing(snapshot, f"Sources/{name}.md")
        assert target.path is not None


def test_a_file_may_stay_where_it_is_however_large(root: Path, session: Session, outside: Path) -> None:
    with (outside / "long.mp4").open("wb") as large:
        large.write(b"\0\0\0\x18ftypisom")
        large.truncate(60 << 20)
    with pytest.raises(Failed, match="at most") as failed:
        import_file(session, "long.mp4")
    assert failed.value.code == "SOURCE_NOT_IMPORTED/TOO_LARGE"
    assert shown(root) == set()
    imported = import_file(session, "long.mp4", copy=False)
    assert imported.original is None
    assert shown(root) == {"Sources/long.md"}
    assert f"[long.mp4]({(outside / 'long.mp4').as_uri()})" in (root / imported.path).read_text()


def test_markdown_keeps_its_own_keys_and_a_broken_front_matter_is_text(
    root: Path, session: Session, outside: Path
) -> None:
    page(outside, "a.md", "---\nauthor: me # yes\n---\n\n# Title\n")
    page(outside, "b.md", "---\na: [\n---\ntext\n")
    first, second = (root / import_file(session, name).path for name in ("a.md", "b.md"))
    assert "author: me # yes\n" in first.read_text()
    assert PageText(first.read_text()).body == "\n# Title\n"
    assert PageText(second.read_text()).body == "---\na: [\n---\ntext\n"


def test_the_same_file_again_is_imported_and_said(root: Path, session: Session, outside: Path) -> None:
    first = import_file(session, "Interview.txt")
    (outside / "Other.txt").write_bytes((outside / "Interview.txt").read_bytes())
    preview = import_file.preview(session, "Other.txt")
    assert preview.facts["duplicates"] == ["Interview"]
    second = import_file(session, "Other.txt")
    assert second.duplicates == ({"source_id": first.source_id, "name": "Interview", "path": first.path},)
    assert "imported before, as 'Interview'" in second.warnings[0]
    assert preview.facts["path"] == second.path


def test_names_are_unique_whatever_folder_and_case(root: Path, session: Session, outside: Path) -> None:
    folder = create_folder(session, "Waves")
    first = import_file(session, "Interview.txt", folder_id=folder.folder_id)
    assert (first.path, first.original) == ("Sources/Waves/Interview.md", "Sources/Waves/assets/Interview.txt")
    assert first.folder_id == folder.folder_id
    assert import_file(session, "Interview.txt").name == "Interview (2)"
    with pytest.raises(Failed) as failed:
        import_file(session, "Interview.txt", name="INTERVIEW")
    assert failed.value.code == "SOURCE_NOT_IMPORTED/DUPLICATE_NAME"
    for wrong, code in (("a/b", "INVALID_NAME"), (" ", "INVALID_NAME")):
        with pytest.raises(Failed) as failed:
            import_file(session, "Interview.txt", name=wrong)
        assert failed.value.code == f"SOURCE_NOT_IMPORTED/{code}"
    with pytest.raises(Failed) as failed:
        import_file(session, "Interview.txt", folder_id=12)
    assert failed.value.code == "SOURCE_NOT_IMPORTED/FOLDER_NOT_FOUND"


HARMFUL = {
    "locked.docx": (made.sealed_word(), "CONVERSION_FAILED", "protected by a password"),
    "old.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "CONVERSION_FAILED", "before 2007"),
    "bomb.docx": (made.bomb(), "CONVERSION_FAILED", "unpack to far more"),
    "half.odt": ((made.REAL / "guide.odt").read_bytes()[:20_000], "CONVERSION_FAILED", "not transferred completely"),
    "empty.txt": (b"", "EMPTY", "is empty"),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_what_cannot_be_imported_leaves_nothing_behind(
    root: Path, session: Session, outside: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, code, why = HARMFUL[name]
    (outside / name).write_bytes(data)
    temporary = tmp_path / "temporary"  # of this test alone, because others run beside it
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with pytest.raises(Failed, match=why) as failed:
        import_file(session, name)
    assert failed.value.code == f"SOURCE_NOT_IMPORTED/{code}"
    assert shown(root) == set()
    assert not (root / ".records").exists()
    assert not list(temporary.iterdir())
    assert not list((root / ".mirrord").rglob("n.*"))


def test_only_what_the_operator_allows_is_read(session: Session, outside: Path, tmp_path: Path) -> None:
    page(tmp_path, "secret.txt", "x")
    (outside / "link.txt").symlink_to(tmp_path / "secret.txt")
    for path in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "missing.txt"):
        with pytest.raises(Failed):
            import_file(session, path)


def test_an_import_comes_whole_or_not_at_all_whenever_it_is_killed(
    tmp_path: Path, connect: Open, outside: Path, root: Path
) -> None:
    def act(_: Path) -> None:
        import_file(connect(attach_from=(outside,)), "Interview.txt")

    complete = {"Sources/Interview.md", "Sources/assets/Interview.txt"}
    number, outcomes = 0, set[bool]()
    while True:
        number += 7
        if not killed_at(number, root, act):
            break
        connect()  # its writer's name is that of the dead
        create_folder(connect(), f"F{number}")
        paths = {path for path in shown(root) if "/F" not in path}
        outcomes.add(bool(paths))
        assert paths in (set(), complete)
        for path in paths:
            (root / path).unlink()
    assert False in outcomes
