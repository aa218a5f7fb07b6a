-- Tags in a graph of Logseq are links to pages: pages that may have one are read again, under their versions and with
-- the ids of their blocks.
SET ROLE mirrord_daemon;  -- which sees every tenant

DO $$
DECLARE
    tenant uuid;
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;  -- the feed is written while the tenant is set
    FOR tenant IN SELECT id FROM mirrord.tenant WHERE dialect = 'logseq' LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        UPDATE mirrord.page SET content = NULL
         WHERE tenant_id = tenant AND content IS NOT NULL AND ahead = '{}' AND markdown ~ '#[^\s#]';
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
