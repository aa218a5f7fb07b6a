-- Triggers of apps answer a write of the daemon as the daemon's role, unless they have rights of their own: what they
-- write is an app's nevertheless.
SET ROLE mirrord_owner;

-- Whether a trigger of an app writes with the rights of mirrord's daemon: as an app, which gives texts no digest.
CREATE FUNCTION mirrord.by_trigger_of_app() RETURNS boolean
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT current_user = 'mirrord_daemon' AND pg_trigger_depth() > 1;
END;

CREATE OR REPLACE FUNCTION mirrord.page_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF mirrord.by_mirrord() AND NOT mirrord.by_trigger_of_app() THEN
        IF TG_OP = 'UPDATE' THEN
            NEW := mirrord.page_updated_by_mirrord(OLD, NEW);
        END IF;
    ELSIF TG_OP = 'INSERT' THEN
        NEW := mirrord.page_inserted_by_app(NEW);
    ELSE
        NEW := mirrord.page_updated_by_app(OLD, NEW);
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.attachment_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT mirrord.by_mirrord() OR mirrord.by_trigger_of_app() THEN
            NEW.version := 1;
            NEW.name_key := NULL;
        END IF;
    ELSE
        IF (NEW.digest, NEW.parent_id, NEW.name, NEW.deleted_at)
           IS DISTINCT FROM (OLD.digest, OLD.parent_id, OLD.name, OLD.deleted_at) THEN
            NEW.version := OLD.version + 1;
        ELSE
            NEW.version := OLD.version;
        END IF;
        IF NEW.deleted_at IS NOT NULL OR (NOT mirrord.by_mirrord() OR mirrord.by_trigger_of_app())
           AND (NEW.parent_id, NEW.name, NEW.deleted_at) IS DISTINCT FROM (OLD.parent_id, OLD.name, OLD.deleted_at) THEN
            NEW.name_key := NULL;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION mirrord.record_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT mirrord.by_mirrord() OR mirrord.by_trigger_of_app() THEN
            NEW.version := 1;
            NEW.ahead := '{data}';
            NEW.data := coalesce(NEW.data, '{}');
        END IF;
    ELSIF mirrord.by_mirrord() AND NOT mirrord.by_trigger_of_app() THEN
        NEW := mirrord.record_written_by_mirrord(OLD, NEW);
    ELSE
        NEW := mirrord.record_written_by_app(OLD, NEW);
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

RESET ROLE;
