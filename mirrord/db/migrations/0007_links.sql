-- Links: what pages say is derived from their text; what it means follows from the names of all entries.
-- Entries are looked up by key in both tables, so here not even primary keys begin with the tenant: while the tables
-- are small, a plan that reads all of a tenant's rows looks best, and it would be kept.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page_link
    ADD COLUMN heading    text,                            -- what follows #; ^id for a block
    ADD COLUMN alias      text,                            -- the text shown, where the link has its own
    ADD COLUMN ambiguous  boolean NOT NULL DEFAULT false,  -- several entries fit equally well: target_id is NULL
    ADD COLUMN target_key text COLLATE "C",                -- key of the target's last part, which names share
    ADD COLUMN due        boolean NOT NULL DEFAULT true;   -- what it means is to be looked up (again)
ALTER TABLE mirrord.page_link DROP CONSTRAINT page_link_pkey, ADD PRIMARY KEY (source_id, number, tenant_id);
CREATE INDEX page_link_by_key ON mirrord.page_link (target_key, tenant_id);
CREATE INDEX page_link_due ON mirrord.page_link (tenant_id, source_id, number) WHERE due;

-- Under what names links find an entry, as of link_cursor; number 0 is its file's. Only living entries are here.
CREATE TABLE mirrord.link_name (
    tenant_id uuid NOT NULL,
    entry_id  uuid NOT NULL,
    number    integer NOT NULL,
    kind      text NOT NULL,                -- of the entry
    parent_id uuid,
    index     boolean NOT NULL,
    called    text NOT NULL CHECK (called IN ('name', 'title', 'alias')),
    name      text NOT NULL,
    key       text COLLATE "C" NOT NULL,    -- of its last part
    PRIMARY KEY (entry_id, number, tenant_id)
);
CREATE INDEX link_name_by_key ON mirrord.link_name (key, tenant_id);

-- Up to which entry of the feed link_name is. Whoever resolves links holds this row.
CREATE TABLE mirrord.link_cursor (
    tenant_id uuid PRIMARY KEY,
    seq       bigint NOT NULL,
    entry_id  uuid NOT NULL
);

DO $$
DECLARE
    tenant_table text;
    role_name text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['link_name', 'link_cursor'] LOOP
        EXECUTE format('ALTER TABLE mirrord.%I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE mirrord.%I FORCE ROW LEVEL SECURITY', tenant_table);
        FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon'] LOOP
            EXECUTE format('CREATE POLICY %I ON mirrord.%I TO %I USING (tenant_id = mirrord.current_tenant()) '
                           'WITH CHECK (tenant_id = mirrord.current_tenant())',
                           role_name, tenant_table, 'mirrord_' || role_name);
        END LOOP;
        EXECUTE format('CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.%I '
                       'FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant()', tenant_table);
        EXECUTE format('CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate()', tenant_table);
    END LOOP;
END
$$;

GRANT SELECT ON mirrord.link_name, mirrord.link_cursor TO mirrord_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.link_name, mirrord.link_cursor TO mirrord_daemon;

-- Links come with documents, so documents that are there already are derived once more. One tenant after the other, as
-- everywhere; only the list of tenants is read across, and feeds ring at once, while their tenant is set.
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE mirrord.tenant NO FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT id FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        UPDATE mirrord.page SET prior = content, content = NULL WHERE tenant_id = tenant AND content IS NOT NULL AND ahead = '{}';
    END LOOP;
END
$$;
ALTER TABLE mirrord.tenant FORCE ROW LEVEL SECURITY;

RESET ROLE;
