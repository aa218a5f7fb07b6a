-- The document before the one that is being derived or rendered: ids of blocks live in documents only, and the next
-- one takes them from here. mirrord's own: apps have no grant to write it.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page ADD COLUMN prior jsonb;  -- NULL: content is the newest whose ids are settled

CREATE FUNCTION mirrord.keep_prior() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.prior := coalesce(OLD.prior, OLD.content);
    RETURN NEW;
END
$$;

-- Runs after b_version, which may take the content away. Documents that mirrord stores itself are settled; its
-- statements clear prior.
CREATE TRIGGER c_prior BEFORE UPDATE ON mirrord.page
    FOR EACH ROW WHEN (NEW.content IS DISTINCT FROM OLD.content AND (NEW.content IS NULL OR NOT mirrord.by_mirrord()))
    EXECUTE FUNCTION mirrord.keep_prior();

RESET ROLE;
