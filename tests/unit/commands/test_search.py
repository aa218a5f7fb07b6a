"""Search finds what is there: all of it, nothing else, and says in which line."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrord.commands.core.answer_budget import AnswerPart
from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.page_filters import read_filter
from mirrord.commands.pages.search_command import SearchResults, search_pages
from mirrord.domain.place import name_key
from mirrord.domain.search_query import terms_of
from mirrord.mirror.read import grep_process as greps
from mirrord.mirror.read import page_search
from tests.bench.vault import generate
from tests.unit.commands.conftest import page

PROJECT = Path(__file__).parents[3]


def paths(answer: SearchResults) -> list[str]:
    return [hit.path for hit in answer.results]


def test_search_pages_finds_matching_content(session: Session, root: Path) -> None:
    text = "---\ntitle: Alpha\n---\n\n# Alpha\n\nPlease see the architecture diagram below.\n"
    page(root, "Projects/Alpha.md", text)
    page(root, "Beta.md", "nothing of it")

    (hit,) = search_pages(session, "architecture diagram").results

    assert (hit.path, hit.title, hit.match_line) == ("Projects/Alpha.md", "Alpha", 7)
    assert hit.match_context == "Please see the architecture diagram below."


def test_titles_come_first_then_tags_then_texts(session: Session, root: Path) -> None:
    page(root, "a.md", "about whales")
    page(root, "b.md", "---\ntags: [whales]\n---\n")
    page(root, "c.md", "---\ntitle: Whales\n---\n")
    page(root, "d/whales.md", "empty")
    page(root, "e.md", "---\naliases: [The whales]\n---\n")

    answer = search_pages(session, "whales")

    assert paths(answer) == ["c.md", "d/whales.md", "b.md", "e.md", "a.md"]
    assert [hit.match_line for hit in answer.results] == [2, 1, 2, 2, 1]
    assert answer.results[1].match_context == "whales"


def test_all_words_have_to_be_on_the_page_wherever(session: Session, root: Path) -> None:
    page(root, "a.md", "one\n\nthree\ntwo three\n")
    page(root, "b.md", "one three\n")
    page(root, "two.md", "one\nthree\n")

    answer = search_pages(session, "two three one")

    assert paths(answer) == ["two.md", "a.md"]  # a word in its title
    assert [hit.match_line for hit in answer.results] == [1, 4]  # the line that holds most of them


def test_quotes_make_a_phrase(session: Session, root: Path) -> None:
    page(root, "a.md", "the quick  brown fox")
    page(root, "b.md", "the brown quick fox")
    page(root, "c.md", "quick\nbrown")
    page(root, "d.md", "quick\u3000brown\xa0\tfox")

    assert paths(search_pages(session, '"quick brown" fox')) == ["a.md", "d.md"]
    assert paths(search_pages(session, '"quick brown')) == ["a.md", "d.md"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("ÜBERGRÖSSE", "übergrösse"),
        ("ελλάδα", "ΕΛΛΆΔΑ"),
        ("σοφος", "ΣΟΦΟΣ and σοφος"),
        ("москва", "МОСКВА"),
        ("cafe\u0301", "CAFÉ"),
        ("café", "cafe\u0301"),
        ("K", "\u212a"),  # the sign for kelvin
        ("日本", "日本語"),
        ("a+b (c) [d]", "A+B (C) [D]"),
        ("\\d", "a\\d"),
        ("c:\\x", "C:\\X"),
        ("x&y~z#-^", "X&Y~Z#-^"),
        ("<b>", "<B>"),
    ],
)
def test_letters_of_any_script_are_found_in_any_case(session: Session, root: Path, query: str, text: str) -> None:
    page(root, "a.md", f"x\n{text}\n")
    for number in range(3):
        page(root, f"b{number}.md", "neither")

    assert [(hit.path, hit.match_line) for hit in search_pages(session, query).results] == [("a.md", 2)]


def test_case_counts_when_asked(session: Session, root: Path) -> None:
    page(root, "a.md", "Alpha")
    page(root, "b.md", "ALPHA")

    assert paths(search_pages(session, "Alpha", case_sensitive=True)) == ["a.md"]
    assert paths(search_pages(session, "Al..a", case_sensitive=True, regex=True)) == ["a.md"]
    assert paths(search_pages(session, "Al..a", regex=True)) == ["a.md", "b.md"]


def test_a_search_may_be_of_one_page_and_what_is_below(session: Session, root: Path) -> None:
    for path in ("a.md", "a/b.md", "a/c/d.md", "ab.md", "e/_index.md", "e/f.md"):
        page(root, path, "word")

    assert paths(search_pages(session, "word", read_filter(path="a"))) == ["a.md", "a/b.md", "a/c/d.md"]
    assert paths(search_pages(session, "word", read_filter(path="e/"))) == ["e/_index.md", "e/f.md"]
    with pytest.raises(Failed, match="Page not found"):
        search_pages(session, "word", read_filter(path="nowhere"))


@pytest.mark.parametrize("regex", [False, True])
def test_what_is_hidden_ignored_or_a_link_is_not_searched(
    session: Session, root: Path, tmp_path: Path, regex: bool
) -> None:
    page(tmp_path, "outside/secret.md", "word")
    for path in ("a.md", ".hidden/b.md", ".c.md", "private/d.md", "x.txt", "assets/e.md", ".records/f.md"):
        page(root, path, "word")
    page(root, ".mirrorignore", "private/\n")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "link.md").symlink_to(tmp_path / "outside/secret.md")

    assert paths(search_pages(session, "word", regex=regex)) == ["a.md"]


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize(
    "where", [".gitignore", ".ignore", "sub/.ignore", ".rgignore", "../.ignore", "../../.gitignore"]
)
def test_files_meant_for_other_programs_hide_no_page(session: Session, root: Path, where: str, regex: bool) -> None:
    (root / "../../.git").resolve().mkdir()
    page(root, "sub/a.md", "word")
    page(root, "b.md", "word")
    page(root, where, "*.md\n")

    for _ in range(2):
        assert paths(search_pages(session, "word", regex=regex)) == ["b.md", "sub/a.md"]

    page(root, "c.md", "word")
    assert paths(search_pages(session, "word", regex=regex)) == ["b.md", "c.md", "sub/a.md"]


def test_files_that_are_no_text_are_named(session: Session, root: Path) -> None:
    page(root, "a.md", "word")
    (root / "bad.md").write_bytes(b"word \xff\n")
    (root / "nul.md").write_bytes(b"word \0\n")
    (root / "long.md").write_bytes(b"word\n" * 100_000 + b"\xff")
    (root / "wide.md").write_bytes("word".encode("utf-16"))

    for regex in (False, True):
        answer = search_pages(session, "word", regex=regex)
        assert paths(answer) == ["a.md"]
        assert (answer.skipped, answer.skipped_count) == (["bad.md", "long.md", "nul.md", "wide.md"], 4)


def test_results_go_on_with_the_cursor(session: Session, root: Path) -> None:
    for number in range(25):
        page(root, f"p{number:02}.md", "---\ntitle: word\n---\n" if number % 5 == 4 else "word")
    titled = [f"p{number:02}.md" for number in range(25) if number % 5 == 4]
    expected = titled + [f"p{number:02}.md" for number in range(25) if number % 5 != 4]

    for limit in (1, 4, 5, 6, 25):
        found_paths, cursor, truncated = list[str](), None, True
        while truncated:
            answer = search_pages(session, "word", part=AnswerPart(limit=limit, cursor=cursor))
            found_paths, cursor, truncated = found_paths + paths(answer), answer.next_cursor, answer.truncated
            assert truncated == (cursor is not None)
        assert found_paths == expected


def test_results_go_on_where_pages_went(session: Session, root: Path) -> None:
    for name in ("a", "b", "c", "d"):
        page(root, f"{name}.md", "word")
    for regex in (False, True):
        cursor = search_pages(session, "word", regex=regex, part=AnswerPart(limit=2)).next_cursor
        assert paths(search_pages(session, "word", regex=regex, part=AnswerPart(cursor=cursor))) == ["c.md", "d.md"]
    (root / "b.md").unlink()
    assert paths(search_pages(session, "word", regex=True, part=AnswerPart(cursor=cursor))) == ["c.md", "d.md"]

    with pytest.raises(Failed) as failure:
        search_pages(session, "other", part=AnswerPart(cursor=cursor))
    assert failure.value.code == "INVALID_CURSOR"


def test_a_change_is_found_at_once(session: Session, root: Path) -> None:
    file = page(root, "a.md", "before")
    assert paths(search_pages(session, "before")) == ["a.md"]
    status = file.stat()

    file.write_text("after!")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert paths(search_pages(session, "before")) == []
    assert paths(search_pages(session, "after!")) == ["a.md"]

    file.unlink()
    assert paths(search_pages(session, "after!")) == []


def test_an_expression_is_matched_line_by_line(session: Session, root: Path) -> None:
    page(root, "a:1:b.md", "x\nfoo: bar\n")
    page(root, "c.md", "foo\n: bar\n")
    page(root, "d.md", "\ufefffoo: bar\r\n")

    answer = search_pages(session, r"^foo:\s+\w+", regex=True)

    assert [(hit.path, hit.match_line) for hit in answer.results] == [("a:1:b.md", 2), ("d.md", 1)]


def test_an_expression_is_matched_in_a_line_that_ends_in_blanks(session: Session, root: Path) -> None:
    for name, ending in {"a": " ", "b": "\t", "c": "  \r", "d": "\u3000"}.items():
        page(root, f"{name}.md", f"  a word{ending}\n")

    assert paths(search_pages(session, "w.rd", regex=True)) == ["a.md", "b.md", "c.md", "d.md"]


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "a{2,1}", "(?=a)", r"(a)\1", "a{1000}{1000}{1000}", r"\p{Foo}", r"\w{1,1600}"]
)
def test_an_expression_that_is_none_is_explained(session: Session, root: Path, pattern: str) -> None:
    page(root, "a.md", "a")

    with pytest.raises(Failed, match=r"^The regular expression is not valid: [^\n]+\.$") as failure:
        search_pages(session, pattern, regex=True)
    assert failure.value.code == "INVALID_REGEX"


@pytest.mark.parametrize(
    ("query", "limit"), [("", 20), (' " "', 20), ("a\nb", 20), ("a\0", 20), ("a" * 1001, 20), ("a", 0), ("a", 101)]
)
def test_what_cannot_be_searched_for_is_refused(session: Session, query: str, limit: int) -> None:
    with pytest.raises(Failed) as failure:
        search_pages(session, query, part=AnswerPart(limit=limit))
    assert failure.value.code in ("INVALID_QUERY", "INVALID_LIMIT")


def test_a_long_line_is_shown_around_the_match(session: Session, root: Path) -> None:
    page(root, "a.md", "é" * 5000 + " word " + "ü" * 5000)

    (hit,) = search_pages(session, "word").results

    assert "word" in hit.match_context
    assert len(hit.match_context) < 300
    assert hit.match_context[0] == hit.match_context[-1] == "…"


def test_a_term_is_understood_as_it_is_by_both_engines(session: Session, root: Path) -> None:
    signs = "".join(map(chr, range(33, 127))).replace('"', "") + "éßẞſıİΣς\u212a\u0301日🌿\u2028\xa0\\Q\\E\\b"
    page(root, "a.md", "x" + signs + "x")
    for case_sensitive in (False, True):
        (term,) = terms_of(f'"{signs}"', case_sensitive=case_sensitive)
        assert session.grep.matching_files(term.source).result().paths == {"a.md"}
        assert term.pattern.search("x" + signs + "x")


def test_the_process_takes_no_code_from_the_directory_it_starts_in(
    session: Session, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page(root, "a.md", "word")
    (tmp_path / "json.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))

    assert paths(search_pages(session, "w.rd", regex=True)) == ["a.md"]


def test_a_process_that_died_is_started_again(session: Session, root: Path) -> None:
    page(root, "a.md", "word")
    assert paths(search_pages(session, "w.rd", regex=True)) == ["a.md"]

    worker = session.grep._worker
    assert worker is not None
    worker._process.kill()
    worker._process.wait()
    assert paths(search_pages(session, "w.rd", regex=True)) == ["a.md"]


def test_without_an_answer_words_are_found_all_the_same(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greps, "ANSWER_SECONDS", 0.0)
    page(root, "a.md", "word")
    page(root, "b.md", "other")

    assert paths(search_pages(session, "word")) == ["a.md"]
    with pytest.raises(Failed, match="did not answer within 0 seconds; search for something rarer") as failure:
        search_pages(session, "w.rd", regex=True)
    assert failure.value.code == "BUSY"


def test_common_words_are_found_without_asking_for_all_files(
    session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_search, "_MAX_FILES", 5)
    for number in range(30):
        page(root, f"p{number:02}.md", "common rare" if number in (7, 21) else "common")

    assert len(search_pages(session, "common", part=AnswerPart(limit=100)).results) == 30
    assert paths(search_pages(session, "common rare")) == ["p07.md", "p21.md"]
    assert paths(search_pages(session, "commonly")) == []


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=12), st.booleans())
def test_a_term_is_found_however_its_letters_are_cased(text: str, case_sensitive: bool) -> None:
    for term in terms_of(f'"{text.replace(chr(34), "")}"', case_sensitive=case_sensitive):
        assert term.pattern.search(term.text)
        assert case_sensitive or term.pattern.search(name_key(term.text))


@pytest.mark.skipif(shutil.which("rg") is None, reason="there is no ripgrep here to compare with")
def test_what_is_found_is_what_ripgrep_finds(session: Session, root: Path) -> None:
    generate(root, 120)
    ripgrep_paths: dict[str, list[str]] = {}
    for query in ("quartz", "ÜBERGRÖSSE", "日本", "[[", "`", "zebrafish", "r0"):
        completed = subprocess.run(["rg", "-l", "-i", "-F", "--", query, "."], cwd=root, capture_output=True, text=True)
        expected = {line.removeprefix("./") for line in completed.stdout.splitlines()}
        names = {path for path in _pages(root) if query.lower() in path.lower()}
        assert set(_all(session, query)) == expected | names
        ripgrep_paths[query] = sorted(expected)
    for pattern in (r"\bquartz\b.*\bpilot\b", r"^## ", r"v[ae]lley|harbou?r", r"\d{3}$"):
        completed = subprocess.run(["rg", "-l", "-i", "--", pattern, "."], cwd=root, capture_output=True, text=True)
        assert _all(session, pattern, regex=True) == sorted(
            line.removeprefix("./") for line in completed.stdout.splitlines()
        )
    assert ripgrep_paths["quartz"]
    assert not ripgrep_paths["zebrafish"]


def _pages(root: Path) -> list[str]:
    return [str(file.relative_to(root)) for file in root.rglob("*.md")]


def _all(session: Session, query: str, *, regex: bool = False) -> list[str]:
    found_paths, cursor = list[str](), None
    while True:
        answer = search_pages(session, query, regex=regex, part=AnswerPart(limit=100, cursor=cursor))
        found_paths, cursor = found_paths + paths(answer), answer.next_cursor
        if cursor is None:
            return found_paths
