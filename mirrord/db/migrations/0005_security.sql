-- Who may do what. Policies call the bare tenant function: no subquery, so they also work on shards.
SET ROLE mirrord_owner;

DO $$
DECLARE
    tenant_table text;
    own_key text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['tenant', 'tenant_clock', 'entry_feed', 'page', 'page_revision', 'page_link',
        'attachment', 'blob', 'record', 'event', 'approval', 'mirror', 'mirror_base', 'conflict', 'halt', 'problem'] LOOP
        own_key := CASE tenant_table WHEN 'tenant' THEN 'id' ELSE 'tenant_id' END;
        EXECUTE format('ALTER TABLE mirrord.%I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE mirrord.%I FORCE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('CREATE POLICY app ON mirrord.%I TO mirrord_app '
                       'USING (%I = mirrord.current_tenant()) WITH CHECK (%I = mirrord.current_tenant())',
                       tenant_table, own_key, own_key);
        EXECUTE format('CREATE POLICY owner ON mirrord.%I TO mirrord_owner '
                       'USING (%I = mirrord.current_tenant()) WITH CHECK (%I = mirrord.current_tenant())',
                       tenant_table, own_key, own_key);
        IF tenant_table IN ('tenant', 'tenant_clock', 'mirror') THEN
            -- ids, counters and leases of all tenants: polls and renewals are one statement
            EXECUTE format('CREATE POLICY daemon ON mirrord.%I TO mirrord_daemon USING (true) WITH CHECK (true)',
                           tenant_table);
        ELSE
            EXECUTE format('CREATE POLICY daemon ON mirrord.%I TO mirrord_daemon '
                           'USING (%I = mirrord.current_tenant()) WITH CHECK (%I = mirrord.current_tenant())',
                           tenant_table, own_key, own_key);
        END IF;
    END LOOP;
END
$$;

GRANT SELECT ON ALL TABLES IN SCHEMA mirrord TO mirrord_app;
GRANT INSERT (tenant_id, id, parent_id, kind, name, title, icon, position, frontmatter, markdown, content),
      UPDATE (parent_id, name, title, icon, position, frontmatter, markdown, content, deleted_at),
      DELETE ON mirrord.page TO mirrord_app;
GRANT INSERT (tenant_id, id, parent_id, name, digest, size, media_type), UPDATE (deleted_at), DELETE
      ON mirrord.attachment TO mirrord_app;
GRANT INSERT ON mirrord.blob TO mirrord_app;
GRANT INSERT (tenant_id, id, kind, key, data), UPDATE (data, deleted_at), DELETE ON mirrord.record TO mirrord_app;
GRANT INSERT ON mirrord.event TO mirrord_app;
GRANT UPDATE (read_at) ON mirrord.event TO mirrord_app;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mirrord TO mirrord_daemon;

-- mirrord itself reads the number of the newest migration from this table, whoever it acts as.
GRANT SELECT ON mirrord.migration TO mirrord_daemon, mirrord_app;

RESET ROLE;
