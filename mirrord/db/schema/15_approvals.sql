-- Approvals: a request never changes, its state changes in one direction, only a person with credentials decides, and
-- the database itself writes the events.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.approval (
    tenant_id        uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id               uuid NOT NULL,
    mirror_id        uuid NOT NULL,
    command          text NOT NULL,
    arguments        jsonb NOT NULL,
    arguments_digest bytea NOT NULL,
    actor            jsonb NOT NULL,
    preview          jsonb NOT NULL,
    state            text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'approved', 'rejected', 'executed', 'failed', 'expired')),
    decision         jsonb,
    requested_at     timestamptz NOT NULL DEFAULT now(),
    expires_at       timestamptz NOT NULL,
    decided_at       timestamptz,
    level            text NOT NULL CHECK (level IN ('SUGGEST', 'REQUIRE')),
    inputs           jsonb NOT NULL DEFAULT '{}',  -- by argument, the name and digest of a staged file
    bases            jsonb NOT NULL DEFAULT '{}',  -- by path, the digest that a file must have; '': there must be none
    claimed_at       timestamptz,                  -- when its mirror began to run it
    outcome          jsonb,                        -- {"result"} or {"failure"}
    told_at          timestamptz,                  -- when the outcome was written to the file of the request
    review           jsonb,                        -- of a change set: {"changes"} as shown, and {"choice"} of a person
    paths            jsonb NOT NULL DEFAULT '{}',  -- the patterns of the agent's scope, by what they permit
    look_asked_at    timestamptz,                  -- when a person asked to be shown it as it would be now
    looked_at        timestamptz,                  -- when its mirror last answered that
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT preview_says_what_would_happen CHECK (preview ->> 'summary' IS NOT NULL)
);
CREATE INDEX approval_untold ON mirrord.approval (mirror_id, tenant_id) WHERE told_at IS NULL;
CREATE INDEX approval_pending ON mirrord.approval (expires_at, tenant_id) WHERE state = 'pending';

-- Every state can be reached from one other state only.
CREATE FUNCTION mirrord.approval_before() RETURNS trigger
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
CREATE TRIGGER b_approval BEFORE INSERT OR UPDATE ON mirrord.approval FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.approval_before();

CREATE FUNCTION mirrord.approval_told() RETURNS trigger
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
CREATE TRIGGER c_told AFTER INSERT OR UPDATE ON mirrord.approval FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.approval_told();

-- channel: where the person decided: cli, console, sql.
CREATE FUNCTION mirrord.decide(request uuid, verdict text, reason text, channel text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
       SET state = verdict, decided_at = statement_timestamp(),
           decision = jsonb_build_object('by', who, 'reason', reason, 'channel', channel)
     WHERE tenant_id = asked.tenant_id AND id = request;
END
$$;

CREATE FUNCTION mirrord.approve(request uuid, reason text DEFAULT NULL, channel text DEFAULT 'sql') RETURNS void
    LANGUAGE sql
BEGIN ATOMIC
    SELECT mirrord.decide(request, 'approved', reason, channel);
END;
CREATE FUNCTION mirrord.reject(request uuid, reason text DEFAULT NULL, channel text DEFAULT 'sql') RETURNS void
    LANGUAGE sql
BEGIN ATOMIC
    SELECT mirrord.decide(request, 'rejected', reason, channel);
END;

-- What a person accepts of a change set that waits: everything but what the choice names (docs/approvals.md).
CREATE FUNCTION mirrord.choose(request uuid, choice jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF mirrord.current_actor() ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not decide about requests' USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE mirrord.approval
       SET review = jsonb_set(approval.review, '{choice}', choose.choice)
     WHERE tenant_id = mirrord.current_tenant() AND id = choose.request AND approval.review IS NOT NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no review of request %', choose.request USING ERRCODE = 'no_data_found';
    END IF;
END
$$;

-- Lets the daemon compare a change set that waits with the files as they are now; looked_at is not before then.
CREATE FUNCTION mirrord.look_again(request uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.approval SET look_asked_at = clock_timestamp()
     WHERE tenant_id = mirrord.current_tenant() AND id = look_again.request AND state = 'pending'
       AND approval.review IS NOT NULL;
END
$$;

REVOKE ALL ON FUNCTION mirrord.decide, mirrord.approve, mirrord.reject, mirrord.choose, mirrord.look_again FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.decide, mirrord.approve, mirrord.reject, mirrord.choose, mirrord.look_again
    TO mirrord_app, mirrord_daemon;

RESET ROLE;
