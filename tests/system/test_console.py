"""The console's server as a client meets it: rows become files, files become events, and nobody overwrites anybody."""

import gzip
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mirrord.domain.entry import digest_of
from mirrord.domain.place import natural_key
from mirrord.mirror.tree.tree_layout import PAUSE_FILE
from mirrord.web.console_server import last_url
from mirrord.web.live_updates import MAX_STREAMS_OF_SESSION
from mirrord.web.read_limits import MAX_READS_OF_SESSION
from tests.support.browsing import Browser
from tests.support.clients import on_stdio, process
from tests.support.commands import Near
from tests.support.consoles import PICTURE, Console, consoles
from tests.support.editors import save
from tests.support.entries import change
from tests.support.harness import eventually
from tests.support.trees import contents

DOCUMENT = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "typed here"}]}]}

EMPTY: dict[str, Any] = {"type": "doc", "content": []}
LINKED = f"{'The boats leave at seven, when the tide is high. ' * 6}\n\nSee [[Boats]], [[Tides]] and [[Quay]].\n"

MANY_TENANTS = """
INSERT INTO mirrord.tenant (id, name) SELECT gen_random_uuid(), 'many-' || n FROM generate_series(10, 69) AS n"""
RIVALS_PROBLEM = """
INSERT INTO mirrord.problem (tenant_id, mirror_id, path, code, sentence)
SELECT m.tenant_id, m.id, 'x', 'test', 'A problem.'
  FROM mirrord.mirror AS m JOIN mirrord.tenant AS t ON t.id = m.tenant_id WHERE t.name = 'rival'"""


