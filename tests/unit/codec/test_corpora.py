"""The codec's laws on a sample of real pages; `make bench-codec` tries all of them."""

from pathlib import Path

import pytest

from tests.bench.codec import anew, keys, trials
from tests.judge import Verdict, document_html, verdict

FEWER = 12  # one page of so many, for random edits
EDITS = 60


def test_a_block_written_anew_means_the_same_to_another_parser(paths: list[Path]) -> None:
    blocks = [each for path in paths[::2] for each in anew.blocks_of(path)]

    assert [each for each in blocks if each.outcome in ("different", "refused")] == []
    assert sum(each.outcome == "same" for each in blocks) > 500


@pytest.mark.parametrize(
    "body",
    [
        "- [ ]\n- [x]\n",
        "```yml\n\n```\n",
        "\x0b**_a_** and _b_\n",
        "  1. a\n    1. b\n      1. c\n    1. d\n      1. e\n",
    ],
)
def test_a_page_as_an_app_makes_it_means_to_another_parser_what_its_source_means(body: str) -> None:
    assert verdict(document_html(body), document_html(anew.as_new_page(body))) is Verdict.SAME


def test_a_list_of_numbers_that_is_written_anew_rises_below_bullets_of_the_same_depth() -> None:
    body = "1. a\n   - x\n   - y\n2. b\n   1. c\n   2. d\n"

    assert anew.in_style(body) == body


def test_real_pages_as_apps_make_them_mean_the_same_to_another_parser(paths: list[Path]) -> None:
    pages = [anew.page_made_anew(path) for path in paths]

    assert [each for each in pages if each.outcome == "different"] == []
    assert sum(each.outcome in ("same", "spacing") for each in pages) > 20


def test_random_edits_say_what_was_wanted_and_leave_every_other_block(paths: list[Path]) -> None:
    outcomes = [trials.trial(seed, FEWER) for seed in range(EDITS)]

    assert [each for each in outcomes if each.wrong] == []
    assert sum(not each.refusal for each in outcomes) > EDITS * 0.9


def test_a_key_of_the_front_matter_changed_and_changed_back_leaves_the_file_as_it_was(paths: list[Path]) -> None:
    rounds = [each for path in paths for each in keys.rounds_of(path)]

    assert [each for each in rounds if each.lost] == []
    assert sum(each.outcome == "restored" for each in rounds) > 100
