-- Approvals: what is asked for never changes, what becomes of it goes one way, only a person with credentials decides,
-- and what is told of all that is told by the database itself.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.approval
    DROP COLUMN base_digest,
    ALTER COLUMN mirror_id SET NOT NULL,
    ALTER COLUMN preview SET NOT NULL,
    ADD CONSTRAINT preview_says_what_would_happen CHECK (preview ->> 'summary' IS NOT NULL),
    ALTER COLUMN expires_at SET NOT NULL,
    ADD COLUMN level      text NOT NULL CHECK (level IN ('SUGGEST', 'REQUIRE')),
    ADD COLUMN inputs     jsonb NOT NULL DEFAULT '{}',  -- by argument, the name and digest of a staged file
    ADD COLUMN bases      jsonb NOT NULL DEFAULT '{}',  -- by path, the digest a file must have; '' where there is none
    ADD COLUMN claimed_at timestamptz,                  -- since when its mirror runs it
    ADD COLUMN outcome    jsonb,                        -- {"result"} or {"failure"}
    ADD COLUMN told_at    timestamptz;                  -- since when the request's file says how it ended
CREATE INDEX approval_untold ON mirrord.approval (mirror_id, tenant_id) WHERE told_at IS NULL;
CREATE INDEX approval_pending ON mirrord.approval (expires_at, tenant_id) WHERE state = 'pending';
CREATE INDEX event_unread ON mirrord.event (occurred_at, tenant_id)
    WHERE read_at IS NULL AND data ->> 'trust' = 'NOTIFY';

-- Every state is reached from one other.
CREATE FUNCTION mirrord.approval_before() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF (NEW.state, NEW.decision, NEW.claimed_at, NEW.outcome) IS DISTINCT FROM
           ('pending', NULL::jsonb, NULL::timestamptz, NULL::jsonb) THEN
            RAISE EXCEPTION 'a request begins as pending' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (to_jsonb(NEW) - '{state,decision,decided_at,claimed_at,outcome,told_at}'::text[]) IS DISTINCT FROM
       (to_jsonb(OLD) - '{state,decision,decided_at,claimed_at,outcome,told_at}'::text[]) THEN
        RAISE EXCEPTION 'what is asked for in request % never changes', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN
       (('pending', 'approved'), ('pending', 'rejected'), ('pending', 'expired'), ('approved', 'executed'),
        ('approved', 'failed')) THEN
        RAISE EXCEPTION 'request % is %, and cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.decision IS DISTINCT FROM OLD.decision AND current_user <> 'mirrord_owner'
       OR NEW.state IN ('approved', 'rejected') AND NEW.decision IS NULL THEN
        RAISE EXCEPTION 'only mirrord.approve() and mirrord.reject() decide' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF OLD.claimed_at IS NOT NULL AND NEW.claimed_at IS DISTINCT FROM OLD.claimed_at
       OR OLD.outcome IS NOT NULL AND NEW.outcome IS DISTINCT FROM OLD.outcome
       OR NEW.claimed_at IS NOT NULL AND NEW.state NOT IN ('approved', 'executed', 'failed') THEN
        RAISE EXCEPTION 'request % is run once', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER b_approval BEFORE INSERT OR UPDATE ON mirrord.approval
    FOR EACH ROW EXECUTE FUNCTION mirrord.approval_before();

CREATE FUNCTION mirrord.approval_told() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    decided boolean := NEW.state IN ('approved', 'rejected');
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.state = OLD.state THEN
        RETURN NULL;
    END IF;
    INSERT INTO mirrord.event (tenant_id, id, type, occurred_at, actor, channel, data)
    VALUES (NEW.tenant_id, gen_random_uuid(),
        CASE NEW.state WHEN 'pending' THEN 'ApprovalRequested' WHEN 'approved' THEN 'ApprovalGranted'
            WHEN 'rejected' THEN 'ApprovalDenied' WHEN 'executed' THEN 'ApprovalExecuted' ELSE 'ApprovalFailed' END,
        clock_timestamp(),
        CASE WHEN decided THEN NEW.decision -> 'by' ELSE NEW.actor END,
        CASE WHEN decided THEN NEW.decision ->> 'channel' ELSE 'daemon' END,
        jsonb_strip_nulls(jsonb_build_object('request_id', NEW.id, 'command', NEW.command, 'state', NEW.state,
            'reason', CASE WHEN decided THEN NEW.decision ->> 'reason' END,
            'failure', NEW.outcome -> 'failure' ->> 'sentence')));
    RETURN NULL;
