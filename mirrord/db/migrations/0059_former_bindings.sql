-- A binding that is dropped and added again knows the pages that came from files (docs/decisions/0107).
SET ROLE mirrord_owner;

-- What rows and pages agreed on in a binding that was dropped: added again under its name, it knows them by this.
CREATE TABLE mirrord.former_binding_entry (
    tenant_id   uuid NOT NULL,
    binding_id  uuid NOT NULL,                   -- the same when the binding is added again
    external_id text COLLATE "C" NOT NULL,
    entry_id    uuid NOT NULL,
    version     bigint NOT NULL,                 -- of the page
    page_table  text NOT NULL,                   -- of the app: a row of another one has nothing to do with the page
    PRIMARY KEY (tenant_id, binding_id, external_id),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

ALTER TABLE mirrord.former_binding_entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE mirrord.former_binding_entry FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon', 'definer'] LOOP
        EXECUTE format('CREATE POLICY %1$I ON mirrord.former_binding_entry TO %2$I USING (%3$s) WITH CHECK (%3$s)',
                       role_name, 'mirrord_' || role_name, 'tenant_id = mirrord.current_tenant()');
    END LOOP;
END
$$;
CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.former_binding_entry
    FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant();
CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.former_binding_entry
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();
GRANT SELECT ON mirrord.former_binding_entry TO mirrord_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.former_binding_entry TO mirrord_daemon, mirrord_definer;

RESET ROLE;
