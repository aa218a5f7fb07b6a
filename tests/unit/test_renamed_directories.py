"""Which entries are looked at again after directories were renamed."""

from mirrord.domain.entry import digest_of
from mirrord.mirror.mirror_state import CachedStat
from mirrord.mirror.seen_files import Index
from mirrord.sync.pass_results import find_content_of_shared
from tests.unit.test_identity import A


def index_of(*paths: str) -> Index:
    return Index({path: CachedStat(8, 100 + n, 1, 1, 1, digest_of(b""), A) for n, path in enumerate(paths)})


def test_what_a_folder_took_from_a_page_of_the_same_name_is_looked_at() -> None:
    index = index_of("Plan.md", "Plan (2)", "Plan (2)/assets/sketch.svg", "Plan (2)/Child.md")
    paths = find_content_of_shared(index, [("Plan", "Plan (2)")])
    assert paths == {"Plan (2)/assets/sketch.svg", "Plan (2)/Child.md"}


def test_the_content_of_a_folder_alone_is_not() -> None:
    index = index_of("Box", "Box/Child.md")
    assert find_content_of_shared(index, [("Shelf", "Box")]) == set()


def test_of_two_pages_that_swapped_their_names_it_is_not() -> None:
    index = index_of("One.md", "One/Child.md", "Two.md", "Two/Child.md")
    assert find_content_of_shared(index, [("One", "Two"), ("Two", "One")]) == set()
