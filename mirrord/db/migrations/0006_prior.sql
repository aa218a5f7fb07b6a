-- The document before the one that is being derived or rendered: ids of blocks live in documents only, and the next
-- one takes them from here. mirrord's own: apps have no grant to write it.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page ADD COLUMN prior jsonb;  -- NULL: content is the newest whose ids are settled

CREATE OR REPLACE FUNCTION mirrord.page_before() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF mirrord.by_mirrord() THEN
        IF TG_OP = 'UPDATE' THEN
            NEW := mirrord.page_updated_by_mirrord(OLD, NEW);
        END IF;
    ELSIF TG_OP = 'INSERT' THEN
        NEW := mirrord.page_inserted_by_app(NEW);
    ELSE
        NEW := mirrord.page_updated_by_app(OLD, NEW);
    END IF;
    -- Documents that mirrord stores itself are settled; its statements clear prior.
    IF TG_OP = 'UPDATE' AND NEW.content IS DISTINCT FROM OLD.content
       AND (NEW.content IS NULL OR NOT mirrord.by_mirrord()) THEN
        NEW.prior := coalesce(OLD.prior, OLD.content);
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

RESET ROLE;
