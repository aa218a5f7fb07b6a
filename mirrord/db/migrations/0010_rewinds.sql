-- How a mirror notices that its database, or its tree, is an earlier one than it has worked with: both sides hold the
-- same counter, and the database has an epoch that a restore changes.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.mirror ADD COLUMN acks bigint NOT NULL DEFAULT 0;  -- rounds of work acknowledged; the tree's is not less

-- One row. A restore of the whole database may renew id by hand: every mirror then compares as after a rewind.
CREATE TABLE mirrord.epoch (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id     uuid NOT NULL DEFAULT gen_random_uuid(),
    system bigint  -- identifier of the cluster whose transaction ids tenant_clock holds
);
INSERT INTO mirrord.epoch (system) SELECT system_identifier FROM pg_control_system();
GRANT SELECT, UPDATE ON mirrord.epoch TO mirrord_daemon;
CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.epoch
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();

-- Attachments have a history, too: what may be overwritten, and what a tenant had at a moment, follows from it.
CREATE TABLE mirrord.attachment_revision (
    tenant_id     uuid NOT NULL,
    attachment_id uuid NOT NULL,
    version       bigint NOT NULL,
    digest        bytea NOT NULL,
    size          bigint NOT NULL,
    media_type    text,
    parent_id     uuid,
    name          text NOT NULL,
    deleted       boolean NOT NULL DEFAULT false,
    actor         jsonb,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, attachment_id, version),
    FOREIGN KEY (tenant_id, attachment_id) REFERENCES mirrord.attachment (tenant_id, id) ON DELETE CASCADE
);

CREATE FUNCTION mirrord.attachment_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.attachment_revision (tenant_id, attachment_id, version, digest, size, media_type,
            parent_id, name, deleted, actor)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.digest, NEW.size, NEW.media_type,
            NEW.parent_id, NEW.name, NEW.deleted_at IS NOT NULL, NEW.updated_by);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER c_history AFTER INSERT OR UPDATE ON mirrord.attachment
    FOR EACH ROW EXECUTE FUNCTION mirrord.attachment_history();

ALTER TABLE mirrord.attachment_revision ENABLE ROW LEVEL SECURITY;
ALTER TABLE mirrord.attachment_revision FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon'] LOOP
        EXECUTE format('CREATE POLICY %I ON mirrord.attachment_revision TO %I USING (tenant_id = mirrord.current_tenant()) '
                       'WITH CHECK (tenant_id = mirrord.current_tenant())', role_name, 'mirrord_' || role_name);
    END LOOP;
END
$$;
CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.attachment_revision
    FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant();
CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.attachment_revision
    FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate();
GRANT SELECT ON mirrord.attachment_revision TO mirrord_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.attachment_revision TO mirrord_daemon;

-- What is there already begins its history now, one tenant after the other.
ALTER TABLE mirrord.tenant NO FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT id FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        INSERT INTO mirrord.attachment_revision (tenant_id, attachment_id, version, digest, size, media_type, parent_id,
            name, deleted, actor, created_at)
        SELECT tenant_id, id, version, digest, size, media_type, parent_id, name, deleted_at IS NOT NULL, updated_by,
               updated_at
          FROM mirrord.attachment WHERE tenant_id = tenant;
    END LOOP;
END
$$;
ALTER TABLE mirrord.tenant FORCE ROW LEVEL SECURITY;

RESET ROLE;
