-- The base of a written file is stored in one statement (docs/scaling.md).
SET ROLE mirrord_owner;

-- The base of a written file, as a transaction by itself: one statement binds it to the tenant, holds the lease and
-- stores the base. saved NULL: the version saved in the file before stays.
CREATE FUNCTION mirrord.store_base(of_tenant uuid, held_mirror uuid, held_token bigint, base json) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stored_version bigint;
BEGIN
    PERFORM set_config('mirrord.tenant', of_tenant::text, true);
    PERFORM mirrord.hold_lease(held_mirror, held_token);
    INSERT INTO mirrord.mirror_base AS b
        (tenant_id, mirror_id, entry_id, kind, path, parent_id, name, index, version, digest, claimed, saved)
    SELECT of_tenant, held_mirror, entry, kind, path, base_parent, base_name, base_index, g.version,
           decode(base_digest, 'hex'), claimed, g.saved
      FROM json_to_record(base) AS g (
        entry uuid, kind text, path text, base_parent uuid, base_name text, base_index boolean, version bigint,
        base_digest text, claimed text, saved bigint)
    ON CONFLICT (tenant_id, mirror_id, entry_id) DO UPDATE SET
        kind = EXCLUDED.kind, path = EXCLUDED.path, parent_id = EXCLUDED.parent_id, name = EXCLUDED.name,
        index = EXCLUDED.index, version = EXCLUDED.version, digest = EXCLUDED.digest, claimed = EXCLUDED.claimed,
        saved = coalesce(EXCLUDED.saved, b.saved)
    RETURNING b.version INTO stored_version;
    RETURN stored_version;
END
$$;

RESET ROLE;
