-- Pages, folders and their versions.
--
-- Triggers run in the order of their names, so the names begin with a letter: before a write, a_ guards, b_ sets the
-- version, c_ sets columns that depend on it, d_ checks the parent; after a write, b_ notes events, c_ writes the
-- history, d_ changes other rows, e_ (at commit) writes the feed, f_ and g_ settle conflicts.
SET ROLE mirrord_owner;

CREATE TABLE mirrord.page (
    tenant_id   uuid NOT NULL DEFAULT mirrord.current_tenant(),
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    parent_id   uuid,
    parent_key  uuid GENERATED ALWAYS AS (coalesce(parent_id, '00000000-0000-0000-0000-000000000000')) STORED,
    kind        text NOT NULL DEFAULT 'page' CHECK (kind IN ('page', 'folder')),
    name        text,                       -- without .md; NULL: from the title
    name_key    text COLLATE "C",           -- NULL: not placed yet, or a tombstone
    index       boolean NOT NULL DEFAULT false,  -- the file is NAME/_index.md, not NAME.md
    title       text,
    icon        text,
    position    text COLLATE "C",
    frontmatter jsonb,
    markdown    text,                       -- the whole file; NULL: a folder, or not rendered yet
    content     jsonb,                      -- TipTap document; NULL: not derived yet
    ahead       text[] NOT NULL DEFAULT '{}',    -- views that an app wrote since markdown was rendered
    digest      bytea,                      -- BLAKE2b-256 of markdown; NULL: not derived yet
    version     bigint NOT NULL DEFAULT 1,
    deleted_at  timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    updated_by  jsonb,
    prior       jsonb,                      -- the last document with settled ids of blocks, while content is newer
    op_id       uuid,                       -- of the write that made the version; NULL: it has none
    confirmed   bigint,                     -- the version of which all that content removes is meant; NULL: none
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT page_parent_exists FOREIGN KEY (tenant_id, parent_id)
        REFERENCES mirrord.page (tenant_id, id) DEFERRABLE,
    CONSTRAINT page_name_is_free UNIQUE (name_key, parent_key, tenant_id) DEFERRABLE,
    CONSTRAINT page_is_not_its_own_parent CHECK (parent_id <> id)
);
CREATE INDEX page_by_name ON mirrord.page (name, tenant_id);
CREATE INDEX page_children ON mirrord.page (parent_id, tenant_id);
CREATE INDEX page_underived ON mirrord.page (tenant_id, updated_at)
    WHERE deleted_at IS NULL AND kind = 'page' AND (content IS NULL OR digest IS NULL);
CREATE INDEX page_tombstones ON mirrord.page (deleted_at, tenant_id) WHERE deleted_at IS NOT NULL;

-- One row a version. A row changes twice at most: the text that mirrord renders after an app wrote views is added, and
-- removed after its time. What tells versions apart, the digest above all, stays.
CREATE TABLE mirrord.page_revision (
    tenant_id   uuid NOT NULL,
    page_id     uuid NOT NULL,
    version     bigint NOT NULL,
    digest      bytea,
    markdown    text,
    frontmatter jsonb,
    views       jsonb,                      -- the views that an app wrote, if markdown was not rendered yet
    parent_id   uuid,
    name        text,
    deleted     boolean NOT NULL DEFAULT false,
    actor       jsonb,
    op_id       uuid,
    parents     bigint[] NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    change_set  uuid,                       -- NULL: none
    text_removed_at timestamptz,            -- when markdown, frontmatter and views were removed; NULL: they are there
    index       boolean,                    -- as in page; NULL: not noted, in versions from before that was
    PRIMARY KEY (tenant_id, page_id, version),
    FOREIGN KEY (tenant_id, page_id) REFERENCES mirrord.page (tenant_id, id)
);
CREATE INDEX page_revision_by_digest ON mirrord.page_revision (page_id, digest, tenant_id);
CREATE UNIQUE INDEX page_revision_by_operation ON mirrord.page_revision (tenant_id, op_id) WHERE op_id IS NOT NULL;
CREATE INDEX page_revision_of_change_set ON mirrord.page_revision (change_set, tenant_id) WHERE change_set IS NOT NULL;

-- Writes of apps -----------------------------------------------------------------------------------------------------

