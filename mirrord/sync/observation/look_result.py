"""The result of a look at paths of the tree."""

from dataclasses import dataclass, field

from mirrord.domain.entry import UnreadableFile
from mirrord.markdown.frontmatter.page_properties import Views
from mirrord.mirror.state_file import CachedStat
from mirrord.mirror.tree.tree_scan import Scan
from mirrord.sync.observation.identity_evidence import FoundFile, Inode


@dataclass(slots=True)
class LookResult:
    """
    The result of a look.

    found_files: new, changed or forced files and directories by path. views: of the pages among them.
    gone_paths: paths that are empty now. looked_paths: paths that were looked at.
    old_path: the earlier path by inode of a found file, when its entry was last known. earlier_records: what the index
    had at the paths of these files before.
    troubles: (path, code, sentence) to be listed. vanished_paths: empty paths, until all existing paths were looked at.
    """

    found_files: dict[str, FoundFile] = field(default_factory=dict)
    views: dict[str, Views] = field(default_factory=dict)
    gone_paths: set[str] = field(default_factory=set)
    unknown_files: dict[str, UnreadableFile] = field(default_factory=dict)
    troubles: list[tuple[str, str, str]] = field(default_factory=list)
    old_path: dict[Inode, str] = field(default_factory=dict)
    earlier_records: dict[str, CachedStat | None] = field(default_factory=dict)
    looked_paths: set[str] = field(default_factory=set)
    vanished_paths: set[str] = field(default_factory=set)

    @property
    def paths_to_retry(self) -> list[str]:
        """Paths to look at again soon, because their obstacle is temporary."""
        held_paths = [path for path, file in self.found_files.items() if file.is_held_open]
        return held_paths + [path for path, unknown in self.unknown_files.items() if unknown.is_temporary]

    def add_scan_troubles(self, scanned: Scan) -> None:
        """Add the problems of a scan."""
        for path, sentence in scanned.troubles:
            self.troubles.append((path, "refused", f"{path!r} {sentence}."))
