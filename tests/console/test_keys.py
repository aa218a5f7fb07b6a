"""Keys and clicks of the editor in a real browser: typing damages neither the text nor the file."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.console.conftest import Console, NewPerson
from tests.console.people import PATIENCE, Person, becomes, row_of
from tests.support.editors import save
from tests.support.harness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Resolves when what follows a scroll is drawn.
SCROLL = "to => (scrollTo(0, to), new Promise(done => requestAnimationFrame(() => setTimeout(done))))"
ALIGNED = "| a | b |\n|:--|--:|\n| 1 | 2 |\n"


async def sit_at(console: Console, person: NewPerson, name: str, text: str) -> tuple[Person, Path]:
    """A person with a new page open, and the file of the page."""
    file = console.mirrord.file(f"Keys {name}.md")
    save(file, text)
    reader = await person()
    await reader.open(file.name)
    return reader, file


async def test_tab_indents_code_and_never_reaches_the_box_of_a_task(console: Console, person: NewPerson) -> None:
    text = "- [ ] pay the invoice\n\nwords\n\n```python\nif x:\n```\n"
    reader, file = await sit_at(console, person, "tab", text)
    await reader.text.locator("pre").click()
    await reader.press("End", "Enter", "Tab")
    await reader.type("x = 2")
    await reader.after("words")
    await reader.press("Tab")
    await reader.type(" hello world")

    becomes(file, "- [ ] pay the invoice\n\nwords hello world\n\n```python\nif x:\n    x = 2\n```\n")
    await expect(reader.text).to_be_focused()


async def test_tab_and_shift_tab_move_all_selected_lines_of_code_by_its_own_unit(
    console: Console, person: NewPerson
) -> None:
    reader, file = await sit_at(console, person, "code", "```\na\n  b\n\nc\n```\n\n```go\n\tx\n```\n")
    await reader.text.locator("pre").first.click()
    await reader.press("Control+Home", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+End", "Tab")
    becomes(file, "```\n  a\n    b\n\n  c\n```\n\n```go\n\tx\n```\n")
    await reader.press("Shift+Tab", "Shift+Tab")
    await reader.text.locator("pre").last.click()
    await reader.press("Home", "Tab")

    becomes(file, "```\na\nb\n\nc\n```\n\n```go\n\t\tx\n```\n")


async def test_tab_indents_items_and_leaves_the_text_after_escape_only(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "items", "- one\n- two\n\nend\n\n- [ ] three\n")
    await reader.after("two")
    await reader.press("Tab", "Tab")
    becomes(file, "- one\n  - two\n\nend\n\n- [ ] three\n")
    await reader.press("Shift+Tab")
    becomes(file, "- one\n- two\n\nend\n\n- [ ] three\n")
    await reader.press("Escape")
    save(file, file.read_text().replace("end", "the end"))
    await reader.sees("the end")  # a change elsewhere is no key
    await reader.press("Tab")

    await expect(reader.text).not_to_be_focused()
    await expect(reader.text.get_by_role("checkbox")).not_to_be_focused()


async def test_an_item_that_is_outdented_counts_on(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "outdent", "1. one\n   1. deep\n   2. deeper\n")
    await reader.after("deep")
    await reader.press("Shift+Tab")

    becomes(file, "1. one\n2. deep\n   1. deeper\n")


async def test_ctrl_enter_ticks_the_task_at_the_cursor(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "tick", "- [ ] one\n- [ ] two\n")
    await reader.after("two")
    await reader.press("Control+Enter")
    await reader.type("!")

    becomes(file, "- [ ] one\n- [x] two!\n")


async def test_enter_in_a_cell_goes_to_the_next_row_and_from_the_last_into_a_new_one(
    console: Console, person: NewPerson
) -> None:
    reader, file = await sit_at(console, person, "enter", ALIGNED)
    await reader.text.get_by_text("a", exact=True).click()
    await reader.press("End", "Enter", "End")
    await reader.type(" one")
    await reader.press("Enter")
    await reader.type("two")

    becomes(file, "| a | b |\n|:--|--:|\n| 1 one | 2 |\n| two |   |\n")


async def test_arrows_go_from_cell_to_cell_and_out_of_the_table(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "arrows", "above\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nbelow\n")
    await reader.text.locator("th").first.click()
    await reader.press("End", "ArrowRight")
    await reader.type("right ")
    await reader.press("ArrowDown")
    await reader.type("down ")
    await reader.press("Home", "ArrowLeft")
    await reader.type(" left")
    await reader.press("ArrowDown")
    await reader.type("out ")
    await reader.press("ArrowUp", "ArrowUp", "ArrowUp")
    await reader.type(" up")

    becomes(file, "above up\n\n| a | right b |\n| --- | --- |\n| 1 left | down 2 |\n\nout below\n")


@pytest.mark.parametrize("place", ["paragraph", "cell", "new cell"])
async def test_a_tab_that_comes_as_text_is_typed_without_a_style(
    console: Console, person: NewPerson, place: str
) -> None:
    reader, file = await sit_at(console, person, f"tab as text in a {place}", f"words\n\n{ALIGNED}")
    await reader.after("words")
    if place == "cell":
        await reader.text.get_by_text("a", exact=True).click()
        await reader.press("End")
    if place == "new cell":
        await reader.type("\n/table")
        await reader.choose("Table")
    await reader.type("b\tcd")

    await reader.sees("b\tcd")
    eventually(lambda: "b\tcd" in file.read_text(), str(file))
    assert reader.errors == []


@pytest.mark.parametrize("way", ["tab", "row below"])
async def test_a_new_row_is_aligned_as_its_columns_are(console: Console, person: NewPerson, way: str) -> None:
    reader, file = await sit_at(console, person, f"aligned by {way}", ALIGNED)
    await reader.text.get_by_text("2", exact=True).click()
    if way == "tab":
        await reader.press("Tab")
    else:
        await reader.page.get_by_role("button", name="Row below", exact=True).click()
        await reader.press("ArrowDown", "Home", "ArrowLeft")
    await reader.type("x")

    becomes(file, f"{ALIGNED}| x |   |\n")


async def test_the_fields_of_a_cell_align_its_column_and_say_so(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "aligned by field", "| a | b |\n| --- | --- |\n| 1 | 2 |\n")
    await reader.text.get_by_text("2", exact=True).click()
    choice = reader.page.get_by_label("Align the column")
    await expect(choice.locator("option:checked")).to_have_text("Not set", timeout=PATIENCE)
    await choice.select_option(label="Right")

    eventually(lambda: file.read_text().splitlines()[1].rstrip(" |").endswith("-:"), "the aligned column")
    assert file.read_text().splitlines()[1].replace(" ", "").startswith("|---|")


async def test_a_row_above_the_header_becomes_the_header(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "above", ALIGNED)
    await reader.text.get_by_text("a", exact=True).click()
    await reader.page.get_by_role("button", name="Row above", exact=True).click()
    await reader.press("ArrowUp")
    await reader.type("x")

    becomes(file, "| x |   |\n|:--|--:|\n| a | b |\n| 1 | 2 |\n")


@pytest.mark.parametrize(
    ("typed", "cell"),
    [("- one", "• one"), ("## one", "one"), ("> one", "one"), ("/numbered\none", r"1\. one"), ("/code\none", "one")],
)
async def test_a_block_that_is_begun_in_a_cell_becomes_text(
    console: Console, person: NewPerson, typed: str, cell: str
) -> None:
    reader, file = await sit_at(console, person, f"cell {len(typed)}", "| a | b |\n| --- | --- |\n|  | d |\n")
    await reader.text.locator("td").first.click()
    for part in typed.splitlines(keepends=True):
        await reader.type(part.strip("\n"))
        if part.endswith("\n"):
            await reader.choose("")
    await reader.type("!")

    becomes(file, f"| a | b |\n| --- | --- |\n| {cell.replace('one', 'one!')} | d |\n")


SHEET = (
    "<table><colgroup><col width=64><col width=80></colgroup><tr><td width=64>a</td><td colspan=2>b</td></tr>"
    "<tr><td><p>c</p><p>d</p></td><td>e</td><td><ul><li>f</li><li>g</li></ul></td></tr></table>"
)


async def test_a_table_of_a_spreadsheet_is_a_table_in_markdown(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "sheet", "before\n")
    await reader.after("before")
    await reader.press("Enter")
    await reader.page.evaluate(
        """html => {
          const data = new DataTransfer()
          data.setData('text/html', html)
          const text = document.querySelector('#page [role=textbox]')
          text.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
        }""",
        SHEET,
    )

    becomes(file, "before\n\n| a | b |  |\n| --- | --- | --- |\n| c<br>d | e | • f<br>• g |\n")


async def test_ctrl_k_asks_for_an_address_and_leaves_the_words(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "link", "some words here\n")
    await reader.after("some words")
    for _ in " here":
        await reader.press("ArrowLeft")
    await reader.press("Control+Shift+ArrowLeft", "Control+k")
    await expect(reader.page.get_by_label("Link to", exact=True)).to_be_focused()
    await reader.press("Escape", "Control+k")
    await reader.type("https://x.org")
    await reader.press("Enter", "End")
    await reader.type(", ")
    await reader.press("Control+k")
    await reader.type("www.y.org")
    await reader.press("Enter")
    await reader.type(".")

    becomes(file, "some [words](https://x.org) here, [www.y.org](https://www.y.org).\n")


async def test_a_link_is_changed_and_removed_in_its_field(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "relink", "[one](https://x.org) [two](https://y.org)\n")
    await reader.text.locator("p").click(position={"x": 400, "y": 5})
    await reader.press("Home", "ArrowRight", "Control+k")
    await expect(reader.page.get_by_label("Link to", exact=True)).to_be_focused()
    await reader.type("https://z.org")
    await reader.press("Enter")
    becomes(file, "[one](https://z.org) [two](https://y.org)\n")
    await reader.press("End", "ArrowLeft")
    await reader.page.get_by_role("button", name="Remove link").click()
    await reader.type("!")

    becomes(file, "[one](https://z.org) tw!o\n")


async def test_formulas_and_footnotes_of_the_menu_are_typed_at_once(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "formula", "see\n\nbelow\n")
    await reader.after("see")
    await reader.type(" /formula in")
    await reader.choose("Formula in the line")
    await reader.type("\\alpha")
    await reader.press("Enter")
    await reader.type(" and /footnote")
    await reader.choose("Footnote")
    await reader.type("The note.")
    await reader.press("Control+Enter")
    await reader.type(" on")
    await reader.press("Enter")
    await reader.type("/formula")
    await reader.choose("Formula")
    await reader.type("\\beta")
    await reader.press("Escape")
    await reader.type("above ")

    becomes(file, "see $\\alpha$ and [^1] on\n\n$$\n\\beta\n$$\n\nabove below\n\n[^1]: The note.\n")


LAST = {
    "formula": "$$\nx\n$$",
    "html": "<div>\n<i>raw</i>\n</div>",
    "code": "```\ncode\n```",
    "callout": "> [!note]\n> called",
    "quote": "> quoted",
    "table": ALIGNED.strip(),
}


LAID_OUT_BELOW = """
text => {
    const [{ top, bottom }, now] = [text.getBoundingClientRect(), performance.now()]
    const place = `${top} ${bottom}`
    if (window.placeOfText !== place) [window.placeOfText, window.placedAt] = [place, now]
    return now - window.placedAt > 500 && bottom > text.lastElementChild.getBoundingClientRect().bottom + 50
}
"""  # what comes above the text later would move the last block below the mouse


TEN_FRAMES = """
() => new Promise(done => {
    const wait = frames => frames ? requestAnimationFrame(() => wait(frames - 1)) : done()
    wait(10)
})"""


@pytest.mark.parametrize("kind", LAST)
async def test_a_click_below_the_last_block_begins_a_paragraph(console: Console, person: NewPerson, kind: str) -> None:
    last = LAST[kind]
    reader, file = await sit_at(console, person, f"below {kind}", f"# A\n\n{last}\n")
    await reader.page.wait_for_function(LAID_OUT_BELOW, arg=await reader.text.element_handle())
    box = await reader.text.bounding_box()
    assert box is not None
    await reader.page.mouse.move(box["x"] + 200, box["y"] + box["height"] - 40)
    await reader.page.mouse.down()
    await reader.page.evaluate(TEN_FRAMES)  # the fields of the block may come to be below the mouse
    await reader.page.mouse.up()
    await reader.type("BELOW")

    becomes(file, f"# A\n\n{last}\n\nBELOW\n")


async def test_a_drag_from_below_the_last_block_selects(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "drag", "first\n\nlast words\n")
    last = await reader.text.locator("p").last.bounding_box()
    assert last is not None
    await reader.page.mouse.move(last["x"] + 300, last["y"] + 200)
    await reader.page.mouse.down()
    await reader.page.mouse.move(last["x"] + 1, last["y"] + 10, steps=4)
    await reader.page.mouse.up()
    await reader.type("end")

    becomes(file, "first\n\nend\n")


@pytest.mark.parametrize("kind", ["table", "quote", "callout"])
async def test_the_down_arrow_leaves_a_block_at_the_end(console: Console, person: NewPerson, kind: str) -> None:
    last = LAST[kind]
    reader, file = await sit_at(console, person, f"down {kind}", f"# A\n\n{last}\n")
    await reader.after("A")
    await reader.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
    await reader.type("below")

    becomes(file, f"# A\n\n{last}\n\nbelow\n")


async def test_enter_goes_through_a_toggle_and_out_of_it(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "toggle", "before\n")
    await reader.after("before")
    await reader.press("Enter")
    await reader.type("/toggle")
    await reader.choose("Toggle")
    await reader.type("Title")
    await reader.press("Enter")
    await reader.type("inside")
    await reader.press("Enter", "Enter")
    await reader.type("after")

    becomes(file, "before\n\n<details open>\n<summary>Title</summary>\n\ninside\n\n</details>\n\nafter\n")


MENU = {"todo": "Tasks", "divider": "Rule", "h1": "Heading 1", "math": "Formula", "warning": "Callout"}


async def test_the_menu_knows_other_words_for_blocks(console: Console, person: NewPerson) -> None:
    reader, _ = await sit_at(console, person, "menu", "words\n")
    await reader.after("words")
    for word, label in MENU.items():
        await reader.press("Control+a")
        await reader.type(f"/{word}")
        await expect(reader.page.get_by_role("option").first).to_contain_text(label, timeout=PATIENCE)


async def test_an_undo_of_a_saved_deletion_brings_back_the_spelling(console: Console, person: NewPerson) -> None:
    text = "first\n\nline  \nline\n\n|a|b|\n|:-----|---|\n|1|2|\n\n* one\n* two\n\nlast\n"
    reader, file = await sit_at(console, person, "undo", text)
    await reader.after("first")
    await reader.press("Control+Shift+End", "Backspace")
    becomes(file, "first\n")
    await reader.press("Control+z")

    becomes(file, text)


async def test_links_lead_to_headings(console: Console, person: NewPerson) -> None:
    filler = "words\n\n" * 60
    save(console.mirrord.file("Keys target.md"), f"{filler}## Deep *section*\n\n{filler}")
    row_of(console.mirrord, "Keys target.md")
    text = f"[[Keys target#Deep section]] [here](#far-down)\n\n{filler}## Far down\n\n{filler}"
    reader, _ = await sit_at(console, person, "headings", text)
    await reader.text.get_by_text("here", exact=True).click()
    await expect(reader.text.get_by_role("heading", name="Far down")).to_be_in_viewport()
    await reader.page.go_back()
    await reader.text.locator(".wikilink").click()

    await expect(reader.text.get_by_role("heading", name="Deep section")).to_be_in_viewport(timeout=PATIENCE)


async def test_a_link_to_no_page_looks_so_and_offers_to_make_it(console: Console, person: NewPerson) -> None:
    text = "[[Welcome]] [[Not There Yet]] [there](Keys%20folder/new.md)\n"
    reader, _ = await sit_at(console, person, "unresolved", text)
    await expect(reader.text.locator(".unresolved")).to_have_count(2, timeout=PATIENCE)
    await expect(reader.text.locator(".unresolved").first).to_contain_text("Not There Yet")
    back = reader.page.url
    for words, path in (("Not There Yet", "Not There Yet.md"), ("there", "Keys folder/new.md")):
        await reader.text.get_by_text(words, exact=True).click()
        await reader.page.get_by_role("button", name="Create it").click()
        await expect(reader.page.locator("#title")).to_have_text(
            path.rpartition("/")[2].removesuffix(".md"), timeout=PATIENCE
        )
        eventually(console.mirrord.file(path).exists, "the file of the new page")
        await reader.page.goto(back)

    await expect(reader.text.locator(".wikilink").first).to_be_visible(timeout=PATIENCE)
    await expect(reader.text.locator(".unresolved")).to_have_count(0, timeout=PATIENCE)


async def test_a_click_on_a_link_opens_it_and_a_drag_over_it_does_not(console: Console, person: NewPerson) -> None:
    reader, _ = await sit_at(console, person, "click", "a [link to elsewhere](http://127.0.0.1:9/x) and more\n")
    link = reader.text.locator("a.link")
    box = await link.bounding_box()
    assert box is not None
    await reader.page.mouse.move(box["x"] + 4, box["y"] + 5)
    await reader.page.mouse.down()
    await reader.page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 5, steps=3)
    await reader.page.mouse.up()
    assert len(reader.context.pages) == 1
    await reader.text.locator("p").click(position={"x": 400, "y": 5})
    async with reader.context.expect_page():
        await link.click()

    assert len(reader.context.pages) == 2


async def test_the_fields_of_a_block_are_within_the_screen(console: Console, person: NewPerson) -> None:
    reader, file = await sit_at(console, person, "fields", "words\n\n" * 40 + "$$\nx\n$$\n")
    fields = reader.page.get_by_role("form", name="Properties at the cursor")
    await expect(fields).to_be_hidden()
    await reader.text.locator("div.math").click()
    await expect(fields).to_be_in_viewport(ratio=1)
    await reader.press("Alt+Enter")
    await reader.type("\\gamma")

    becomes(file, "words\n\n" * 40 + "$$\n\\gamma\n$$\n")


async def test_the_address_of_a_link_is_typed_beside_its_words(console: Console, person: NewPerson) -> None:
    text = "word\n\n" * 5 + "linked words\n\n" + "word\n\n" * 30
    writer, file = await sit_at(console, person, "address", text)
    await writer.text.get_by_text("linked words").dblclick(position={"x": 10, "y": 10})
    await writer.press("Control+k")
    field = writer.page.get_by_role("combobox", name="Link to")
    await expect(field).to_be_focused()
    for scrolled in (0, 100):
        await writer.page.evaluate(SCROLL, scrolled)
        words = await writer.text.locator(".linking").bounding_box()
        place = await field.bounding_box()
        assert words
        assert place
        assert 0 < place["y"] - words["y"] < 90
    await field.fill("https://example.org")
    await writer.press("Enter")

    becomes(file, text.replace("linked", "[linked](https://example.org)"))


async def test_selected_words_are_formatted_by_the_bar_beside_them(console: Console, person: NewPerson) -> None:
    file = console.mirrord.file("Selected.md")
    save(file, "some plain words\n\n```\ncode\n```\n")
    writer = await person()
    await writer.open("Selected.md")
    bar = writer.page.get_by_role("group", name="Format the selected words")
    await expect(bar).to_be_hidden()
    await writer.text.get_by_text("some plain words").dblclick(position={"x": 50, "y": 10})
    await bar.get_by_role("button", name="Bold").click()
    await expect(bar.get_by_role("button", name="Bold")).to_have_attribute("aria-pressed", "true")
    becomes(file, "some **plain** words\n\n```\ncode\n```\n")
    words = await writer.text.locator("strong").bounding_box()
    place = await bar.bounding_box()
    assert words
    assert place
    assert abs(place["y"] - words["y"]) + abs(place["x"] - words["x"]) < 90
    await writer.press("ArrowRight")
    await expect(bar).to_be_hidden()
    await writer.text.locator("pre").dblclick()

    await expect(bar).to_be_hidden()
