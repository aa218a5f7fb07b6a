-- Contents of apps that remove what no person may have removed wait until an app confirms them (docs/decisions/0073).
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page ADD COLUMN confirmed bigint;

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

-- Confirms the content that an app wrote: all that it removes from the page is meant (docs/decisions/0073). Returns the
-- version for which that holds; the next write is judged again.
CREATE FUNCTION mirrord.confirm_content(page uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    confirmed_version bigint;
BEGIN
    UPDATE mirrord.page AS p SET confirmed = p.version
     WHERE p.tenant_id = mirrord.current_tenant() AND p.id = confirm_content.page AND p.deleted_at IS NULL
       AND 'content' = ANY (p.ahead)
    RETURNING p.version INTO confirmed_version;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM mirrord.page AS p
                    WHERE p.tenant_id = mirrord.current_tenant() AND p.id = confirm_content.page
                      AND p.deleted_at IS NULL) THEN
            RAISE EXCEPTION 'no content waits to be confirmed for the page %', confirm_content.page
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = 'The page has the content that was written last, or another writer replaced that.';
        END IF;
        RAISE EXCEPTION 'there is no page %', confirm_content.page USING ERRCODE = 'no_data_found';
    END IF;
    RETURN confirmed_version;
END
$$;
REVOKE ALL ON FUNCTION mirrord.confirm_content FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.confirm_content TO mirrord_app, mirrord_daemon;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;
RESET ROLE;
