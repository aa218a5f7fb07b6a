-- Policies of every table. Idempotent: `mirrord migrate --policies` runs this file again to restore them.
SET ROLE mirrord_owner;

-- Rows of the tenant that is set. Policies call the function itself, without a subquery, so that they work on shards.
-- The daemon sees all rows of five tables: polls, renewals of leases and claims are one statement for all tenants.
-- On a cluster they do not bind the owner, which may not log in: a shard that moves is written as the owner.
DO $$
DECLARE
    tenant_table text;
    old_policy text;
    role_name text;
    own_key text;
    is_shared boolean;  -- by the tenants of a daemon
    is_cluster boolean := coalesce(current_setting('mirrord.cluster', true), '') = 'on';
BEGIN
    FOR tenant_table IN
        SELECT relname FROM pg_catalog.pg_class
         WHERE relnamespace = 'mirrord'::regnamespace AND relkind = 'r'
           AND relname NOT IN ('migration', 'epoch', 'engine_process')
    LOOP
        FOR old_policy IN
            SELECT polname FROM pg_catalog.pg_policy WHERE polrelid = format('mirrord.%I', tenant_table)::regclass
        LOOP
            EXECUTE format('DROP POLICY %I ON mirrord.%I', old_policy, tenant_table);
        END LOOP;
        own_key := CASE tenant_table WHEN 'tenant' THEN 'id' ELSE 'tenant_id' END;
        is_shared := tenant_table IN ('tenant', 'tenant_clock', 'mirror', 'tenant_claim', 'binding');
        EXECUTE format('ALTER TABLE mirrord.%I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE mirrord.%I %s ROW LEVEL SECURITY', tenant_table,
                       CASE WHEN is_cluster THEN 'NO FORCE' ELSE 'FORCE' END);
        FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon', 'definer'] LOOP
            EXECUTE format('CREATE POLICY %1$I ON mirrord.%2$I TO %3$I USING (%4$s) WITH CHECK (%4$s)',
                           role_name, tenant_table, 'mirrord_' || role_name,
                           CASE WHEN is_shared AND role_name = 'daemon' THEN 'true'
                                ELSE format('%I = mirrord.current_tenant()', own_key) END);
        END LOOP;
    END LOOP;
END
$$;

-- Postgres uses no index of words beside a policy, so two functions that name the tenant themselves read page_search
-- without one (docs/decisions/0079).
CREATE POLICY definer_reads ON mirrord.page_search FOR SELECT TO mirrord_definer USING (true);
RESET ROLE;