-- Refuses the names that the tree reserves. The daemon cleans every other name that an app sets.
CREATE FUNCTION mirrord.refuse_reserved(name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF name LIKE '.%' OR mirrord.name_key(name) IN ('assets', '_index') THEN
        RAISE EXCEPTION 'the name "%" is reserved: names with a leading dot, "assets" and "_index" belong to the tree',
            name USING ERRCODE = 'check_violation', HINT = 'Choose another name, or leave it NULL to use the title.';
    END IF;
END
$$;

-- The views that a statement of an app changed. Functions of triggers take rows of any type: on a shard, a row has the
-- type of the shard (docs/decisions/0070).
CREATE FUNCTION mirrord.written_views(was record, now record) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN array_remove(ARRAY[
        CASE WHEN now.title IS DISTINCT FROM was.title THEN 'title' END,
        CASE WHEN now.icon IS DISTINCT FROM was.icon THEN 'icon' END,
        CASE WHEN now.position IS DISTINCT FROM was.position THEN 'position' END,
        CASE WHEN now.frontmatter IS DISTINCT FROM was.frontmatter THEN 'frontmatter' END,
        CASE WHEN now.content IS DISTINCT FROM was.content AND now.content IS NOT NULL THEN 'content' END], NULL);
END
$$;

CREATE FUNCTION mirrord.refuse_both(written text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'write either markdown or its views (%), not both in one statement',
        array_to_string(written, ', ') USING ERRCODE = 'check_violation',
        HINT = 'markdown is the whole file with its front matter; the views are derived from it.';
END
$$;

CREATE FUNCTION mirrord.page_inserted_by_app(fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    nothing mirrord.page;
    written text[];
BEGIN
    nothing.tenant_id := NULL;  -- a row of which every column is NULL, not a row that is NULL
    written := mirrord.written_views(nothing, fresh);
    IF fresh.markdown IS NOT NULL AND 'content' = ANY (written) THEN
        PERFORM mirrord.refuse_both('{content}');
    END IF;
    PERFORM mirrord.refuse_reserved(fresh.name);
    IF EXISTS (SELECT FROM mirrord.page
               WHERE tenant_id = fresh.tenant_id AND id = fresh.parent_id AND deleted_at IS NOT NULL) THEN
        RAISE EXCEPTION 'the parent % is deleted', fresh.parent_id USING ERRCODE = 'foreign_key_violation',
            HINT = 'Restore it first: UPDATE mirrord.page SET deleted_at = NULL WHERE id = …';
    END IF;
    IF fresh.markdown IS NOT NULL OR written <> '{}' THEN
        fresh.kind := 'page';
    END IF;
    fresh.ahead := CASE WHEN fresh.kind = 'page' THEN written || 'id'::text ELSE '{}' END;
    fresh.version := 1;
    fresh.name_key := NULL;
    fresh.index := false;
    fresh.digest := NULL;
    IF NOT mirrord.by_mirrord() THEN  -- what an app may not set; on a cluster it may name every column (20_security.sql)
        fresh.deleted_at := NULL;
        fresh.created_at := now();
        fresh.prior := NULL;
        fresh.confirmed := NULL;
        fresh.op_id := NULL;
    END IF;
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.page_updated_by_app(was record, fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
        fresh.kind := 'page';
        fresh.content := NULL;
        fresh.digest := NULL;
        fresh.ahead := '{}';
    ELSE
        fresh.content := coalesce(fresh.content, was.content);
        IF 'content' = ANY (was.ahead) AND was.content #> '{attrs,schema}' IS NOT NULL
           AND fresh.content ->> 'type' = 'doc' AND fresh.content #> '{attrs,schema}' IS NULL THEN
            -- the app was shown a document in the schema of an editor that lacks nodes (18_page_editor.sql)
            fresh.content := fresh.content || jsonb_build_object('attrs', was.content -> 'attrs');
        END IF;
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

-- Writes of mirrord --------------------------------------------------------------------------------------------------

-- mirrord sets every column. A version is what another mirror or an app sees as a change: a text that completes an
-- app's write of views, and a name that places a row, belong to the version of that write.
CREATE FUNCTION mirrord.page_updated_by_mirrord(was record, fresh record) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    renders boolean := was.ahead <> '{}';
    places boolean := was.name_key IS NULL AND was.deleted_at IS NULL;
BEGIN
    IF fresh.deleted_at IS NOT NULL AND was.deleted_at IS NULL THEN
        fresh.name_key := NULL;
    END IF;
    fresh.version := was.version;
    IF fresh.deleted_at IS DISTINCT FROM was.deleted_at
       OR NOT renders AND (fresh.markdown, fresh.kind) IS DISTINCT FROM (was.markdown, was.kind)
       OR NOT renders AND NOT places AND fresh.index IS DISTINCT FROM was.index
       OR NOT places AND (fresh.parent_id, fresh.name) IS DISTINCT FROM (was.parent_id, was.name) THEN
        fresh.version := was.version + 1;
    END IF;
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.page_before() RETURNS trigger
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
CREATE TRIGGER b_version BEFORE INSERT OR UPDATE ON mirrord.page FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.page_before();

-- A text that a person wrote is a version of its own, even where it only takes back an app's write that mirrord never
-- rendered: other writes of mirrord complete the app's version.
CREATE FUNCTION mirrord.next_version() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.version = OLD.version THEN
        NEW.version := OLD.version + 1;
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER c_next_version BEFORE UPDATE ON mirrord.page FOR EACH ROW
    WHEN (current_setting('mirrord.next_version', true) = 'on')
    EXECUTE FUNCTION mirrord.next_version();

-- Ids of blocks exist in documents only, and the next document takes them from prior. Runs after b_version, which may
-- set content to NULL. The ids in documents that mirrord stores are settled; its statements set prior to NULL.
CREATE FUNCTION mirrord.keep_prior() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.prior := coalesce(OLD.prior, OLD.content);
    RETURN NEW;
END
$$;
CREATE TRIGGER c_prior BEFORE UPDATE ON mirrord.page FOR EACH ROW
    WHEN (NEW.content IS DISTINCT FROM OLD.content AND (NEW.content IS NULL OR NOT mirrord.by_mirrord()))
    EXECUTE FUNCTION mirrord.keep_prior();

-- A folder that gets a text from an app becomes the page of its directory, NAME/_index.md.
CREATE FUNCTION mirrord.give_index() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.index := true;
    RETURN NEW;
END
$$;
CREATE TRIGGER c_folder_text BEFORE UPDATE ON mirrord.page FOR EACH ROW
    WHEN (OLD.kind = 'folder' AND NEW.markdown IS DISTINCT FROM OLD.markdown AND NOT mirrord.by_mirrord())
    EXECUTE FUNCTION mirrord.give_index();

-- History ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION mirrord.page_views(page record) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(page)) WHERE key = ANY (page.ahead));
END
$$;

-- A row that returns as its tombstone (put_back, a trigger) has its history already; a row that a statement inserts has
-- none. The operation of a row that mirrord wrote comes before that of the transaction.
CREATE FUNCTION mirrord.page_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' AND pg_trigger_depth() > 1 AND EXISTS (SELECT FROM mirrord.page_revision
                WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.page_revision (tenant_id, page_id, version, digest, markdown, frontmatter, views,
            parent_id, name, deleted, actor, op_id, parents, index)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.digest, NEW.markdown, NEW.frontmatter,
            CASE WHEN NEW.ahead <> '{}' THEN mirrord.page_views(NEW) END, NEW.parent_id, NEW.name,
            NEW.deleted_at IS NOT NULL, NEW.updated_by,
            coalesce(NEW.op_id, nullif(current_setting('mirrord.op_id', true), '')::uuid),
            coalesce(nullif(current_setting('mirrord.parents', true), '')::bigint[],
                     CASE WHEN TG_OP = 'INSERT' THEN '{}'::bigint[] ELSE ARRAY[OLD.version] END),
            NEW.index);
    ELSIF (NEW.markdown, NEW.digest, NEW.name, NEW.index)
          IS DISTINCT FROM (OLD.markdown, OLD.digest, OLD.name, OLD.index) THEN
        UPDATE mirrord.page_revision
           SET markdown = NEW.markdown, digest = NEW.digest, frontmatter = NEW.frontmatter, name = NEW.name,
               index = NEW.index
         WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER c_history AFTER INSERT OR UPDATE ON mirrord.page FOR EACH ROW
    WHEN (current_setting('mirrord.restoring', true) IS DISTINCT FROM 'on' OR NOT mirrord.is_restoring())
    EXECUTE FUNCTION mirrord.page_history();

-- An intake from a file is an operation with an id, so that the index page_revision_by_operation refuses a second one.
-- The id belongs to one version: the next write sets another id, or has none. The history has it from the beginning,
-- except where a text completes the version of an app's write.
CREATE FUNCTION mirrord.forget_operation() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.op_id := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER b_operation BEFORE UPDATE ON mirrord.page FOR EACH ROW
    WHEN (NEW.op_id = OLD.op_id)
    EXECUTE FUNCTION mirrord.forget_operation();

CREATE FUNCTION mirrord.record_operation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE mirrord.page_revision SET op_id = NEW.op_id
     WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version;
    RETURN NULL;
END
$$;
CREATE TRIGGER c_operation AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN (NEW.op_id IS NOT NULL AND NEW.version = OLD.version)
    EXECUTE FUNCTION mirrord.record_operation();

-- Dates of front matter -----------------------------------------------------------------------------------------------

-- A time that a key of front matter holds: an ISO date, with or without a time of day, in the session's time zone unless
-- it has one of its own. NULL: the value is none.
CREATE FUNCTION mirrord.read_time(value jsonb) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'string'
       OR value #>> '{}' !~ '^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d+)?)?( ?(Z|[-+]\d\d(:?\d\d)?))?)?$' THEN
        RETURN NULL;
    END IF;
    RETURN (value #>> '{}')::timestamptz;
EXCEPTION WHEN data_exception THEN  -- the 30th of February
    RETURN NULL;
END
$$;

-- When a page was made and changed, as its keys `created` and `updated` have it; the times of its row where a key holds
-- no time, or one in the future for `updated`.
CREATE VIEW mirrord.page_dates WITH (security_invoker = true) AS
SELECT tenant_id, id, coalesce(mirrord.read_time(frontmatter -> 'created'), created_at) AS created,
       CASE WHEN mirrord.read_time(frontmatter -> 'updated') <= now()
            THEN mirrord.read_time(frontmatter -> 'updated') ELSE updated_at END AS updated
  FROM mirrord.page;

RESET ROLE;
