"""Which tools work through the scope of a token, and what is said about the others."""

from mirrord.commands.core.failure import Failed

# Tools that see the tree through the session only.
SCOPED_TOOLS = frozenset(
    (
        *("list_pages", "get_tree", "search_pages", "find_pages", "get_page_links"),
        *("read_page", "read_pages", "sync_status", "list_attachments", "read_attachment"),
        *(
            "write_page",
            "edit_page",
            "create_page",
            "move_page",
            "delete_page",
            "restore_page",
            "add_attachment",
            *("edit_pages", "merge_pages", "split_page", "rename_heading"),
        ),
        *("begin_changes", "review_changes", "apply_changes", "discard_changes", "changes_status", "list_trash"),
        *("list_folders", "create_folder", "rename_folder", "delete_folder", "move_source_to_folder"),
        *("list_sources", "get_source_text", "rename_source", "delete_source"),
        *("import_file", "import_survey", "detect_speakers"),
        # those that give or take names are not served: whether one is free would tell of what is hidden
        *("collection_list", "collection_content", "collection_change", "collection_update"),
        *("category_list", "category_change", "category_update"),
    )
)

# Tools that ask the daemon; the request carries the scope.
ASKING_TOOLS = frozenset(("list_changes", "page_history", "diff_page", "undo_changes"))


def works_scoped(name: str) -> bool:
    """Whether a tool works through a scope, of a token or of a local caller."""
    return name in SCOPED_TOOLS or name in ASKING_TOOLS


def not_with_patterns(name: str) -> Failed:
    """The failure of a tool that a token with patterns may not use."""
    sentence = f"{name} is not served to tokens with patterns of paths."
    return Failed(
        "NOT_ALLOWED", "forbidden", sentence, "Do without it, or ask the person for a token without patterns."
    )