END
$$;
CREATE TRIGGER c_told AFTER INSERT OR UPDATE ON mirrord.approval
    FOR EACH ROW EXECUTE FUNCTION mirrord.approval_told();

CREATE FUNCTION mirrord.event_before() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'mirrord_owner' THEN
        RAISE EXCEPTION 'what becomes of approvals is told by the database itself'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER b_approvals BEFORE INSERT ON mirrord.event
    FOR EACH ROW WHEN (NEW.type LIKE 'Approval%') EXECUTE FUNCTION mirrord.event_before();
CREATE TRIGGER b_approvals_later BEFORE UPDATE ON mirrord.event
    FOR EACH ROW WHEN ((NEW.type LIKE 'Approval%' OR OLD.type LIKE 'Approval%') AND
        (NEW.type, NEW.data, NEW.actor, NEW.channel) IS DISTINCT FROM (OLD.type, OLD.data, OLD.actor, OLD.channel))
    EXECUTE FUNCTION mirrord.event_before();

-- channel: by which way the person decided: cli, console, sql.
CREATE FUNCTION mirrord.decide(request uuid, verdict text, reason text, channel text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    asked mirrord.approval;
    who jsonb := mirrord.current_actor();
BEGIN
    IF who ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not decide about requests' USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT * INTO asked FROM mirrord.approval WHERE tenant_id = mirrord.current_tenant() AND id = request FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no request %', request USING ERRCODE = 'no_data_found';
    END IF;
    IF asked.state <> 'pending' OR asked.expires_at <= clock_timestamp() THEN
        RAISE EXCEPTION 'request % is %, so nobody decides about it any more', request,
            CASE WHEN asked.state = 'pending' THEN 'expired' ELSE asked.state END
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE mirrord.approval
       SET state = verdict, decided_at = clock_timestamp(),
           decision = jsonb_build_object('by', who, 'reason', reason, 'channel', channel)
     WHERE tenant_id = asked.tenant_id AND id = request;
END
$$;

CREATE FUNCTION mirrord.approve(request uuid, reason text DEFAULT NULL, channel text DEFAULT 'sql') RETURNS void
    LANGUAGE sql AS $$ SELECT mirrord.decide(request, 'approved', reason, channel) $$;
CREATE FUNCTION mirrord.reject(request uuid, reason text DEFAULT NULL, channel text DEFAULT 'sql') RETURNS void
    LANGUAGE sql AS $$ SELECT mirrord.decide(request, 'rejected', reason, channel) $$;

-- Notices that were read; NULL: all. How many were unread.
CREATE FUNCTION mirrord.read_notifications(events uuid[] DEFAULT NULL) RETURNS bigint
    LANGUAGE sql AS $$
WITH changed AS (
    UPDATE mirrord.event SET read_at = clock_timestamp()
     WHERE tenant_id = mirrord.current_tenant() AND read_at IS NULL AND data ->> 'trust' = 'NOTIFY'
       AND (events IS NULL OR id = ANY (events))
    RETURNING 1)
SELECT count(*) FROM changed
$$;

REVOKE ALL ON FUNCTION mirrord.decide, mirrord.approve, mirrord.reject, mirrord.read_notifications FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.decide, mirrord.approve, mirrord.reject, mirrord.read_notifications
    TO mirrord_app, mirrord_daemon;
REVOKE DELETE ON mirrord.approval FROM mirrord_daemon;

RESET ROLE;
