"""What a BEFORE trigger of an app alters while mirrord writes a row reaches the file, once."""

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from mirrord.domain.entry import digest_of
from tests.support.entries import change, history, row_of, value
from tests.support.mirrors import PATIENCE, Mirror

MEND = "NEW.markdown := replace(NEW.markdown, 'teh', 'the')"
TEXTS = "INSERT OR UPDATE OF markdown"

Triggers = Callable[..., None]

TRIGGER = """
CREATE FUNCTION public.alter_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NEW; END $$;
CREATE TRIGGER {name} BEFORE {events} ON mirrord.{table} FOR EACH ROW EXECUTE FUNCTION public.alter_row()"""

# Two updates: a text and a view are written apart. The second one answers the first.
ANSWER = """
CREATE FUNCTION public.answer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE mirrord.page SET markdown = replace(NEW.markdown, 'teh', 'the')
     WHERE tenant_id = NEW.tenant_id AND id = NEW.id AND markdown LIKE '%teh%';
    UPDATE mirrord.page SET icon = U&'\\+01F331' WHERE tenant_id = NEW.tenant_id AND id = NEW.id AND icon IS NULL;
    RETURN NULL; END $$;
CREATE TRIGGER answer AFTER INSERT OR UPDATE OF markdown ON mirrord.page FOR EACH ROW
    WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION public.answer()"""


@pytest.fixture
def create_trigger(admin_dsn: str) -> Iterator[Triggers]:
    """Creates the trigger of an app; it is dropped after the test."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:

        def create(body: str, events: str = TEXTS, table: str = "page", name: str = "mend") -> None:
            admin.execute(TRIGGER.format(body=body, events=events, table=table, name=f'"{name}"').encode())

        yield create
        admin.execute("DROP FUNCTION IF EXISTS public.alter_row CASCADE")


@pytest.fixture
def create_answering_trigger(admin_dsn: str) -> Iterator[Callable[[], None]]:
    """Creates a trigger of an app that answers each text with updates of its own; it is dropped after the test."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:

        def create() -> None:
            admin.execute(ANSWER.encode())

        yield create
        admin.execute("DROP FUNCTION IF EXISTS public.answer CASCADE")


async def settle_twice(mirror: Mirror) -> None:
    """Nobody listens to notifications here: what follows from a write of mirrord is read when it is asked again."""
    await mirror.settle()
    await mirror.settle()


async def settled_text(mirror: Mirror, path: str = "Page") -> str | None:
    """The text of both sides, once nothing moves any more."""
    await settle_twice(mirror)
    versions = mirror.versions()
    await mirror.settle()
    assert mirror.versions() == versions
    text = mirror.page(path).markdown
    assert mirror.files().get(f"{path}.md") == text
    stored = row_of(mirror.app, mirror.page(path).id)["digest"]
    assert stored == digest_of((text or "").encode())
    return text


def texts_of(mirror: Mirror, path: str = "Page") -> list[str]:
    return [version["markdown"] for version in history(mirror.app, mirror.page(path).id)]


@pytest.mark.parametrize("name", ["Aaa", "mend"])
async def test_a_text_that_a_trigger_mends_reaches_the_file(
    mirror: Mirror, create_trigger: Triggers, name: str
) -> None:
    create_trigger(MEND, name=name)
    mirror.write({"Page.md": "# Page\n\nteh first\n"})
    assert await settled_text(mirror) == "# Page\n\nthe first\n"
    mirror.write({"Page.md": "# Page\n\nthe first\n\nteh second\n"})
    assert await settled_text(mirror) == "# Page\n\nthe first\n\nthe second\n"
    assert [text.count("teh") for text in texts_of(mirror)] == [1, 0, 1, 0]


