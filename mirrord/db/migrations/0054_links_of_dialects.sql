-- Links of Obsidian's and Logseq's pages have the meanings that those programs give them (docs/decisions/0094): names
-- and meanings of such tenants are looked up again.
SET ROLE mirrord_daemon;  -- which sees every tenant

DO $$
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT id FROM mirrord.tenant WHERE dialect IN ('obsidian', 'logseq') LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        UPDATE mirrord.page_link SET due = true WHERE tenant_id = tenant AND NOT due;
        UPDATE mirrord.link_cursor SET seq = 0, entry_id = '00000000-0000-0000-0000-000000000000'
         WHERE tenant_id = tenant;
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
