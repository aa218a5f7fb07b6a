-- Statistics. An import fills tables faster than autovacuum analyzes them. Without statistics the planner expects one
-- row a tenant, and reads all rows of a tenant where it should look one up.
SET ROLE mirrord_owner;

-- Analyzes each table that has more than doubled since it was last analyzed; otherwise it is cheap. Call it between
-- large writes. Columns of text are left out, because no plan depends on them. Owned by mirrord_owner, because only
-- the owner of a table may analyze it.
CREATE FUNCTION mirrord.keep_statistics() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET default_statistics_target = 10 AS $$
DECLARE
    grown record;
    least_pages constant integer := 16;
    page_bytes constant integer := current_setting('block_size');
BEGIN
    FOR grown IN
        SELECT class.oid::regclass AS name, given.columns
          FROM (VALUES
            ('mirrord.mirror_base', 'tenant_id, mirror_id, entry_id, path, digest, kind'),
            ('mirrord.page', 'tenant_id, id, parent_id, name, name_key, kind, deleted_at, updated_at'),
            ('mirrord.page_revision', 'tenant_id, page_id, version, digest, op_id'),
            ('mirrord.entry_feed', 'tenant_id, entry_id, seq, kind'),
            ('mirrord.page_link', 'tenant_id, source_id, number, target_id, target_key, due'),
            ('mirrord.link_name', 'tenant_id, entry_id, number, key'),
            ('mirrord.page_search', 'tenant_id, page_id, changed_at, words, names'),
            ('mirrord.attachment', 'tenant_id, id, parent_id, name_key, deleted_at')
          ) AS given (name, columns)
          JOIN pg_class AS class ON class.oid = given.name::regclass
         WHERE pg_relation_size(class.oid) > 2 * page_bytes * greatest(class.relpages, least_pages)
    LOOP
        -- SKIP_LOCKED: a session that analyzes the table already does it for all.
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s (%s)', grown.name, grown.columns);
    END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION mirrord.keep_statistics() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.keep_statistics() TO mirrord_daemon;

RESET ROLE;