async def test_many_texts_that_a_trigger_mends_reach_their_files(mirror: Mirror, create_trigger: Triggers) -> None:
    create_trigger(MEND)
    texts = {f"Page {number}.md": f"# Page {number}\n\nteh first\n" for number in range(30)}
    for addition in ("", "\nteh second\n"):
        mirror.write(
            {path: text.replace("teh", "the") + addition for path, text in texts.items()} if addition else texts
        )
        await settle_twice(mirror)
        expected = {path: (text + addition).replace("teh", "the") for path, text in texts.items()}
        assert mirror.files() == expected
        assert {f"{path}.md": text for path, text in mirror.rows().items()} == expected


async def test_a_trigger_that_alters_every_text_alters_each_once(mirror: Mirror, create_trigger: Triggers) -> None:
    create_trigger("NEW.markdown := NEW.markdown || E'!\\n'")
    mirror.write({"Page.md": "# Page\n"})
    assert await settled_text(mirror) == "# Page\n!\n"
    mirror.write({"Page.md": "# Page\n!\nmore\n"})
    assert await settled_text(mirror) == "# Page\n!\nmore\n!\n"
    change(mirror.app, mirror.page("Page").id, markdown="# By an app\n")
    assert await settled_text(mirror) == "# By an app\n!\n"


async def test_a_trigger_that_alters_the_text_at_every_update_is_listed(
    mirror: Mirror, create_trigger: Triggers, admin_dsn: str
) -> None:
    create_trigger("NEW.markdown := NEW.markdown || '!'", "INSERT OR UPDATE")
    mirror.write({"Page.md": "# Page"})
    await settle_twice(mirror)
    assert "at every update of the row" in mirror.problems()["Page.md", "render"]
    assert mirror.files() == {"Page.md": "# Page"}
    versions = mirror.versions()
    await settle_twice(mirror)
    assert mirror.versions() == versions
    await drop_trigger(mirror, admin_dsn, "Page")


async def test_a_text_of_views_that_a_trigger_mends_reaches_the_file(mirror: Mirror, create_trigger: Triggers) -> None:
    mirror.write({"Page.md": "text\n"})
    await mirror.settle()
    create_trigger(MEND)
    change(mirror.app, mirror.page("Page").id, title="teh title")
    assert await settled_text(mirror) == "---\ntitle: the title\n---\ntext\n"


async def test_an_update_by_an_after_trigger_reaches_the_file(
    mirror: Mirror, create_answering_trigger: Callable[[], None]
) -> None:
    create_answering_trigger()
    mirror.write({"Page.md": "# Page\n\nteh text\n"})
    text = "---\nicon: \U0001f331\n---\n# Page\n\nthe text\n"
    assert await settled_text(mirror) == text
    mirror.write({"Page.md": text + "\nteh end\n"})
    assert await settled_text(mirror) == text + "\nthe end\n"


async def test_views_that_a_trigger_sets_reach_the_file(mirror: Mirror, create_trigger: Triggers) -> None:
    create_trigger("NEW.position := coalesce(NEW.position, 'a5'); NEW.title := upper(NEW.title)", "INSERT OR UPDATE")
    mirror.write({"Page.md": "text\n"})
    assert await settled_text(mirror) == "---\ntitle: PAGE\nposition: a5\n---\ntext\n"


async def test_a_name_that_a_trigger_sets_reaches_the_file(mirror: Mirror, create_trigger: Triggers) -> None:
    create_trigger("NEW.name := initcap(NEW.name)", "INSERT OR UPDATE")
    mirror.write({"a page.md": "text\n", "folder/child.md": "child\n"})
    assert await settled_text(mirror, "A Page") == "text\n"
    assert await settled_text(mirror, "Folder/Child") == "child\n"
    mirror.rename(("A Page.md", "other page.md"))
    assert await settled_text(mirror, "Other Page") == "text\n"
    mirror.rename(("Folder", "other folder"))
    assert await settled_text(mirror, "Other Folder/Child") == "child\n"


