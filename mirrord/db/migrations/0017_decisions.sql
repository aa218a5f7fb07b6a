-- A person decides about a halt in any program, as about a request: plain SQL is a supported interface.
SET ROLE mirrord_owner;

-- verdict: apply (the deletions were meant) or discard (everything comes back). Whether there is such an open halt.
CREATE FUNCTION mirrord.decide_halt(halt bigint, verdict text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    who jsonb := mirrord.current_actor();
BEGIN
    IF who ->> 'kind' = 'agent' THEN
        RAISE EXCEPTION 'agents do not decide about halts' USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE mirrord.halt SET decision = verdict, decided_at = clock_timestamp(), decided_by = who
     WHERE tenant_id = mirrord.current_tenant() AND id = decide_halt.halt AND closed_at IS NULL;
    RETURN FOUND;
END
$$;

REVOKE ALL ON FUNCTION mirrord.decide_halt FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.decide_halt TO mirrord_app, mirrord_daemon;

RESET ROLE;

-- The console acts as an app, whoever logs in for mirrord.
DO $$
BEGIN
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT mirrord_app TO %I', current_user);
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'mirrord_app was made by another role: GRANT mirrord_app TO % for the console', current_user;
END
$$;
