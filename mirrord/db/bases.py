"""SQL that records a mirror's base in the same statement as the write of the row (`written`)."""

_UPSERT_BASE = """
INSERT INTO mirrord.mirror_base AS b
    (tenant_id, mirror_id, entry_id, kind, path, parent_id, name, index, version, digest, claimed, saved)
SELECT %(tenant)s, %(mirror)s, %(entry)s, %(kind)s, %(path)s, %(base_parent)s, %(base_name)s, %(base_index)s,
       written.version, %(base_digest)s, %(claimed)s, {saved}
FROM written
ON CONFLICT (tenant_id, mirror_id, entry_id) DO UPDATE SET
    kind = EXCLUDED.kind, path = EXCLUDED.path, parent_id = EXCLUDED.parent_id, name = EXCLUDED.name,
    index = EXCLUDED.index, version = EXCLUDED.version, digest = EXCLUDED.digest, claimed = EXCLUDED.claimed,
    saved = coalesce(EXCLUDED.saved, b.saved)
RETURNING b.version
"""
UPSERT_SAVED = _UPSERT_BASE.format(saved="written.version")  # the version is that of the file's content
UPSERT_MOVED = _UPSERT_BASE.format(saved="NULL::bigint")  # no new text
UPSERT_AGREED = _UPSERT_BASE.format(saved="%(saved)s::bigint")  # NULL: keep the version saved in the file before
WHERE_EXPECTED = "WHERE tenant_id = %(tenant)s AND id = %(entry)s AND version = %(expected)s RETURNING version"