async def test_a_text_that_a_trigger_alters_at_a_move_reaches_the_file(
    mirror: Mirror, create_trigger: Triggers
) -> None:
    mirror.write({"Page.md": "# Page\n\ntext\n"})
    await mirror.settle()
    create_trigger(
        "NEW.markdown := regexp_replace(NEW.markdown, '^# .*?\n', '# ' || NEW.name || E'\n')", "UPDATE OF name"
    )
    mirror.rename(("Page.md", "Moved.md"))
    assert await settled_text(mirror, "Moved") == "# Moved\n\ntext\n"
    assert texts_of(mirror, "Moved") == ["# Page\n\ntext\n", "# Page\n\ntext\n", "# Moved\n\ntext\n"]


BOOKS = "dir: Books\npatterns: [teh/**]\n"
RECORD = ".records/categories/books.yaml"


async def test_a_record_that_a_trigger_alters_reaches_its_file(mirror: Mirror, create_trigger: Triggers) -> None:
    create_trigger("NEW.text := replace(NEW.text, 'teh', 'the')", "INSERT OR UPDATE OF text", "record")
    mirror.write({RECORD: BOOKS})
    await settle_twice(mirror)
    assert (mirror.root / RECORD).read_text() == BOOKS.replace("teh", "the")
    mirror.write({RECORD: BOOKS.replace("teh", "the") + "description: teh books\n"})
    await settle_twice(mirror)
    text = BOOKS.replace("teh", "the") + "description: the books\n"
    assert (mirror.root / RECORD).read_text() == text
    record = mirror.app.execute("SELECT text, data -> 'patterns', ahead, version FROM mirrord.record").fetchone()
    assert record == (text, ["the/**"], [], 4)
    mirror.app.execute('UPDATE mirrord.record SET data = data || \'{"description": "teh app"}\'')
    await settle_twice(mirror)
    assert (mirror.root / RECORD).read_text() == text.replace("the books", "the app")


async def test_the_data_of_a_record_that_a_trigger_alters_reach_its_file(
    mirror: Mirror, create_trigger: Triggers
) -> None:
    create_trigger('NEW.data := NEW.data || \'{"description": "checked"}\'', "INSERT OR UPDATE OF data", "record")
    mirror.write({RECORD: BOOKS})
    await settle_twice(mirror)
    assert (mirror.root / RECORD).read_text() == BOOKS + "description: checked\n"


async def test_an_attachment_that_a_trigger_alters_reaches_its_file(mirror: Mirror, create_trigger: Triggers) -> None:
    mirror.write({"assets/other.png": "other"})
    await mirror.settle()
    digest = digest_of(b"other").hex()
    create_trigger(f"NEW.digest := '\\x{digest}'; NEW.name := lower(NEW.name)", "INSERT OR UPDATE", "attachment")
    mirror.write({"assets/A.png": "first"})
    await settle_twice(mirror)
    assert mirror.files() == {"assets/a.png": "other", "assets/other.png": "other"}
    mirror.write({"assets/a.png": "second"})
    await settle_twice(mirror)
    assert mirror.files() == {"assets/a.png": "other", "assets/other.png": "other"}
    assert mirror.problems() == {}


async def test_a_page_that_a_trigger_deletes_goes_to_the_trash(mirror: Mirror, create_trigger: Triggers) -> None:
    create_trigger("NEW.deleted_at := CASE WHEN NEW.name = 'Page' THEN now() END", "INSERT")
    mirror.write({"Page.md": "text\n", "Other.md": "text\n"})
    await settle_twice(mirror)
    assert mirror.files() == {"Other.md": "text\n"}


async def test_a_folder_that_a_trigger_gives_a_text_gets_a_file(mirror: Mirror, create_trigger: Triggers) -> None:
    create_trigger("NEW.markdown := coalesce(NEW.markdown, E'# Overview\\n')", "INSERT")
    mirror.write({"Folder/Child.md": "text\n"})
    await settle_twice(mirror)
    assert mirror.files() == {"Folder/Child.md": "text\n", "Folder/_index.md": "# Overview\n"}


