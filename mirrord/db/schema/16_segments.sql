-- Segments follow the text of their page, are deleted with it and restored with it.
SET ROLE mirrord_owner;

-- The versions of a page and of its record whose segments were last compared with the text.
CREATE TABLE mirrord.segment_anchor (
    tenant_id      uuid NOT NULL,
    page_id        uuid NOT NULL,
    page_version   bigint NOT NULL,
    record_version bigint NOT NULL,
    PRIMARY KEY (tenant_id, page_id),
    FOREIGN KEY (tenant_id, page_id) REFERENCES mirrord.page (tenant_id, id)
);

-- The place in the feed up to which segments were compared. The process that anchors segments locks this row.
CREATE TABLE mirrord.segment_cursor (
    tenant_id uuid PRIMARY KEY,
    seq       bigint NOT NULL,
    entry_id  uuid NOT NULL
);

-- The segments of a page are deleted with it. They are restored with it if they were deleted within a minute of it: one
-- command may remove the files of both, and mirrord notices them one after the other.
CREATE FUNCTION mirrord.page_takes_segments() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.deleted_at IS NOT NULL THEN
        UPDATE mirrord.record SET deleted_at = NEW.deleted_at
         WHERE tenant_id = NEW.tenant_id AND key = NEW.id::text AND kind = 'segment' AND deleted_at IS NULL;
    ELSIF NOT EXISTS (SELECT FROM mirrord.record WHERE tenant_id = NEW.tenant_id AND key = NEW.id::text
                         AND kind = 'segment' AND deleted_at IS NULL) THEN
        UPDATE mirrord.record SET deleted_at = NULL
         WHERE tenant_id = NEW.tenant_id AND id = (
            SELECT id FROM mirrord.record WHERE tenant_id = NEW.tenant_id AND key = NEW.id::text AND kind = 'segment'
               AND deleted_at >= OLD.deleted_at - interval '1 minute' ORDER BY deleted_at DESC LIMIT 1);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER d_segments AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
    EXECUTE FUNCTION mirrord.page_takes_segments();

RESET ROLE;
