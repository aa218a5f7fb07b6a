-- What a mirror took in from a file is an operation with an id, so that taking it in twice is refused; and a base knows
-- which version somebody last saved in the file, so that an editor that has an older text in its window is noticed.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page ADD COLUMN op_id uuid;          -- of the write that made the version; NULL: it has none
ALTER TABLE mirrord.mirror_base ADD COLUMN saved bigint;  -- the newest version that came from this file; NULL: none

-- The id belongs to one version: whatever writes the next says its own or has none.
CREATE FUNCTION mirrord.forget_operation() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.op_id := NULL;
    RETURN NEW;
END
$$;

CREATE FUNCTION mirrord.record_operation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    UPDATE mirrord.page_revision SET op_id = NEW.op_id
     WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version;
    RETURN NULL;
END
$$;

CREATE TRIGGER b_operation BEFORE UPDATE ON mirrord.page
    FOR EACH ROW WHEN (NEW.op_id = OLD.op_id) EXECUTE FUNCTION mirrord.forget_operation();
CREATE TRIGGER c_operation_of_insert AFTER INSERT ON mirrord.page
    FOR EACH ROW WHEN (NEW.op_id IS NOT NULL) EXECUTE FUNCTION mirrord.record_operation();
CREATE TRIGGER c_operation_of_update AFTER UPDATE ON mirrord.page
    FOR EACH ROW WHEN (NEW.op_id IS NOT NULL) EXECUTE FUNCTION mirrord.record_operation();

RESET ROLE;
