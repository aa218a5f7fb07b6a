-- A folder that an app gives its text becomes the page of its directory, `W/_index.md`, as with any other view.
SET ROLE mirrord_owner;

CREATE OR REPLACE FUNCTION mirrord.page_updated_by_app(was mirrord.page, fresh mirrord.page) RETURNS mirrord.page
    LANGUAGE plpgsql AS $$
DECLARE
    written text[] := mirrord.written_views(was, fresh);
    moved boolean := fresh.parent_id IS DISTINCT FROM was.parent_id OR fresh.name IS DISTINCT FROM was.name;
BEGIN
    IF fresh.markdown IS DISTINCT FROM was.markdown THEN
        IF written <> '{}' THEN
            PERFORM mirrord.refuse_both(written);
        END IF;
        IF fresh.markdown IS NULL THEN
            RAISE EXCEPTION 'markdown cannot be set to NULL' USING ERRCODE = 'not_null_violation',
                HINT = 'To empty a page write ''''; to delete it set deleted_at or use DELETE.';
        END IF;
        fresh.index := fresh.index OR was.kind = 'folder';
        fresh.kind := 'page';
        fresh.content := NULL;
        fresh.digest := NULL;
        fresh.ahead := '{}';
    ELSE
        fresh.content := coalesce(fresh.content, was.content);
        IF written <> '{}' THEN
            fresh.ahead := ARRAY(SELECT DISTINCT unnest(was.ahead || written) ORDER BY 1);
        END IF;
    END IF;
    IF moved THEN
        IF fresh.name IS DISTINCT FROM was.name THEN
            PERFORM mirrord.refuse_reserved(fresh.name);
        END IF;
        fresh.name_key := NULL;
    END IF;
    IF fresh.deleted_at IS DISTINCT FROM was.deleted_at THEN
        fresh.name_key := NULL;
    END IF;
    IF moved OR written <> '{}' OR fresh.markdown IS DISTINCT FROM was.markdown
       OR fresh.deleted_at IS DISTINCT FROM was.deleted_at THEN
        fresh.version := was.version + 1;
    END IF;
    RETURN fresh;
END
$$;

RESET ROLE;
