-- Attachments, their versions and their bytes.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.attachment (
    tenant_id  uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    parent_id  uuid,                        -- the page or folder whose assets/ holds it; NULL: the root's
    parent_key uuid GENERATED ALWAYS AS (coalesce(parent_id, '00000000-0000-0000-0000-000000000000')) STORED,
    name       text NOT NULL,               -- below assets/, may contain /
    name_key   text COLLATE "C",            -- NULL: not placed yet, or a tombstone
    digest     bytea NOT NULL,
    size       bigint NOT NULL,
    media_type text,
    version    bigint NOT NULL DEFAULT 1,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by jsonb,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT attachment_parent_exists FOREIGN KEY (tenant_id, parent_id)
        REFERENCES mirrord.page (tenant_id, id) DEFERRABLE,
    CONSTRAINT attachment_name_is_free UNIQUE (name_key, parent_key, tenant_id) DEFERRABLE
);
CREATE INDEX attachment_children ON mirrord.attachment (parent_id, tenant_id);
CREATE INDEX attachment_tombstones ON mirrord.attachment (deleted_at, tenant_id) WHERE deleted_at IS NOT NULL;

-- One row a version.
CREATE TABLE mirrord.attachment_revision (
    tenant_id     uuid NOT NULL,
    attachment_id uuid NOT NULL,
    version       bigint NOT NULL,
    digest        bytea NOT NULL,
    size          bigint NOT NULL,
    media_type    text,
    parent_id     uuid,
    name          text NOT NULL,
    deleted       boolean NOT NULL DEFAULT false,
    actor         jsonb,
    created_at    timestamptz NOT NULL DEFAULT now(),
    change_set    uuid,                     -- NULL: none
    PRIMARY KEY (tenant_id, attachment_id, version),
    FOREIGN KEY (tenant_id, attachment_id) REFERENCES mirrord.attachment (tenant_id, id)
);
CREATE INDEX attachment_revision_of_change_set ON mirrord.attachment_revision (change_set, tenant_id)
    WHERE change_set IS NOT NULL;

-- Bytes of attachments by their digest, in parts of at most 1 MiB, numbered from 0.
CREATE TABLE mirrord.blob (
    tenant_id uuid NOT NULL DEFAULT mirrord.current_tenant(),
    digest    bytea NOT NULL,
    part      integer NOT NULL,
    bytes     bytea NOT NULL CONSTRAINT blob_part_is_at_most_1_mib CHECK (octet_length(bytes) <= 1048576),
    PRIMARY KEY (tenant_id, digest, part)
);
ALTER TABLE mirrord.blob ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Versions and history -----------------------------------------------------------------------------------------------

CREATE FUNCTION mirrord.attachment_before() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NOT mirrord.by_mirrord() OR mirrord.by_trigger_of_app() THEN
            NEW.version := 1;
            NEW.name_key := NULL;
        END IF;
        IF NOT mirrord.by_mirrord() THEN  -- as for pages
            NEW.deleted_at := NULL;
            NEW.created_at := now();
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
CREATE TRIGGER b_version BEFORE INSERT OR UPDATE ON mirrord.attachment FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.attachment_before();

-- A row that returns as its tombstone (put_back) has its history already.
CREATE FUNCTION mirrord.attachment_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM mirrord.attachment_revision
                WHERE tenant_id = NEW.tenant_id AND attachment_id = NEW.id AND version = NEW.version) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.attachment_revision (tenant_id, attachment_id, version, digest, size, media_type,
            parent_id, name, deleted, actor)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.digest, NEW.size, NEW.media_type,
            NEW.parent_id, NEW.name, NEW.deleted_at IS NOT NULL, NEW.updated_by);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER c_history AFTER INSERT OR UPDATE ON mirrord.attachment FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.attachment_history();

RESET ROLE;