async def test_a_deleted_page_that_comes_back_with_another_text_follows_the_trigger(
    mirror: Mirror, create_trigger: Triggers
) -> None:
    mirror.write({"Page.md": "text\n", "Other.md": "text\n"})
    await mirror.settle()
    page = mirror.page("Page").id
    (mirror.root / "Page.md").unlink()
    await mirror.settle()
    create_trigger(MEND)
    mirror.write({"Page.md": f"---\nid: {page}\n---\nteh text\n"})
    assert await settled_text(mirror) == f"---\nid: {page}\n---\nthe text\n"
    assert mirror.page("Page").id == page


async def test_a_merge_and_a_conflict_page_that_a_trigger_mends_reach_their_files(
    mirror: Mirror, create_trigger: Triggers
) -> None:
    mirror.write({"Merged.md": "# Page\n\nfirst\n\nmiddle\n\nlast\n", "Kept.md": "first\n"})
    await mirror.settle()
    create_trigger(MEND)
    mirror.write({"Merged.md": "# Page\n\nfirst, teh file\n\nmiddle\n\nlast\n", "Kept.md": "teh file\n"})
    change(mirror.app, mirror.page("Merged").id, markdown="# Page\n\nfirst\n\nmiddle\n\nlast, teh app\n")
    change(mirror.app, mirror.page("Kept").id, markdown="teh app\n")
    await settle_twice(mirror)
    files = mirror.files()
    assert files["Merged.md"] == "# Page\n\nfirst, the file\n\nmiddle\n\nlast, the app\n"
    assert files["Kept.md"] == "the app\n"
    (sibling,) = files.keys() - {"Merged.md", "Kept.md"}
    assert files[sibling].endswith("the file\n")
    assert {f"{path}.md": text for path, text in mirror.rows().items()} == files


REFUSALS = {
    "raises": ("IF {condition} THEN RAISE EXCEPTION 'not this one'; END IF", "not this one"),
    "checks": ("IF {condition} THEN RAISE check_violation USING MESSAGE = 'not this one'; END IF", "not this one"),
    "fails": ("IF {condition} THEN PERFORM 1 / 0; END IF", "division by zero"),
    "omits": ("IF {condition} THEN RETURN NULL; END IF", "returns NULL"),
}


@pytest.fixture(params=REFUSALS)
def refusal(request: pytest.FixtureRequest, create_trigger: Triggers) -> Callable[[str, str], str]:
    """Creates a trigger of an app that refuses rows of one condition, in one of several ways; its message."""
    body, message = REFUSALS[request.param]

    def refuse(condition: str, events: str) -> str:
        create_trigger(body.format(condition=condition), events)
        return message

    return refuse


async def work_until(mirror: Mirror, is_reached: Callable[[], bool]) -> None:
    """Work until *is_reached*; what waits for another attempt never rests."""
    mirror.engine.request_scan()
    mirror.engine.notify()
    end = time.monotonic() + PATIENCE
    while not is_reached():
        assert time.monotonic() < end, (mirror.rows(), mirror.problems())
        await mirror.work()


async def refused_rows(mirror: Mirror, path: str, message: str) -> None:
    """Work until the row of *path* is listed as refused."""
    await work_until(mirror, lambda: (path, "trigger") in mirror.problems())
    assert message in mirror.problems()[path, "trigger"]
    assert len(mirror.problems()) == 1


async def test_a_trigger_that_refuses_a_new_row_hinders_no_other(
    mirror: Mirror, admin_dsn: str, refusal: Callable[[str, str], str]
) -> None:
    message = refusal("NEW.name = 'Bad'", "INSERT")
    mirror.write({"Bad.md": "bad\n", "Good.md": "good\n"})
    await refused_rows(mirror, "Bad.md", message)
    await work_until(mirror, lambda: "Good" in mirror.rows())
    assert mirror.files() == {"Bad.md": "bad\n", "Good.md": "good\n"}
    await drop_trigger(mirror, admin_dsn)
    assert mirror.rows() == {"Bad": "bad\n", "Good": "good\n"}


