-- Whether a page gets its first child is asked for every new row below it. Of many children in one statement each read
-- all before it, in time that grew with their square. The note of the first child answers for the children that follow.
SET ROLE mirrord_owner;
GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

DO $$
DECLARE
    asked constant text := 'IF comes AND parent_is_bare AND NOT is_dead AND NOT EXISTS (';
    noted constant text := 'IF comes AND parent_is_bare AND NOT is_dead AND NOT EXISTS (
        SELECT FROM mirrord.event_outbox WHERE tenant_id = NEW.tenant_id AND entry_id = parent
           AND version = parent_version) AND NOT EXISTS (';
    body text := pg_get_functiondef('mirrord.page_rings()'::regprocedure);
BEGIN
    IF strpos(body, asked) = 0 OR strpos(body, 'parent_id = parent AND id <> NEW.id') = 0 THEN
        RAISE EXCEPTION 'mirrord.page_rings is not what this migration expects';
    END IF;
    body := replace(body, asked, noted);
    EXECUTE replace(body, 'parent_id = parent AND id <> NEW.id', 'parent_id BETWEEN parent AND parent AND id <> NEW.id');
END
$$;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;
