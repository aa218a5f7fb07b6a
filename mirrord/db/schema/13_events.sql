-- Events. The authors that they name are in 18_change_sets.sql.
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

-- Marks notices as read and returns their number. events: NULL for all.
CREATE FUNCTION mirrord.read_notifications(events uuid[] DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    UPDATE mirrord.event SET read_at = statement_timestamp()
     WHERE tenant_id = mirrord.current_tenant() AND read_at IS NULL AND data ->> 'trust' = 'NOTIFY'
       AND (events IS NULL OR id = ANY (events));
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
REVOKE ALL ON FUNCTION mirrord.read_notifications FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.read_notifications TO mirrord_app, mirrord_daemon;

RESET ROLE;
