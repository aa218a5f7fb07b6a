-- Events, and the authors that they name.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.event (
    tenant_id   uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    type        text NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    actor       jsonb NOT NULL DEFAULT mirrord.current_actor(),
    channel     text NOT NULL DEFAULT 'app',
    data        jsonb NOT NULL DEFAULT '{}',
    read_at     timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX event_by_time ON mirrord.event (tenant_id, occurred_at);
CREATE INDEX event_unread ON mirrord.event (occurred_at, tenant_id)
    WHERE read_at IS NULL AND data ->> 'trust' = 'NOTIFY';
CREATE INDEX event_of_deletion ON mirrord.event ((data ->> 'page_id'), tenant_id) WHERE type LIKE '%Deleted';

-- Only the database itself writes events of approvals (15_approvals.sql).
CREATE FUNCTION mirrord.event_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_user <> 'mirrord_definer' THEN
        RAISE EXCEPTION 'what becomes of approvals is told by the database itself'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER b_approvals BEFORE INSERT ON mirrord.event FOR EACH ROW
    WHEN (NEW.type LIKE 'Approval%')
    EXECUTE FUNCTION mirrord.event_before();
CREATE TRIGGER b_approvals_later BEFORE UPDATE ON mirrord.event FOR EACH ROW
    WHEN ((NEW.type LIKE 'Approval%' OR OLD.type LIKE 'Approval%')
          AND (NEW.type IS DISTINCT FROM OLD.type OR NEW.data IS DISTINCT FROM OLD.data
               OR NEW.actor IS DISTINCT FROM OLD.actor OR NEW.channel IS DISTINCT FROM OLD.channel))
    EXECUTE FUNCTION mirrord.event_before();

-- A tool writes a file and an event with the digest of the file; this names the tool as the author of the version that
-- the file became. Of several versions with that digest and without an author, it is the one nearest in time. Returns
-- whether there was one: event and version arrive independently, so the caller tries again until the version exists.
CREATE FUNCTION mirrord.name_author(event_id uuid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    someone CONSTANT jsonb := '{"kind": "human", "name": "file"}';
    told mirrord.event;
    named bigint;
BEGIN
    SELECT * INTO told FROM mirrord.event WHERE tenant_id = mirrord.current_tenant() AND id = event_id;
    IF NOT FOUND OR told.data ->> 'page_id' IS NULL
       OR told.data ->> 'page_id' !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        RETURN false;
    END IF;
    IF told.type LIKE '%Deleted' THEN
        SELECT version INTO named FROM mirrord.page_revision
         WHERE tenant_id = told.tenant_id AND page_id = (told.data ->> 'page_id')::uuid AND deleted AND actor = someone
         ORDER BY abs(extract(epoch FROM created_at - told.occurred_at)), version LIMIT 1;
    ELSIF told.data ->> 'digest' ~ '^[0-9a-f]{64}$' THEN
        SELECT version INTO named FROM mirrord.page_revision
         WHERE tenant_id = told.tenant_id AND page_id = (told.data ->> 'page_id')::uuid AND NOT deleted
           AND digest = decode(told.data ->> 'digest', 'hex') AND actor = someone
         ORDER BY abs(extract(epoch FROM created_at - told.occurred_at)), version LIMIT 1;
    END IF;
    IF named IS NULL THEN
        RETURN false;
    END IF;
    UPDATE mirrord.page_revision SET actor = told.actor || jsonb_build_object('channel', told.channel)
     WHERE tenant_id = told.tenant_id AND page_id = (told.data ->> 'page_id')::uuid AND version = named;
    UPDATE mirrord.page SET updated_by = told.actor || jsonb_build_object('channel', told.channel)
     WHERE tenant_id = told.tenant_id AND id = (told.data ->> 'page_id')::uuid AND version = named;
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION mirrord.name_author FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.name_author TO mirrord_daemon;

-- Marks notices as read and returns their number. events: NULL for all.
CREATE FUNCTION mirrord.read_notifications(events uuid[] DEFAULT NULL) RETURNS bigint
    LANGUAGE sql
BEGIN ATOMIC
    WITH changed AS (
        UPDATE mirrord.event SET read_at = clock_timestamp()
         WHERE tenant_id = mirrord.current_tenant() AND read_at IS NULL AND data ->> 'trust' = 'NOTIFY'
           AND (events IS NULL OR id = ANY (events))
        RETURNING 1)
    SELECT count(*) FROM changed;
END;
REVOKE ALL ON FUNCTION mirrord.read_notifications FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.read_notifications TO mirrord_app, mirrord_daemon;

RESET ROLE;
