-- A change set that waits for a person is compared with the files again when a person looks at it (docs/decisions/0127):
-- its request is followed by another one if something else would happen now.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.approval ADD COLUMN look_asked_at timestamptz, ADD COLUMN looked_at timestamptz;

CREATE OR REPLACE FUNCTION mirrord.approval_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changing CONSTANT text[] :=
        '{state,decision,decided_at,claimed_at,outcome,told_at,review,look_asked_at,looked_at}';
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF (NEW.state, NEW.decision, NEW.claimed_at, NEW.outcome) IS DISTINCT FROM
           ('pending', NULL::jsonb, NULL::timestamptz, NULL::jsonb) THEN
            RAISE EXCEPTION 'a request begins as pending' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (to_jsonb(NEW) - changing) IS DISTINCT FROM (to_jsonb(OLD) - changing)
       OR NEW.review -> 'changes' IS DISTINCT FROM OLD.review -> 'changes' THEN
        RAISE EXCEPTION 'what is asked for in request % never changes', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.review IS DISTINCT FROM OLD.review AND (current_user <> 'mirrord_definer' OR OLD.state <> 'pending') THEN
        RAISE EXCEPTION 'only mirrord.choose() chooses, before the decision' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN
       (('pending', 'approved'), ('pending', 'rejected'), ('pending', 'expired'), ('approved', 'executed'),
        ('approved', 'failed')) THEN
        RAISE EXCEPTION 'request % is %, and cannot become %', OLD.id, OLD.state, NEW.state
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.decision IS DISTINCT FROM OLD.decision AND current_user <> 'mirrord_definer'
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

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

CREATE OR REPLACE FUNCTION mirrord.approval_told() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    decided boolean := NEW.state IN ('approved', 'rejected');
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.state = OLD.state OR NEW.state = 'expired' AND NEW.outcome ? 'renewed_by') THEN
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
    IF NEW.review IS NOT NULL AND (decided OR NEW.state = 'pending') THEN
        INSERT INTO mirrord.event (tenant_id, id, type, occurred_at, actor, channel, data)
        VALUES (NEW.tenant_id, gen_random_uuid(), CASE WHEN decided THEN 'ChangesReviewed' ELSE 'ChangesSubmitted' END,
            clock_timestamp(), CASE WHEN decided THEN NEW.decision -> 'by' ELSE NEW.actor END,
            CASE WHEN decided THEN NEW.decision ->> 'channel' ELSE 'daemon' END,
            jsonb_strip_nulls(jsonb_build_object('request_id', NEW.id, 'change_set', NEW.arguments ->> 'change_set',
                'pages', jsonb_array_length(NEW.review -> 'changes'),
                'accepted', CASE WHEN decided THEN NEW.state = 'approved' END,
                'rejected', NEW.review -> 'choice' -> 'rejected',
                'comment', CASE WHEN decided THEN NEW.decision ->> 'reason' END)));
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION mirrord.look_again(request uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.approval SET look_asked_at = clock_timestamp()
     WHERE tenant_id = mirrord.current_tenant() AND id = look_again.request AND state = 'pending'
       AND approval.review IS NOT NULL;
END
$$;

REVOKE ALL ON FUNCTION mirrord.look_again FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.look_again TO mirrord_app, mirrord_daemon;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;
