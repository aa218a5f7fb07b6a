-- Whether a page holds others is asked for every page that is deleted, renamed or moved: by a range, as in 0026.
SET ROLE mirrord_owner;
GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

DO $$
BEGIN
    EXECUTE replace(pg_get_functiondef('mirrord.note_page()'::regprocedure),
                    'parent_id = NEW.id', 'parent_id BETWEEN NEW.id AND NEW.id');
END
$$;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;