@pytest.fixture(scope="module")
def console(module_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with consoles(tmp_path_factory.mktemp("console"), module_dsn) as served:
        yield served


@pytest.fixture(scope="module")
def ada(console: Console) -> Browser:
    return console.browser()


def made(ada: Browser, title: str, parent: str | None = None) -> dict[str, Any]:
    """A new page, on disk."""
    page: str = ada.send("POST", "pages", {"parent": parent, "title": title}, 201)["id"]
    return settled(ada, page)


def settled(ada: Browser, page: str) -> dict[str, Any]:
    """A page once it is derived and on disk."""

    def done() -> dict[str, Any] | None:
        page_now: dict[str, Any] = ada.get(f"pages/{page}")
        return page_now if page_now["on_disk"] and page_now["content"] is not None else None

    return eventually(done, f"{page} to be on disk")


def titles(ada: Browser, parent: str | None = None) -> list[str]:
    below = f"?parent={parent}" if parent else ""
    return [node["title"] for node in ada.get(f"tree{below}")["nodes"]]


def test_a_page_shows_the_file_its_document_and_where_it_is(console: Console, ada: Browser) -> None:
    page = ada.get(f"pages/{console.page('Projects/Alpha')['id']}")
    assert page["markdown"] == console.mirrord.text("Projects/Alpha.md")
    assert page["path"] == "Projects/Alpha.md"
    assert page["content"]["content"][0]["type"] == "heading"
    assert page["updated_by"] == {"kind": "human", "name": "file", "channel": "file"}
    assert page["problem"] is None


def test_pages_are_listed_in_the_order_of_natural_key(ada: Browser) -> None:
    names = [
        "0",
        "00",
        "007",
        "7",
        "8",
        "10",
        "9" * 12,
        "1" + "0" * 12,
        "0" * 15 + "3",
        "a",
        "Ä2",
        "ä10",
        "B 1.9",
        "b 1.10",
    ]
    parent = made(ada, "Numbers")["id"]
    for name in names:
        ada.send("POST", "pages", {"parent": parent, "title": f"v{name} of all"}, 201)
    listed = titles(ada, parent)

    assert sorted(listed) == sorted(f"v{name} of all" for name in names)
    assert [natural_key(title) for title in listed] == sorted(natural_key(title) for title in listed)


def test_a_pasted_text_is_read_by_the_dialect_of_the_tenant(module_dsn: str, console: Console, ada: Browser) -> None:
    pasted = {"markdown": "see {{ page.url }}\n"}
    raw = {"type": "rawInline", "attrs": {"raw": "{{ page.url }}"}}
    set_dialect = "UPDATE mirrord.tenant SET dialect = %s WHERE name = %s"
    with psycopg.connect(module_dsn, autocommit=True) as admin:
        admin.execute(set_dialect, ["jekyll", console.mirrord.tenant])
        as_jekyll = ada.send("POST", "document", pasted, 200)
        admin.execute(set_dialect, ["plain", console.mirrord.tenant])
    as_plain = ada.send("POST", "document", pasted, 200)

    assert raw in as_jekyll["content"]["content"][0]["content"]
    assert raw not in as_plain["content"]["content"][0]["content"]


def test_keys_of_the_front_matter_are_written_one_by_one_and_others_refused(console: Console, ada: Browser) -> None:
    save(console.mirrord.file("Properties.md"), "---\na: 1  # one\nnested: {x: [1]}\n---\ntext\n")
    page = console.page("Properties")["id"]
    facts = ada.get(f"pages/{page}")
    assert facts["properties"] == [
        {"key": "a", "value": 1, "editable": True},
        {"key": "nested", "value": {"x": [1]}, "editable": False},
    ]
    changes = {"version": facts["version"], "properties": {"a": None, "b": ["x", 2.5, True]}}
    ada.send("PATCH", f"pages/{page}", changes)
    assert settled(ada, page)["markdown"] == "---\nnested: {x: [1]}\nb:\n  - x\n  - 2.5\n  - true\n---\ntext\n"
    for refused in ({"id": "x"}, {"title": "x"}, {"": "x"}, {"c": {"deep": 1}}, {"c": "\0"}, {"c\nd": 1}):
        body = {"version": ada.get(f"pages/{page}")["version"], "properties": refused}
        assert ada.ask("PATCH", f"/t/demo/api/pages/{page}", body).status == 422


def test_texts_that_a_window_has_are_not_sent_again(console: Console, ada: Browser) -> None:
    page = ada.get(f"pages/{console.page('Projects/Alpha')['id']}")
    version = page["version"]
    texts = ("markdown", "text_digest", "content", "fault", "above")
    facts = {name: value for name, value in page.items() if name not in texts}
    assert ada.get(f"pages/{page['id']}?known={version}") == facts
    for known_version in (version + 1, "x", "9" * 30, ""):
        assert ada.get(f"pages/{page['id']}?known={known_version}") == page


def test_a_browser_keeps_our_own_files_below_their_digest_only(ada: Browser) -> None:
    match = re.search(r'src="(/static/(\w+)/((?:built/)?console\.js))"', ada.ask("GET", "/t/demo/").text)
    assert match is not None
    by_digest, by_other_digest = ada.ask("GET", match[1]), ada.ask("GET", match[1].replace(match[2], "0" * 16))
    assert "immutable" in by_digest.headers["cache-control"]
    assert by_other_digest.headers["cache-control"] == "no-cache"
    assert by_digest.data == by_other_digest.data == ada.ask("GET", f"/static/{match[3]}").data
    again = ada.ask("GET", f"/static/{match[3]}", if_none_match=by_digest.headers["etag"])
    assert (again.status, again.data) == (304, b"")


def test_our_own_files_are_sent_compressed_to_browsers_that_accept_it(ada: Browser) -> None:
    match = re.search(r'href="(/static/\w+/console\.css)"', ada.ask("GET", "/t/demo/").text)
    assert match is not None
    plain, compressed = ada.ask("GET", match[1]), ada.ask("GET", match[1], accept_encoding="gzip, br")
    assert "content-encoding" not in plain.headers
    assert compressed.headers["content-encoding"] == "gzip"
    assert plain.headers["vary"] == compressed.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(compressed.data) == plain.data
    assert len(compressed.data) < len(plain.data) / 2
    assert compressed.headers["cache-control"] == plain.headers["cache-control"]
    part = ada.ask("GET", match[1], accept_encoding="gzip", range="bytes=0-9")
    assert (part.status, part.data) == (206, plain.data[:10])


def test_a_document_saved_in_the_browser_is_in_the_file_and_told_as_on_disk(console: Console, ada: Browser) -> None:
    page = made(ada, "Typed")
    with ada.live() as stream:
        version = ada.send("PUT", f"pages/{page['id']}/content", {"version": page["version"], "content": DOCUMENT})
        event = stream.until("page", id=page["id"], version=version["version"], on_disk=True)
    assert event["by"] == {"kind": "human", "name": "ada", "channel": "console"}
    assert "typed here" in (console.mirrord.text("Typed.md") or "")


def test_a_page_that_a_person_empties_in_the_console_is_empty(console: Console, ada: Browser) -> None:
    page = written(console, ada, "Emptied", LINKED)
    version = page["version"]
    for content in (EMPTY, DOCUMENT, EMPTY):  # as fast as they come: the daemon may not have read the one before
        body = {"version": version, "content": content}
        version = ada.send("PUT", f"pages/{page['id']}/content", body)["version"]
    eventually(lambda: settled(ada, page["id"])["problem"] is None, "the problem to end")
    assert (console.mirrord.text("Emptied.md") or "").strip() == ""


def test_a_page_that_an_app_emptied_is_held_from_the_console_too(console: Console, ada: Browser) -> None:
    page = written(console, ada, "Held", LINKED)
    change(console.mirrord.app, page["id"], content=Jsonb(EMPTY))
    emptied = eventually(lambda: shown_as_held(ada, page["id"]), "the page to be held")
    assert "confirm_content" in emptied["problem"]
    body = {"version": emptied["version"], "content": DOCUMENT}
    version = ada.send("PUT", f"pages/{page['id']}/content", body)["version"]
    eventually(lambda: (shown_as_held(ada, page["id"]) or {}).get("version") == version, "the next save to be held")
    console.mirrord.flush()
    assert console.mirrord.text("Held.md") == LINKED
    ada.send("PUT", f"pages/{page['id']}/content", {"version": version, "content": page["content"]})
    eventually(lambda: settled(ada, page["id"])["problem"] is None, "the problem to end")
    assert console.mirrord.text("Held.md") == LINKED


def shown_as_held(ada: Browser, page: str) -> dict[str, Any] | None:
    """The page while it waits with a problem, else None."""
    page_now: dict[str, Any] = ada.get(f"pages/{page}")
    return page_now if page_now["problem"] is not None and page_now["ahead"] == ["content"] else None


def written(console: Console, ada: Browser, name: str, text: str) -> dict[str, Any]:
    """A page from a file, once it is derived."""
    save(console.mirrord.file(f"{name}.md"), text)
    page = eventually(lambda: console.mirrord.page(f"{name}.md"), f"the row of {name}")
    return settled(ada, str(page.id))


def test_a_document_that_would_stop_browsers_is_refused(ada: Browser) -> None:
    page = made(ada, "Wide")
    cell = {"type": "tableCell", "attrs": {"colspan": 99_999_999}, "content": [{"type": "paragraph"}]}
    table = {"type": "table", "content": [{"type": "tableRow", "content": [cell]}]}
    body = {"version": page["version"], "content": {"type": "doc", "content": [table]}}
    refused = ada.send("PUT", f"pages/{page['id']}/content", body, 422)
    assert refused["sentence"] == "The content holds a tableCell whose `colspan` is not a number from 1 to 1000."
    assert ada.get(f"pages/{page['id']}")["version"] == page["version"]


def test_the_source_is_the_file_byte_for_byte(console: Console, ada: Browser) -> None:
    page = ada.get(f"pages/{console.page('Projects/Beta')['id']}")
    text = page["markdown"].replace("Windows", "Carriage")
    assert "\r\n" in text
    ada.send("PUT", f"pages/{page['id']}/markdown", {"version": page["version"], "markdown": text})
    eventually(lambda: console.mirrord.text("Projects/Beta.md") == text, "the file to be what was saved")


def test_who_saves_over_a_change_gets_the_page_as_it_is_instead(ada: Browser) -> None:
    page = made(ada, "Twice")
    first = ada.send("PUT", f"pages/{page['id']}/content", {"version": page["version"], "content": DOCUMENT})
    answer = ada.send("PUT", f"pages/{page['id']}/markdown", {"version": page["version"], "markdown": "late"}, 409)
    assert answer["page"]["version"] == first["version"]
    assert "late" not in (settled(ada, page["id"])["markdown"] or "")


def test_the_text_of_a_page_is_never_written_over_a_change_that_it_does_not_have_yet(
    console: Console, ada: Browser
) -> None:
    page = made(ada, "Ahead of its text")
    where, file = f"pages/{page['id']}", console.mirrord.file("Ahead of its text.md")
    before = ada.get(where)
    pause = console.mirrord.root / PAUSE_FILE
    save(pause, "")
    eventually(lambda: "paused" in str(ada.get("status")["problems"]), "the mirror to pause")
    written = ada.send("PUT", f"{where}/content", {"version": page["version"], "content": DOCUMENT})["version"]
    stale = {"version": written, "text_digest": before["text_digest"], "markdown": "from before\n"}
    theirs = ada.send("PUT", f"{where}/markdown", stale, 409)["page"]
    ada.send("PUT", f"{where}/markdown", {"version": written, "markdown": "who knows\n"}, 409)
    assert theirs["markdown"].endswith("typed here\n")
    pause.unlink()
    settled(ada, page["id"])
    assert ada.send("PUT", f"{where}/markdown", stale, 409)["page"]["markdown"] == theirs["markdown"]
    mine = {"version": written, "text_digest": theirs["text_digest"], "markdown": theirs["markdown"] + "\nmore\n"}
    ada.send("PUT", f"{where}/markdown", mine)

    eventually(lambda: file.read_text() == mine["markdown"], "both changes in the file")


def test_a_change_of_a_file_is_told_and_resumed(console: Console, ada: Browser) -> None:
    page = console.page("Welcome")["id"]
    with ada.live() as stream:
        save(console.mirrord.file("Welcome.md"), (console.mirrord.text("Welcome.md") or "") + "\nFrom an editor.\n")
        event = stream.until("page", id=page, by={"kind": "human", "name": "file", "channel": "file"})
        last = stream.last
    save(console.mirrord.file("Welcome.md"), (console.mirrord.text("Welcome.md") or "") + "\nWhile nobody looked.\n")
    version = event["version"] + 1
    eventually(lambda: ada.get(f"pages/{page}")["version"] == version, "the second change")
    with ada.live(since=last) as stream:
        assert stream.until("page", id=page, version=version)


def test_live_events_go_on_after_postgres_cut_the_connection(console: Console, ada: Browser, module_dsn: str) -> None:
    page = made(ada, "Cut")
    with ada.live() as stream:
        _cut(module_dsn)
        sent = ada.send("PATCH", f"pages/{page['id']}", {"version": page["version"], "icon": "✂"})
        assert stream.until("page", id=page["id"], version=sent["version"])


def test_whoever_looks_after_postgres_cut_all_connections_is_not_told_of_it(
    console: Console, ada: Browser, module_dsn: str
) -> None:
    page = console.page("Welcome")["id"]
    for _ in range(3):
        _cut(module_dsn)
        assert ada.ask("GET", f"/t/demo/p/{page}").status == 200
        assert ada.ask("GET", f"/t/demo/api/pages/{page}").status == 200


def _cut(dsn: str) -> None:
    """End all connections to this database and wait until they are."""
    with psycopg.connect(dsn, autocommit=True) as administrator:
        administrator.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_new_page_in_a_folder_is_renamed_moved_deleted_and_brought_back(console: Console, ada: Browser) -> None:
    projects = console.page("Projects")["id"]
    page = made(ada, "Gamma", projects)
    assert console.mirrord.file("Projects/Gamma.md").exists()
    ada.send("PATCH", f"pages/{page['id']}", {"version": page["version"], "title": "Delta: 2"})
    eventually(lambda: console.mirrord.file("Projects/Delta- 2.md").exists(), "the file to be called like the page")
    page = settled(ada, page["id"])
    assert page["title"] == "Delta: 2"
    ada.send("POST", f"pages/{page['id']}/move", {"version": page["version"], "parent": None, "before": None})
    eventually(lambda: console.mirrord.file("Delta- 2.md").exists(), "the file to be moved")
    page = settled(ada, page["id"])
    ada.send("DELETE", f"pages/{page['id']}", {"version": page["version"]})
    eventually(lambda: not console.mirrord.file("Delta- 2.md").exists(), "the file to go")
    assert page["id"] in [trashed["id"] for trashed in ada.get("trash")["pages"]]
    ada.send("POST", f"pages/{page['id']}/revive", {})
    eventually(lambda: console.mirrord.file("Delta- 2.md").exists(), "the file to come back")


def test_windows_that_ask_for_the_note_of_a_day_at_once_get_the_same_page(console: Console, ada: Browser) -> None:
    with ThreadPoolExecutor(6) as windows:
        answers = list(windows.map(lambda _: ada.ask("POST", "/t/demo/api/daily", {"date": "2026-02-03"}), range(6)))

    assert len({answer.json["id"] for answer in answers}) == 1
    assert sorted(answer.status for answer in answers) == [200] * 5 + [201]
    console.mirrord.flush()
    assert len(list(console.mirrord.file("Daily").iterdir())) == 1


def test_a_renamed_page_without_a_title_of_its_own_gets_none(console: Console, ada: Browser) -> None:
    save(console.mirrord.file("Plain.md"), "Only text.\n")
    page = settled(ada, console.page("Plain")["id"])
    ada.send("PATCH", f"pages/{page['id']}", {"version": page["version"], "title": "Plainer"})
    eventually(lambda: console.mirrord.text("Plainer.md") == "Only text.\n", "the file under its new name, untouched")
    assert settled(ada, page["id"])["title"] == "Plainer"


def test_a_dragged_page_stays_where_it_was_put(console: Console, ada: Browser) -> None:
    folder = made(ada, "Ordered")
    ids = {title: made(ada, title, folder["id"])["id"] for title in ("One", "Two", "Three")}
    assert titles(ada, folder["id"]) == ["One", "Three", "Two"]
    for title, before in (("Two", "One"), ("Three", None), ("One", "Two")):
        page = settled(ada, ids[title])
        body = {"version": page["version"], "parent": folder["id"], "before": ids.get(before or "")}
        ada.send("POST", f"pages/{ids[title]}/move", body)
    assert titles(ada, folder["id"]) == ["One", "Two", "Three"]
    save(console.mirrord.file("Ordered/Three.md"), (console.mirrord.text("Ordered/Three.md") or "") + "Edited.\n")
    eventually(lambda: "Edited" in ada.get(f"pages/{ids['Three']}")["markdown"], "the edit of the file")
    assert titles(ada, folder["id"]) == ["One", "Two", "Three"]


def test_a_page_cannot_be_moved_below_itself(ada: Browser) -> None:
    folder = made(ada, "Outer")
    inner = made(ada, "Inner", folder["id"])
    folder = settled(ada, folder["id"])
    body = {"version": folder["version"], "parent": inner["id"], "before": None}
    assert "below itself" in ada.send("POST", f"pages/{folder['id']}/move", body, 422)["sentence"]


def _titles(answer: dict[str, Any]) -> list[str]:
    return ["".join(text for text, _ in result["title"]) for result in answer["results"]]


def test_search_shows_the_sentence_with_the_words(ada: Browser) -> None:
    eventually(lambda: _titles(ada.get("search?q=DETAILS")) == ["Alpha"], "the words of Alpha, which follow its text")
    (result,) = ada.get("search?q=DETAILS")["results"]
    assert ["Details", True] in result["snippet"]
    assert "".join(text for text, _ in result["path"]) == "Projects"
    assert _titles(ada.get("search?q=a_b")) == ["Alpha"]
    assert ada.get("search?q=") == {"results": [], "matches": 0, "more": False, "note": None, "unindexed": 0}


def test_search_names_the_words_that_stand_for_a_misspelt_one(ada: Browser) -> None:
    answer = eventually(
        lambda: reply if (reply := ada.get("search?q=detials"))["results"] else None, "the words of Alpha"
    )
    assert _titles(answer) == ["Alpha"]
    assert answer["note"] == "No page has all of these words. These have “details”."


def test_the_switcher_lists_titles_paths_and_what_was_seen_last(console: Console, ada: Browser) -> None:
    alpha = console.page("Projects/Alpha")["id"]

    def switched(query: str) -> list[str]:
        return ["".join(text for text, _ in page["title"]) for page in ada.get(f"titles?{query}")["pages"]]

    assert eventually(lambda: switched("q=second"), "the names of Beta, which follow its text") == ["Beta"]
    assert switched("q=projects/al") == ["Alpha"]
    assert switched("q=lph") == ["Alpha"]
    assert switched(f"seen={alpha},nonsense")[0] == "Alpha"
    assert len(switched("")) > 1


def test_links_are_completed_previewed_followed_and_found_backwards(console: Console, ada: Browser) -> None:
    welcome, alpha = (console.page(path)["id"] for path in ("Welcome", "Projects/Alpha"))
    completed = eventually(lambda: ada.get("completions?q=alp"), "the names of Alpha, which follow its text")
    assert [(link["path"], link["target"]) for link in completed] == [("Projects/Alpha.md", "Alpha")]
    preview = ada.get(f"preview?target=Alpha%23Details&from={welcome}")
    assert (preview["id"], preview["title"], preview["href"]) == (alpha, "Alpha", f"/t/demo/p/{alpha}#Details")
    assert preview["text"].startswith("# Alpha")
    assert ada.get(f"pages/{welcome}/resolve?target=Projects/Alpha.md&kind=markdown")["id"] == alpha
    nowhere = f"/t/demo/api/preview?target=Nowhere&from={welcome}"
    assert (
        eventually(lambda: answer if (answer := ada.ask("GET", nowhere)).status != 503 else None, "links").status == 404
    )
    backlinks = eventually(lambda: ada.get(f"pages/{alpha}/backlinks"), "the links, which follow their page")
    assert [backlink["id"] for backlink in backlinks] == [welcome]


def test_links_follow_a_rename_and_a_move_and_their_pages_are_counted_before(console: Console, ada: Browser) -> None:
    text = "[[Dal]] and [the dal](Kitchen/Dal.md), [rice](Kitchen/Dal/Rice.md)\n"
    save(console.mirrord.file("Kitchen/Dal.md"), "Dal\n")
    save(console.mirrord.file("Kitchen/Dal/Rice.md"), "[up](../Dal.md)\n")
    save(console.mirrord.file("Menu.md"), text)
    dal, menu = console.page("Kitchen/Dal")["id"], console.page("Menu")["id"]
    counted = {"pages": 1, "follow": True, "below": 1}
    eventually(lambda: ada.get(f"pages/{dal}/linking") == counted, "the links of the menu")

    ada.send("PATCH", f"pages/{dal}", {"version": settled(ada, dal)["version"], "title": "Tarka dal", "icon": None})
    expected = (
        text.replace("[[Dal]]", "[[Tarka dal]]").replace("Dal.md", "Tarka%20dal.md").replace("Dal/", "Tarka%20dal/")
    )
    eventually(lambda: console.mirrord.text("Menu.md") == expected, "the links to follow the name")
    by = {"kind": "daemon", "name": "mirrord", "for": "human ada"}
    assert settled(ada, menu)["updated_by"] == by

    ada.send("POST", f"pages/{dal}/move", {"version": settled(ada, dal)["version"], "parent": None, "before": None})
    expected = expected.replace("(Kitchen/", "(")
    eventually(lambda: (console.mirrord.text("Menu.md") or "").endswith(expected), "the links to follow the page")
    eventually(lambda: ada.get(f"pages/{dal}/linking") == counted, "the links of the menu again")


def test_a_picture_becomes_an_attachment_beside_the_page_and_is_shown(console: Console, ada: Browser) -> None:
    page = console.page("Projects/Alpha")["id"]
    answer = ada.upload(page, "shot.png", PICTURE + b"new")
    assert (answer.status, answer.json) == (201, {"src": "./assets/shot.png"})
    file = console.mirrord.file("Projects/assets/shot.png")
    eventually(lambda: contents(file) == PICTURE + b"new", "the picture on disk")
    picture = eventually(lambda: _shown(ada, page, "./assets/shot.png"), "the picture to be found by its name")
    assert (picture.headers["content-type"], picture.data) == ("image/png", PICTURE + b"new")
    assert ada.upload(page, "shot.png", PICTURE + b"new").json == {"src": "./assets/shot.png"}
    assert ada.upload(page, "shot.png", PICTURE + b"other").json == {"src": "./assets/shot%20%282%29.png"}
    again = ada.ask("GET", f"/t/demo/p/{page}/file?src=assets/shot.png", if_none_match=picture.headers["etag"])
    assert (again.status, again.data) == (304, b"")


def _shown(ada: Browser, page: str, src: str) -> Any:
    answer = ada.file(page, src)
    return answer if answer.status == 200 else None


def test_history_shows_words_that_changed_and_goes_back(console: Console, ada: Browser) -> None:
    page = made(ada, "Versions")
    version = page["version"]
    for text in ("one two\n", "one three\n"):
        version = ada.send("PUT", f"pages/{page['id']}/markdown", {"version": version, "markdown": text})["version"]
    versions = ada.get(f"pages/{page['id']}/history")
    assert [revision["version"] for revision in versions][:2] == [version, version - 1]
    assert versions[0]["by"]["name"] == "ada"
    lines = ada.get(f"pages/{page['id']}/diff?before={version - 1}&after={version}")["hunks"][0]
    pieces = [(line["mark"], [piece["text"] for piece in line["pieces"] if piece["changed"]]) for line in lines]
    assert pieces == [("-", ["two"]), ("+", ["three"])]
    ada.send("POST", f"pages/{page['id']}/restore", {"version": version, "then": version - 1})
    eventually(lambda: console.mirrord.text("Versions.md") == "one two\n", "the text of the version in the file")


def test_one_block_of_a_version_comes_back_and_the_others_stay(console: Console, ada: Browser) -> None:
    page = made(ada, "Blocks")
    source = f"pages/{page['id']}/markdown"
    before = "---\nkey: 1\n---\nfirst\r\n\r\nsecond\r\n\r\nthird\r\n"
    then = ada.send("PUT", source, {"version": page["version"], "markdown": before})["version"]
    after = before.replace("first", "FIRST").replace("third", "THIRD")
    version = ada.send("PUT", source, {"version": then, "markdown": after})["version"]
    offered = ada.get(f"pages/{page['id']}/blocks?after={then}")
    assert [block["number"] for block in offered["blocks"]] == [1, 2]
    assert offered["blocks"][1]["new"]["content"][0]["content"] == [{"type": "text", "text": "third"}]
    chosen = {"version": offered["version"], "then": then, "block": 2}
    ada.send("POST", f"pages/{page['id']}/restore", {**chosen, "block": 9}, status=422)
    ada.send("POST", f"pages/{page['id']}/restore", {**chosen, "version": then}, status=409)
    assert ada.send("POST", f"pages/{page['id']}/restore", chosen)["version"] > version
    becomes = after.replace("THIRD", "third")

    eventually(lambda: console.mirrord.text("Blocks.md") == becomes, "the text with one block of the version")
    compared = ada.get(f"pages/{page['id']}/blocks?before={then}&after={version}")
    assert compared["version"] is None
    assert len(compared["blocks"]) == 2


def test_a_conflict_is_settled_in_the_console(console: Console, ada: Browser) -> None:
    save(console.mirrord.file("Dispute.md"), "both\n")
    page = settled(ada, console.page("Dispute")["id"])
    with console.mirrord.frozen():
        ada_row = console.mirrord.app
        ada_row.execute("UPDATE mirrord.page SET markdown = 'the row\n' WHERE id = %s", (page["id"],))
        save(console.mirrord.file("Dispute.md"), "the file\n")
    conflict = eventually(lambda: ada.get("attention")["conflicts"], "the conflict")[0]
    assert (conflict["base"], conflict["file"], conflict["row"]) == ("both\n", "the file\n", "the row\n")
    assert "merged" in conflict["can"]
    body = {"choice": "merged", "seen": conflict["seen"], "text": "both of them\n"}
    ada.send("POST", f"conflicts/{conflict['number']}", body)
    eventually(lambda: console.mirrord.text("Dispute.md") == "both of them\n", "the merged text in the file")
    assert ada.get("attention")["conflicts"] == []


def test_an_attachment_changed_on_both_sides_is_looked_at_and_settled(console: Console, ada: Browser) -> None:
    file = console.mirrord.file("assets/disputed.png")
    both, ours, theirs = (PICTURE + suffix for suffix in (b"0", b"1", b"2"))
    save(file, both)
    query = "SELECT id FROM mirrord.attachment WHERE name LIKE 'disputed%' AND deleted_at IS NULL"
    attachment = eventually(lambda: console.mirrord.app.execute(query).fetchone(), "the attachment's row")[0]
    with console.mirrord.frozen():
        save(file, ours)
        _replace(console, attachment, theirs)
    conflict = eventually(lambda: ada.get("attention")["conflicts"], "the conflict")[0]
    assert (conflict["kind"], conflict["is_picture"], conflict["can"]) == ("attachment", True, ["file", "row"])
    number, seen_state = conflict["number"], conflict["seen"]
    sides = {side: ada.ask("GET", f"/t/demo/conflicts/{number}/{side}") for side in conflict["sides"]}
    assert {side: answer.data for side, answer in sides.items()} == {"base": both, "file": ours, "row": theirs}
    assert {answer.headers["content-type"] for answer in sides.values()} == {"image/png"}
    assert console.browser("rival").ask("GET", f"/t/rival/conflicts/{number}/row").status == 404
    assert ada.ask("GET", f"/t/demo/conflicts/{number}/other").status == 404

    ada.send("POST", f"conflicts/{number}", {"choice": "merged", "seen": seen_state, "text": "x"}, 422)
    ada.send("POST", f"conflicts/{number}", {"choice": "file", "seen": "1/1"}, 409)
    ada.send("POST", f"conflicts/{number}", {"choice": "file", "seen": seen_state})
    eventually(lambda: contents(file) == ours, "the bytes of the file, at its place")
    assert ada.get("attention")["conflicts"] == []
    assert console.mirrord.app.execute(query).fetchall() == [(attachment,)]  # what links to it goes on meaning it
    eventually(lambda: [path.name for path in file.parent.glob("disputed*")] == [file.name], "the sibling to go")


def _replace(console: Console, attachment: object, data: bytes) -> None:
    """An app gives an attachment other bytes."""
    app, digest = console.mirrord.app, digest_of(data)
    app.execute("INSERT INTO blob (digest, part, bytes) VALUES (%s, 0, %s)", [digest, data])
    app.execute("UPDATE attachment SET digest = %s, size = %s WHERE id = %s", [digest, len(data), attachment])


def disputed_record(console: Console, ada: Browser, key: str) -> dict[str, Any]:
    """The conflict about a category whose description each side changed."""
    path, app = f".records/categories/{key}.yaml", console.mirrord.app
    file = console.mirrord.file(path)
    save(file, "# kept\ndescription: both\n")
    synced = f"SELECT data FROM mirrord.record WHERE key = '{key}' AND data ->> 'description' = 'both'"
    eventually(lambda: app.execute(synced).fetchone(), "the record's row")
    with console.mirrord.frozen():
        app.execute(f"UPDATE record SET data = data || '{{\"description\": \"row\"}}' WHERE key = '{key}'")
        save(file, "# kept\ndescription: file # mine\n")
    conflict: dict[str, Any] = eventually(lambda: ada.get("attention")["conflicts"], "the conflict")[0]
    eventually(lambda: console.mirrord.text(path) == "# kept\ndescription: row\n", "the row's text in the file")
    return conflict


@pytest.mark.parametrize(
    ("choice", "merged", "becomes"),
    [
        ("file", None, "# kept\ndescription: file # mine\n"),
        ("row", None, "# kept\ndescription: row\n"),
        ("merged", "# kept\ndescription: both of them\n", "# kept\ndescription: both of them\n"),
    ],
)
def test_a_record_changed_on_both_sides_is_settled_in_the_console(
    console: Console, ada: Browser, choice: str, merged: str | None, becomes: str
) -> None:
    key = f"disputed-{choice}"
    conflict = disputed_record(console, ada, key)
    assert (conflict["kind"], conflict["can"], conflict["why_not"]) == ("record", ["file", "row", "merged"], None)
    assert (conflict["file"], conflict["row"]) == ("# kept\ndescription: file # mine\n", "# kept\ndescription: row\n")

    where = f"conflicts/{conflict['number']}"
    ada.send("POST", where, {"choice": choice, "seen": "99/0", "text": merged}, 409)
    ada.send("POST", where, {"choice": "merged", "seen": conflict["seen"], "text": "description: [\n"}, 422)
    ada.send("POST", where, {"choice": choice, "seen": conflict["seen"], "text": merged})

    eventually(lambda: console.mirrord.text(f".records/categories/{key}.yaml") == becomes, "the text in the file")
    assert ada.get("attention")["conflicts"] == []
    query = "SELECT text, data IS NOT NULL, ahead FROM record WHERE key = %s"
    eventually(lambda: console.mirrord.app.execute(query, [key]).fetchone() == (becomes, True, []), "what it says")
    how = "SELECT resolution, resolved_by ->> 'name' FROM conflict WHERE id = %s"
    assert console.mirrord.app.execute(how, [conflict["number"]]).fetchone() == (f"took-{choice}", "ada")


@pytest.fixture(scope="module")
def reviewed_token(console: Console) -> str:
    """Of an agent whose changes a person reviews."""
    return console.mirrord.create_token("gardener", "--review")


async def test_change_sets_whose_files_changed_since_they_were_shown_are_not_approved_with_others(
    console: Console, ada: Browser, reviewed_token: str
) -> None:
    names, sets = ("Stays", "Overtaken", "Unwanted"), list[str]()
    server = process(console.mirrord.mirror, {"MIRRORD_TOKEN": reviewed_token}, "--tools", "pages,changes")
    async with on_stdio(server) as agent:
        for name in names:
            await agent.call("write_page", path=f"{name}.md", content=f"# {name}\n")
            sets.append(str((await agent.call("apply_changes", message=name))["changeSet"]))

        def waiting() -> dict[str, dict[str, Any]] | None:
            requests = [request for request in ada.get("attention")["approvals"] if request["state"] == "pending"]
            by_set = {request["arguments"].get("change_set"): request for request in requests}
            return by_set if {*sets} <= by_set.keys() else None

        requests = eventually(waiting, "the change sets in review")
        console.mirrord.run("changes", "reject", sets[2], "--page", "Unwanted.md", "--tenant", console.mirrord.tenant)
        save(console.mirrord.file("Overtaken.md"), "# Mine\n")
        eventually(lambda: console.mirrord.page("Overtaken.md"), "the row of the person's page")
        ids = [requests[change_set]["id"] for change_set in sets]
        answer = ada.send("POST", "approvals", {"ids": ids, "approve": True, "reason": None}, 200)
        assert answer["decided"] == 1
        assert [(entry["change_set"], entry["sentence"].partition(";")[0]) for entry in answer["left"]] == [
            (sets[1], "its files changed since it was shown"),
            (sets[2], "every page of it is marked as rejected"),
        ]
        eventually(console.mirrord.file("Stays.md").exists, "the page that was approved")
        assert console.mirrord.text("Overtaken.md") == "# Mine\n"
        for change_set in sets[1:]:
            await agent.call("discard_changes", changeSet=change_set)


def test_a_halt_is_decided_in_the_console(console: Console, ada: Browser) -> None:
    names = [f"Many/{number:02}.md" for number in range(40)]
    for name in names:
        save(console.mirrord.file(name), f"{name}\n")
    eventually(lambda: all(console.mirrord.page(name) for name in names), "the pages", pause=0.2)
    for name in names:
        console.mirrord.file(name).unlink()
    halts = eventually(lambda: ada.get("attention")["halts"], "the halt", pause=0.1)
    assert halts[0]["paths"][0].startswith("Many/")
    eventually(lambda: _brought_back(console, ada, names), "the files to come back", pause=0.1)
    decided = [decision for decision in ada.get("decisions") if decision["about"] == "halt"]
    assert {(decision["decision"], decision["by"]["name"]) for decision in decided} == {("discard", "ada")}


def _brought_back(console: Console, ada: Browser, names: list[str]) -> bool:
    """Losses that are seen later have a halt of their own."""
    for halt in ada.get("attention")["halts"]:
        if halt["decision"] is None:
            ada.send("POST", f"halts/{halt['id']}", {"decision": "discard"})
    return all(console.mirrord.file(name).exists() for name in names)


def test_status_tells_of_mirrors_and_how_soon_changes_are_on_disk(ada: Browser) -> None:
    with ada.live() as stream:
        page = made(ada, "Timed")
        stream.until("page", id=page["id"], on_disk=True)
        status = ada.get("status")
    assert all(0 < seconds < 120 for seconds in status["to_disk"])
    assert [mirror["is_held"] for mirror in status["mirrors"]] == [True]
    assert status["counts"]["pages"] >= 4


def test_status_tells_what_waits_and_how_soon_changes_are_carried_over(console: Console, ada: Browser) -> None:
    with ada.live() as stream:
        stream.until("mirrors")
        save(console.mirrord.file("Told.md"), "of this change\n")
        stream.until("mirrors")
        figures = eventually(lambda: _carried_over(ada), "the daemon to tell of a change")
    assert (figures["state"]["waits"], figures["state"]["work"]) == (0, [])
    assert 0 < figures["state"]["file_to_row"]["median"] < 120
    assert str(console.mirrord.root) == figures["root"]
    guest = console.browser(only=True).get("status")["mirrors"][0]
    assert [guest[hidden] for hidden in ("host", "root", "holder")] == [None, None, None]
    assert guest["state"]["file_to_row"]["count"] >= 1
    assert str(console.mirrord.root) not in str(guest)


def _carried_over(ada: Browser) -> dict[str, Any] | None:
    mirror: dict[str, Any] = ada.get("status")["mirrors"][0]
    state = mirror["state"]
    return mirror if state and state["file_to_row"] and not state["waits"] and not state["work"] else None


def test_an_operator_is_told_what_waits_in_each_tenant_some_of_them_at_once(
    console: Console, ada: Browser, module_dsn: str
) -> None:
    with psycopg.connect(module_dsn, autocommit=True) as administrator:
        administrator.execute("SET session_replication_role = replica")  # no guard asks which tenant this is about
        administrator.execute(MANY_TENANTS)
        administrator.execute(RIVALS_PROBLEM)
    first = eventually(lambda: _more(ada.ask("GET", "/api/waiting").json), "the tenants made a moment ago")
    second = ada.ask("GET", f"/api/waiting?after={first['next']}").json
    assert (len(first["counts"]), first["next"], second["next"]) == (50, "many-58", None)
    names = [*first["counts"], *second["counts"]]
    assert names == ["demo", *(f"many-{number}" for number in range(10, 70)), "rival"]
    nothing = {"conflicts": 0, "halts": 0, "problems": 0, "approvals": 0}
    assert first["counts"]["many-10"] == nothing
    assert (first["states"]["many-10"], second["states"]["many-69"]) == ("inactive", "inactive")
    assert first["states"]["demo"] in ("at_work", "in_sync")
    assert second["counts"]["rival"] == nothing | {"problems": 1}
    assert first["counts"]["demo"]["problems"] == len(ada.get("attention")["problems"])
    assert 'data-name="many-69"' in ada.ask("GET", "/").text


def _more(answer: dict[str, Any]) -> dict[str, Any] | None:
    return answer if answer["next"] else None


def test_windows_of_one_do_not_take_those_of_others(console: Console, ada: Browser) -> None:
    guest = console.browser(only=True)
    with ExitStack() as windows:
        for _ in range(MAX_STREAMS_OF_SESSION):
            windows.enter_context(guest.live())
        assert guest.ask("GET", f"/t/{guest.tenant}/api/live").status == 429
        with ada.live():
            pass


RUNNING_SEARCHES = """
SELECT pid, query_start FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM mirrord.search(%'"""
LOCK_FOR_SEARCHES = "LOCK TABLE mirrord.page_search IN ACCESS EXCLUSIVE MODE"  # searches wait for it, and fail


def test_searches_of_one_person_run_few_at_once_while_pages_of_other_tenants_open(
    console: Console, module_dsn: str
) -> None:
    guest, rival = console.browser(only=True), console.browser("rival", only=True)
    page = rival.get("tree")["nodes"][0]["id"]
    highest = 0
    with (
        psycopg.connect(module_dsn, autocommit=True) as observer,
        psycopg.connect(module_dsn) as administrator,
        ThreadPoolExecutor(40) as people,
    ):
        administrator.execute(LOCK_FOR_SEARCHES)
        searches = [people.submit(guest.ask, "GET", "/t/demo/api/search?q=a") for _ in range(40)]
        while not all(search.done() for search in searches):
            highest = max(highest, len(observer.execute(RUNNING_SEARCHES).fetchall()))
            assert rival.get(f"pages/{page}")["id"] == page
    assert highest == MAX_READS_OF_SESSION
    assert {search.result().status for search in searches} == {503}
    assert eventually(lambda: guest.get("search?q=Alpha")["results"], "an answer")


def test_searches_whose_clients_went_away_are_not_carried_out(console: Console, module_dsn: str) -> None:
    guest = console.browser(only=True)
    request = f"GET /t/demo/api/search?q=a HTTP/1.1\r\nHost: {guest.host}\r\nCookie: {guest.cookie}\r\n\r\n".encode()
    host, port = guest.host.split(":")
    carried_out = set[tuple[Any, ...]]()
    with (
        psycopg.connect(module_dsn, autocommit=True) as observer,
        psycopg.connect(module_dsn) as administrator,
        ThreadPoolExecutor(1) as people,
    ):
        administrator.execute(LOCK_FOR_SEARCHES)
        with ExitStack() as windows:
            for _ in range(90):
                windows.enter_context(socket.create_connection((host, int(port)))).sendall(request)
            eventually(lambda: observer.execute(RUNNING_SEARCHES).fetchall(), "a search", pause=0.01)
        last_search = people.submit(guest.ask, "GET", "/t/demo/api/search?q=a")  # behind all others
        while not last_search.done():
            carried_out.update(observer.execute(RUNNING_SEARCHES).fetchall())
        assert last_search.result().status == 503
    assert len(carried_out) < 90 / 3
    assert eventually(lambda: guest.get("search?q=Alpha")["results"], "an answer")


def test_wrong_links_keep_nobody_out_who_has_a_right_one(console: Console) -> None:
    stranger = Browser(console.url)
    answers = [stranger.ask("GET", f"/sign-in?token=wrong{number}").status for number in range(60)]
    assert (answers[0], set(answers)) == (403, {403, 429})
    assert console.browser().ask("GET", "/t/demo/").status == 200


def test_a_large_body_is_read_and_refused_for_what_it_is(ada: Browser) -> None:
    deep = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    refused = ada.ask("POST", f"/t/{ada.tenant}/api/approvals", deep, content_type="application/json")
    assert refused.status == 422


@pytest.mark.parametrize("view", ["", "trash", "search?q=a", "attention", "status"])
def test_every_view_is_a_page_with_the_sidebar(ada: Browser, view: str) -> None:
    answer = ada.ask("GET", f"/t/demo/{view}")
    assert answer.status == 200
    assert "Projects" in answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_session_outlives_the_daemon(console: Console) -> None:
    browser = console.browser("rival", only=True)
    console.mirrord.stop()
    console.mirrord.up("--tenant", "rival", "--console", console.url.rpartition(":")[2])
    assert eventually(lambda: _answers(browser), "the console to answer again") == 200


def test_a_port_that_is_taken_is_told_and_keeps_nothing_from_being_synced(module_dsn: str, tmp_path: Path) -> None:
    with socket.socket() as listener, Near(tmp_path, tenant="third", dsn=module_dsn) as started:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        save(started.file("Welcome.md"), "hello\n")
        started.up("--console", str(listener.getsockname()[1]))
        eventually(lambda: "--console PORT" in str(started.status()["degraded"]), "the reason")
        eventually(lambda: started.page("Welcome"), "the page")


def test_nothing_is_served_where_nobody_wants_a_console(module_dsn: str, tmp_path: Path) -> None:
    with Near(tmp_path, tenant="fourth", dsn=module_dsn) as started:
        save(started.file("Welcome.md"), "hello\n")
        (started.directory / "mirrord.toml").write_text("[console]\nserve = true\nport = 0\n")
        started.up("--no-console")
        eventually(lambda: started.page("Welcome"), "the page")
        assert last_url(started.data) is None
        started.stop()
        started.up()
        eventually(lambda: last_url(started.data), "the console's address")


def _answers(browser: Browser) -> int | None:
    try:
        return browser.ask("GET", "/t/rival/").status
    except OSError:
        return None


def test_a_page_of_an_app_is_shown_with_its_address_and_changed_there_only(console: Console, ada: Browser) -> None:
    head = "bound_to: kb\nbound_url: https://kb.example/p/7\n"
    save(console.mirrord.file("Theirs.md"), f"---\n{head}---\nOf the app.\n")
    page = settled(ada, console.page("Theirs")["id"])
    assert page["bound"] == {"binding": "kb", "url": "https://kb.example/p/7"}
    where, version = f"pages/{page['id']}", {"version": page["version"]}
    for method, path, body in (
        ("PUT", f"{where}/content", {"content": DOCUMENT}),
        ("PUT", f"{where}/markdown", {"markdown": "Mine."}),
        ("PATCH", where, {"title": "Mine"}),
        ("POST", f"{where}/move", {"parent": None, "before": None}),
        ("DELETE", where, {}),
    ):
        refused = ada.send(method, path, version | body, 422)
        assert refused["sentence"].endswith("Change it in the app: https://kb.example/p/7.")
    assert ada.get(where)["version"] == page["version"]


def test_an_address_that_is_none_of_the_web_is_no_link(console: Console, ada: Browser) -> None:
    save(console.mirrord.file("Odd.md"), "---\nbound_to: kb\nbound_url: javascript:alert(1)\n---\nText.\n")
    page = settled(ada, console.page("Odd")["id"])
    assert page["bound"] == {"binding": "kb", "url": None}


def test_links_know_new_pages_while_sync_is_paused_and_wait_behind_very_many(console: Console, ada: Browser) -> None:
    welcome, app = console.page("Welcome")["id"], console.mirrord.app
    pause = console.mirrord.root / "PAUSE"
    pause.touch()
    try:
        eventually(lambda: "paused" in console.mirrord.run("status").stdout, "the pause")
        app.execute("INSERT INTO page (name, kind, markdown) VALUES ('Made in a pause', 'page', 'text')")
        assert ada.get(f"preview?target=Made%20in%20a%20pause&from={welcome}")["text"] == "text"
        nowhere = f"/t/demo/api/preview?target=Nowhere&from={welcome}"
        assert ada.ask("GET", nowhere).status == 404
        app.execute("INSERT INTO page (name, kind) SELECT 'Many ' || n, 'folder' FROM generate_series(1, 501) AS n")
        assert ada.ask("GET", nowhere).status == 503
        app.execute("DELETE FROM page WHERE name LIKE 'Many %' OR name = 'Made in a pause'")
    finally:
        pause.unlink()
