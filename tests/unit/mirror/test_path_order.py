"""Many paths are ordered as by_depth() orders them, in one string each."""

from hypothesis import example, given
from hypothesis import strategies as st

from mirrord.mirror.tree.kernel import Stat
from mirrord.mirror.tree.packed_stats import PackedStats
from mirrord.mirror.tree.path_order import order_key_of, path_of_order_key
from mirrord.mirror.tree.tree_layout import by_depth

PARTS = st.one_of(
    st.sampled_from(["a", "a.md", "_index.md", "b b", ".md", "ä", "a\x01", "𝄞.md"]), st.text("ab.\x01", min_size=1)
)
PATHS = st.lists(PARTS, max_size=4).map("/".join)
NUMBERS = st.integers(-(2**63) - 1, 2**64)
STATS = st.builds(Stat, *[NUMBERS] * 7)


@given(st.lists(PATHS, unique=True))
@example(["a/_index.md", "a.md", "a", "a/b", "a b.md", "b.md", ""])
def test_paths_have_the_order_of_their_depth_and_come_back(paths: list[str]) -> None:
    keys = sorted(map(order_key_of, paths))
    ordered = list(map(path_of_order_key, keys))
    assert sorted(ordered) == sorted(paths)
    assert list(map(by_depth, ordered)) == sorted(map(by_depth, paths))


@given(st.dictionaries(PATHS, STATS))
def test_stats_come_back_as_they_were_whatever_a_file_system_says(stats: dict[str, Stat]) -> None:
    packed = PackedStats()
    for path, stat in stats.items():
        packed.add(path, stat)
    assert packed == stats
    assert list(packed) == list(stats)
    assert all(path in packed for path in stats)
    assert "elsewhere" not in packed or "elsewhere" in stats