async def test_a_trigger_that_refuses_a_change_hinders_no_other(
    mirror: Mirror, admin_dsn: str, refusal: Callable[[str, str], str]
) -> None:
    mirror.write({"Bad.md": "bad\n", "Moved.md": "moved\n", "Good.md": "good\n", "Left.md": "left\n"})
    await mirror.settle()
    message = refusal("NEW.markdown = E'worse\\n'", "UPDATE")
    mirror.write({"Bad.md": "worse\n", "Good.md": "better\n"})
    mirror.rename(("Moved.md", "Renamed.md"))
    (mirror.root / "Left.md").unlink()
    await refused_rows(mirror, "Bad.md", message)
    expected = {"Bad": "bad\n", "Good": "better\n", "Renamed": "moved\n"}
    await work_until(mirror, lambda: mirror.rows() == expected)
    assert mirror.files()["Bad.md"] == "worse\n"
    await drop_trigger(mirror, admin_dsn)
    assert mirror.rows() == {"Bad": "worse\n", "Good": "better\n", "Renamed": "moved\n"}


async def test_a_trigger_that_refuses_a_deletion_hinders_no_other(
    mirror: Mirror, admin_dsn: str, refusal: Callable[[str, str], str]
) -> None:
    mirror.write({"Bad.md": "bad\n", "Gone.md": "gone\n", "Other.md": "other\n"})
    await mirror.settle()
    message = refusal("NEW.name = 'Bad' AND NEW.deleted_at IS NOT NULL", "UPDATE")
    for name in ("Bad.md", "Gone.md"):
        (mirror.root / name).unlink()
    await refused_rows(mirror, "Bad.md", message)
    assert mirror.rows() == {"Bad": "bad\n", "Other": "other\n"}
    await drop_trigger(mirror, admin_dsn)
    assert mirror.rows() == {"Other": "other\n"}


async def test_a_trigger_that_refuses_the_text_of_an_apps_page_hinders_no_other(
    mirror: Mirror, admin_dsn: str, refusal: Callable[[str, str], str]
) -> None:
    mirror.write({"Bad.md": "bad\n", "Good.md": "good\n"})
    await mirror.settle()
    message = refusal("NEW.markdown LIKE '%title: Worse%'", "UPDATE")
    change(mirror.app, mirror.page("Bad").id, title="Worse")
    await refused_rows(mirror, "Bad.md", message)
    change(mirror.app, mirror.page("Bad").id, icon="!")
    change(mirror.app, mirror.page("Good").id, title="Better")
    await work_until(mirror, lambda: mirror.files()["Good.md"] == "---\ntitle: Better\n---\ngood\n")
    assert mirror.files()["Bad.md"] == "bad\n"
    await drop_trigger(mirror, admin_dsn)
    assert mirror.files()["Bad.md"] == "---\ntitle: Worse\nicon: '!'\n---\nbad\n"


async def test_a_trigger_that_refuses_the_name_of_an_apps_page_hinders_no_other(
    mirror: Mirror, admin_dsn: str, refusal: Callable[[str, str], str]
) -> None:
    message = refusal("NEW.name = 'Bad' AND NEW.name_key IS NOT NULL", "UPDATE")
    for title in ("Bad", "Good"):
        mirror.app.execute("INSERT INTO mirrord.page (title, markdown) VALUES (%s, %s)", (title, f"{title.lower()}\n"))
    await work_until(mirror, lambda: "Good.md" in mirror.files())
    await work_until(mirror, lambda: "trigger" in {code for _, code in mirror.problems()})
    assert message in next(iter(mirror.problems().values()))
    assert "Bad.md" not in mirror.files()
    await drop_trigger(mirror, admin_dsn)
    assert sorted(mirror.files()) == ["Bad.md", "Good.md"]


