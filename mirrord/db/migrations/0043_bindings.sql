-- Bindings of the tables of apps (docs/decisions/0077). The queue of changed rows, the triggers and their functions are
-- in the schema mirrord_bind, which the first binding creates and the last one removes.
SET ROLE mirrord_owner;

-- One row a binding. The daemon sees those of all tenants.
CREATE TABLE mirrord.binding (
    tenant_id         uuid NOT NULL,
    id                uuid NOT NULL,
    name              text NOT NULL,
    mapping           text NOT NULL,            -- the TOML file
    fingerprint       jsonb NOT NULL,           -- the types of the app's columns, by table and column
    state             text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'halted')),
    sentence          text,                     -- why it is halted, or does less than it should; NULL: nothing is wrong
    feed_seq          bigint NOT NULL DEFAULT 0,  -- changes of pages were looked at up to here
    deletions_allowed boolean NOT NULL DEFAULT false,  -- a person decided that all deletions in the app are meant
    compare_every     interval NOT NULL,        -- between two comparisons of all rows
    compared_at       timestamptz,              -- NULL: all rows are to be compared
    created_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT binding_name_is_free UNIQUE (name, tenant_id),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

-- The last state of each row of an app that the row and its page agreed on, as mirror_base is for files.
CREATE TABLE mirrord.binding_entry (
    tenant_id        uuid NOT NULL,
    binding_id       uuid NOT NULL,
    external_id      text COLLATE "C" NOT NULL,  -- the key of the row in the app
    entry_id         uuid NOT NULL,
    version          bigint NOT NULL,            -- of the page
    digest           bytea NOT NULL,             -- of all that the app says about the page
    external_version text NOT NULL,              -- of the row: the transactions that wrote it
    PRIMARY KEY (tenant_id, binding_id, external_id),
    CONSTRAINT binding_entry_is_bound_once UNIQUE (entry_id, binding_id, tenant_id),
    FOREIGN KEY (tenant_id, binding_id) REFERENCES mirrord.binding (tenant_id, id) ON DELETE CASCADE
);

ALTER TABLE mirrord.binding ENABLE ROW LEVEL SECURITY;
ALTER TABLE mirrord.binding FORCE ROW LEVEL SECURITY;
ALTER TABLE mirrord.binding_entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE mirrord.binding_entry FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    tenant_table text;
    role_name text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['binding', 'binding_entry'] LOOP
        FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon', 'definer'] LOOP
            EXECUTE format('CREATE POLICY %1$I ON mirrord.%2$I TO %3$I USING (%4$s) WITH CHECK (%4$s)',
                           role_name, tenant_table, 'mirrord_' || role_name,
                           CASE WHEN tenant_table = 'binding' AND role_name = 'daemon' THEN 'true'
                                ELSE 'tenant_id = mirrord.current_tenant()' END);
        END LOOP;
        EXECUTE format('CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate()', tenant_table);
        EXECUTE format('GRANT SELECT ON mirrord.%I TO mirrord_app', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.%I TO mirrord_daemon, mirrord_definer',
                       tenant_table);
    END LOOP;
END
$$;
CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.binding_entry
    FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant();

RESET ROLE;
