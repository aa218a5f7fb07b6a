-- Engine processes that share the tenants of a pool (docs/decisions/0064). A process renews its row; it works on the
-- tenants that it has claimed. Once its row has expired, other processes of the pool may claim them.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.engine_process (
    pool       text NOT NULL,
    name       text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (pool, name)
);

CREATE TABLE mirrord.tenant_claim (
    tenant_id uuid NOT NULL,
    pool      text NOT NULL,
    process   text NOT NULL,
    PRIMARY KEY (tenant_id, pool),
    FOREIGN KEY (tenant_id) REFERENCES mirrord.tenant (id)
);

ALTER TABLE mirrord.tenant_claim ENABLE ROW LEVEL SECURITY;
ALTER TABLE mirrord.tenant_claim FORCE ROW LEVEL SECURITY;
CREATE POLICY app ON mirrord.tenant_claim TO mirrord_app
    USING (tenant_id = mirrord.current_tenant()) WITH CHECK (tenant_id = mirrord.current_tenant());
CREATE POLICY owner ON mirrord.tenant_claim TO mirrord_owner
    USING (tenant_id = mirrord.current_tenant()) WITH CHECK (tenant_id = mirrord.current_tenant());
CREATE POLICY daemon ON mirrord.tenant_claim TO mirrord_daemon USING (true) WITH CHECK (true);
CREATE POLICY definer ON mirrord.tenant_claim TO mirrord_definer
    USING (tenant_id = mirrord.current_tenant()) WITH CHECK (tenant_id = mirrord.current_tenant());

CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.engine_process
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();
CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.tenant_claim
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();
GRANT SELECT ON mirrord.tenant_claim TO mirrord_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.tenant_claim TO mirrord_daemon, mirrord_definer;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.engine_process TO mirrord_daemon;

RESET ROLE;
