"""Files of an app: their names, and where they are on disk."""

import errno
import os
from pathlib import Path

import pytest

from mirrord.binding.files.app_file import AppFile, is_attachment_name
from mirrord.binding.files.disk_files import NO_FILE, read_on_disk, version_on_disk
from mirrord.binding.mappings.path_template import read_path_template
from mirrord.domain.entry import digest_of
from mirrord.errors import Busy, Damaged, UserError


def file_with(name: str) -> AppFile:
    return AppFile("file:7", "1", name, "800", None)


@pytest.mark.parametrize(
    ("name", "attachment"),
    [
        ("photo.png", "photo.png"),
        ("2026/photo.png", "photo.png"),
        ("C:\\Users\\photo.png", "photo.png"),
        ("..", "Untitled-7"),
        ("", "Untitled-7"),
        (".hidden.png", "hidden.png"),
        ("a:b?.png", "a-b-.png"),
    ],
)
def test_the_name_is_the_last_part_as_a_file_can_have_it(name: str, attachment: str) -> None:
    assert file_with(name).attachment_name == attachment


@pytest.mark.parametrize("name", ["photo.png", "PHOTO.png", "photo (2).png", "photo (999).png"])
def test_the_name_of_an_attachment_may_have_a_number(name: str) -> None:
    assert is_attachment_name(name, file_with("photo.png"))


@pytest.mark.parametrize(
    "name", [None, "other.png", "photo (x).png", "photo (1000).png", "photo.png (2)", "photo (²).png"]
)
def test_another_name_is_none(name: str | None) -> None:
    assert not is_attachment_name(name, file_with("photo.png"))


def test_a_file_of_another_page_or_name_or_with_other_bytes_has_another_digest() -> None:
    digests = [
        AppFile("file:7", page, name, "800", None).digest_with(digest_of(data))
        for page, name, data in [("1", "a", b"x"), ("2", "a", b"x"), ("1", "b", b"x"), ("1", "a", b"y")]
    ]
    assert len(set(digests)) == 4


def test_a_template_has_a_directory_and_columns_below_it() -> None:
    template = read_path_template("/srv/app/public{url}")
    assert (template.directory, template.below, template.columns) == ("/srv/app", "public{url}", ("url",))
    assert template.path_of({"url": "/uploads/a.png"}) == "public/uploads/a.png"
    assert read_path_template("/srv/{a}/{b}/{a}").columns == ("a", "b")


def test_braces_in_a_value_stay_as_they_are() -> None:
    assert read_path_template("/srv/{a}-{b}").path_of({"a": "{b}", "b": "x"}) == "{b}-x"


@pytest.mark.parametrize("value", [None, ""])
def test_an_empty_column_is_no_path(value: str | None) -> None:
    with pytest.raises(Damaged, match="'name', which is a part of its path, is empty"):
        read_path_template("/srv/app/{name}").path_of({"name": value})


@pytest.mark.parametrize(
    "text",
    ["{path}", "/{path}", "//{path}", "uploads/{path}", "/srv/app/file", "/srv/../{path}", "/srv/{a}}", "/srv/{{a}}/"],
)
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"`files\.path`"):
        read_path_template(text)


@pytest.mark.parametrize(
    "path", ["../secret", "link", "sub/../a", "/etc/hostname", "a/", "", "sub", "missing", "x\0y", "n" * 5000]
)
def test_nothing_outside_of_the_directory_is_read(tmp_path: Path, path: str) -> None:
    root = tmp_path / "uploads"
    (root / "sub").mkdir(parents=True)
    (root / "a").write_bytes(b"a")
    (tmp_path / "secret").write_bytes(b"key")
    (root / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(Damaged):
        read_on_disk(str(root), path)


@pytest.mark.parametrize("directory", ["/" + "n" * 300, "/missing", "/proc/self/mem"])
def test_a_directory_that_cannot_be_opened_has_no_files(directory: str) -> None:
    assert version_on_disk(directory, "a") == NO_FILE
    with pytest.raises(Damaged, match=r"the directory .* cannot be read"):
        read_on_disk(directory, "a")


def test_a_file_that_the_disk_does_not_give_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "the disk fails")

    (tmp_path / "a").write_bytes(b"a")
    os.utime(tmp_path / "a", (1, 1))
    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(Damaged, match=r"'a' in .* cannot be read"):
        read_on_disk(str(tmp_path), "a")


def test_a_file_that_is_being_written_waits(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with file.open("wb") as writer:
        writer.write(b"half")
        writer.flush()
        with pytest.raises(Busy):
            read_on_disk(str(tmp_path), "a")
    os.utime(file, (1, 1))
    assert read_on_disk(str(tmp_path), "a") == b"half"


def test_the_version_of_a_file_tells_of_its_bytes(tmp_path: Path) -> None:
    assert version_on_disk(str(tmp_path), "a") == NO_FILE
    (tmp_path / "a").write_bytes(b"a")
    before = version_on_disk(str(tmp_path), "a")
    (tmp_path / "a").write_bytes(b"ab")
    assert len({before, version_on_disk(str(tmp_path), "a"), NO_FILE}) == 3
