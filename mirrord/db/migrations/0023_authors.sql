-- A tool writes a file and an event about it; the version that the file became, and the page, name that tool as their
-- author. Event and version arrive independently: the intake of events tries again until the version exists.
SET ROLE mirrord_owner;

CREATE INDEX event_of_deletion ON mirrord.event ((data ->> 'page_id'), tenant_id) WHERE type LIKE '%Deleted';

-- Names the author of a version: of those with the text of the event and without an author, the one nearest in time.
-- Returns whether there was one.
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

-- Authors of the events so far.
ALTER TABLE mirrord.tenant NO FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT id FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        PERFORM mirrord.name_author(id) FROM (
            SELECT id FROM mirrord.event WHERE tenant_id = tenant AND channel = 'file' AND data ? 'page_id'
             ORDER BY occurred_at) AS told;
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;
ALTER TABLE mirrord.tenant FORCE ROW LEVEL SECURITY;
DROP INDEX mirrord.event_by_text;

RESET ROLE;
