from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from mirrord.domain.entry import NO_TEXT, Digest, EntryId, digest_of
from mirrord.mirror.seen_files import Index
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.kernel import Stat

numbers = st.integers(0, 2**64 - 1)
moments = st.integers(-(2**63), 2**63 - 1)
digests = st.sampled_from([NO_TEXT, digest_of(b"a"), digest_of(b"b")])
looks = st.builds(CachedStat, numbers, numbers, numbers, moments, moments, digests, st.builds(EntryId, st.uuids()))
OTHER = EntryId(UUID(int=7))


def stat_of(cached: CachedStat) -> Stat:
    return Stat(*cached[:5], 0o100644, 1)


@given(st.dictionaries(st.text(min_size=1), looks, max_size=5))
def test_an_index_gives_back_what_it_was_given(given_looks: dict[str, CachedStat]) -> None:
    index = Index(dict(given_looks))
    assert {path: index.get(path) for path in index.paths()} == given_looks


@given(looks, looks)
def test_a_file_differs_where_any_of_its_facts_do(before: CachedStat, after: CachedStat) -> None:
    index = Index({"A.md": before})
    assert not index.differs("A.md", stat_of(before))
    assert index.differs("A.md", stat_of(after)) == (before[:5] != after[:5])
    assert index.has_digest("A.md", before.digest)
    assert index.has_digest("A.md", after.digest) == (before.digest == after.digest)
    assert not index.has_digest("A.md", Digest(before.digest + b"x"))


@given(looks)
def test_whose_file_it_is_changes_nothing_else(cached: CachedStat) -> None:
    index = Index({"A.md": cached})
    assert index.set_entry("A.md", OTHER) == cached._replace(entry=OTHER)
    assert index.get("A.md") == cached._replace(entry=OTHER)
    assert index.set_entry("B.md", OTHER) is None


@given(looks)
def test_a_file_is_followed_by_its_inode(cached: CachedStat) -> None:
    index = Index({"A.md": cached})
    index.record("B.md", cached)
    assert index.path_of((cached.device, cached.inode)) == "B.md"
    assert index.origin_of((cached.device, cached.inode)) == "A.md"
    index.drop_origin("B.md")
    assert index.origin_of((cached.device, cached.inode)) == "B.md"


@given(looks)
def test_where_a_file_was_is_told_by_the_name_its_directory_has_now(cached: CachedStat) -> None:
    index, inode = Index({"Box/A.md": cached}), (cached.device, cached.inode)
    index.record("Box/In/B.md", cached)
    index.forget("Box/A.md")
    index.rename("Box", "Crate")
    assert (index.path_of(inode), index.origin_of(inode)) == ("Crate/In/B.md", "Crate/A.md")
    index.exchange("Crate", "Chest")
    assert (index.path_of(inode), index.origin_of(inode)) == ("Chest/In/B.md", "Chest/A.md")
    index.drop_origin("Chest/In/B.md")
    index.rename("Chest", "Box")
    assert index.origin_of(inode) == "Box/In/B.md"