async def test_a_trigger_that_refuses_a_merge_keeps_both_sides(
    mirror: Mirror, admin_dsn: str, create_trigger: Triggers
) -> None:
    mirror.write({"Bad.md": "# Page\n\nfirst\n\nmiddle\n\nlast\n", "Good.md": "good\n"})
    await mirror.settle()
    create_trigger("IF NEW.markdown LIKE '%file%app%' THEN RAISE EXCEPTION 'not this one'; END IF", "UPDATE")
    saved = "# Page\n\nfirst, the file\n\nmiddle\n\nlast\n"
    mirror.write({"Bad.md": saved, "Good.md": "better\n"})
    change(mirror.app, mirror.page("Bad").id, markdown="# Page\n\nfirst\n\nmiddle\n\nlast, the app\n")
    await refused_rows(mirror, "Bad.md", "not this one")
    await work_until(mirror, lambda: mirror.rows()["Good"] == "better\n")
    assert mirror.files()["Bad.md"] == saved
    await drop_trigger(mirror, admin_dsn)
    merged = "# Page\n\nfirst, the file\n\nmiddle\n\nlast, the app\n"
    assert mirror.files()["Bad.md"] == merged == mirror.rows()["Bad"]
    assert sorted(mirror.files()) == ["Bad.md", "Good.md"]


async def test_a_merge_that_a_trigger_answers_reaches_both_sides(
    mirror: Mirror, create_answering_trigger: Callable[[], None]
) -> None:
    create_answering_trigger()
    mirror.write({"Page.md": "# Page\n\nfirst\n\nmiddle\n\nlast\n"})
    await settle_twice(mirror)
    mirror.write({"Page.md": "# Page\n\nfirst, the file\n\nmiddle\n\nlast\n"})
    change(mirror.app, mirror.page("Page").id, markdown="# Page\n\nfirst\n\nmiddle\n\nlast, teh app\n")
    text = "---\nicon: \U0001f331\n---\n# Page\n\nfirst, the file\n\nmiddle\n\nlast, the app\n"
    assert await settled_text(mirror) == text


async def test_a_text_behind_the_triggers_that_a_trigger_answers_is_not_lost(
    mirror: Mirror, admin_dsn: str, create_answering_trigger: Callable[[], None]
) -> None:
    mirror.write({"Page.md": "# Page\n"})
    await settle_twice(mirror)
    create_answering_trigger()
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("SET session_replication_role = replica")
        values = b"behind\n", digest_of(b"behind\n")
        admin.execute("UPDATE mirrord.page SET markdown = %s, digest = %s", (values[0].decode(), bytes(values[1])))
    mirror.engine.request_reread()
    assert await settled_text(mirror) == "---\nicon: \U0001f331\n---\nbehind\n"


async def test_swapped_pages_of_which_a_trigger_refuses_one_stay_pages(
    mirror: Mirror, admin_dsn: str, refusal: Callable[[str, str], str]
) -> None:
    mirror.write({"Here/Bad.md": "bad\n", "There/Good.md": "good\n"})
    await mirror.settle()
    bad, good = mirror.ids("Here/Bad", "There/Good")
    message = refusal("NEW.markdown = E'bad\\n'", "UPDATE OF name, parent_id")
    mirror.rename(("Here/Bad.md", "Aside.tmp"), ("There/Good.md", "Here/Bad.md"), ("Aside.tmp", "There/Good.md"))
    await work_until(mirror, lambda: "trigger" in {code for _, code in mirror.problems()})
    assert any(message in sentence for sentence in mirror.problems().values())
    paths = "SELECT count(*) FROM mirrord.mirror_base WHERE path IS NULL AND entry_id IN (%s, %s)"
    assert value(mirror.app, paths, bad, good) == 0
    await drop_trigger(mirror, admin_dsn)
    assert mirror.ids("There/Good", "Here/Bad") == [bad, good]
    assert mirror.files() == {"There/Good.md": "bad\n", "Here/Bad.md": "good\n"}


async def drop_trigger(mirror: Mirror, admin_dsn: str, path: str | None = None) -> None:
    """Drop the trigger and look at everything again: nothing is refused any more. path: of a page to be written."""
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        admin.execute("DROP FUNCTION public.alter_row CASCADE")
    if path is not None:
        change(mirror.app, mirror.page(path).id, markdown="# By an app\n")
    await mirror.settle()
    assert mirror.problems() == {}
