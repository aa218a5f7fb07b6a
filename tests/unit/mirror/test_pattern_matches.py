"""Which patterns mean something that is in a tree."""

from pathlib import Path

from mirrord.domain.scope import parse_pattern
from mirrord.mirror.read.pattern_matches import find_unmatched
from mirrord.mirror.tree.tenant_tree import Tree

FILES = ("Inbox/A.md", "Projects/Deep/B.md", "Projects/Deep/assets/p.png", ".mirrord/state.json", ".records/x.md")
MATCHING = ("inbox/**", "Inbox", "INBOX/*", "**/B", "Projects/*/B.md", "**", "Projects/Deep/assets/*.png")
UNMATCHED = ("Inbx/**", "Inbox/B.md", "Projects/B.md", "*.md", ".mirrord/**", ".records", "Inbox/A/**/C")


def test_patterns_that_mean_nothing_in_the_tree_are_listed_in_any_case_of_names(tmp_path: Path) -> None:
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("text\n", encoding="utf-8")
    tree = Tree(tmp_path)
    try:
        patterns = [parse_pattern(text) for text in (*MATCHING, *UNMATCHED)]
        assert [str(pattern) for pattern in find_unmatched(tree, patterns)] == list(UNMATCHED)
    finally:
        tree.close()
