-- A folder that an app gives its text becomes the page of its directory, `W/_index.md`, as with any other view.
SET ROLE mirrord_owner;

CREATE FUNCTION mirrord.give_index() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.index := true;
    RETURN NEW;
END
$$;

CREATE TRIGGER c_folder_text BEFORE UPDATE ON mirrord.page
    FOR EACH ROW WHEN (OLD.kind = 'folder' AND NEW.markdown IS DISTINCT FROM OLD.markdown AND NOT mirrord.by_mirrord())
    EXECUTE FUNCTION mirrord.give_index();

RESET ROLE;
