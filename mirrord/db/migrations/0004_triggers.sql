-- Versions, history, tombstones and the feed are kept here, so that plain SQL is a supported interface.
SET ROLE mirrord_owner;

-- Row-level security alone is bypassed by COPY on shards: say it once more, on every tenant table.
CREATE FUNCTION mirrord.guard_tenant() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.tenant_id IS DISTINCT FROM mirrord.current_tenant() THEN
        RAISE EXCEPTION 'a row of tenant % cannot be written while mirrord.tenant is %',
            NEW.tenant_id, mirrord.current_tenant() USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION mirrord.refuse_truncate() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'mirrord.% cannot be truncated', TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'DELETE marks rows as deleted and moves their files to the trash.';
END
$$;

-- Names the tree keeps for itself. Everything else an app asks for is cleaned by the daemon, never refused.
CREATE FUNCTION mirrord.refuse_reserved(name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF name LIKE '.%' OR mirrord.name_key(name) IN ('assets', '_index') THEN
        RAISE EXCEPTION 'the name "%" is reserved: names with a leading dot, "assets" and "_index" belong to the tree',
            name USING ERRCODE = 'check_violation', HINT = 'Choose another name, or leave it NULL to use the title.';
    END IF;
END
$$;

-- The views an app changed in this statement.
CREATE FUNCTION mirrord.written_views(was mirrord.page, now mirrord.page) RETURNS text[]
    LANGUAGE sql IMMUTABLE AS $$
SELECT array_remove(ARRAY[
    CASE WHEN now.title IS DISTINCT FROM was.title THEN 'title' END,
    CASE WHEN now.icon IS DISTINCT FROM was.icon THEN 'icon' END,
    CASE WHEN now.position IS DISTINCT FROM was.position THEN 'position' END,
    CASE WHEN now.frontmatter IS DISTINCT FROM was.frontmatter THEN 'frontmatter' END,
    CASE WHEN now.content IS DISTINCT FROM was.content AND now.content IS NOT NULL THEN 'content' END], NULL)
$$;

CREATE FUNCTION mirrord.refuse_both(written text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RAISE EXCEPTION 'write either markdown or its views (%), not both in one statement',
        array_to_string(written, ', ') USING ERRCODE = 'check_violation',
        HINT = 'markdown is the whole file with its front matter; the views are derived from it.';
END
$$;

CREATE FUNCTION mirrord.page_inserted_by_app(fresh mirrord.page) RETURNS mirrord.page
    LANGUAGE plpgsql AS $$
DECLARE
    nothing mirrord.page;
    written text[] := mirrord.written_views(nothing, fresh);
BEGIN
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
    RETURN fresh;
END
$$;

CREATE FUNCTION mirrord.page_updated_by_app(was mirrord.page, fresh mirrord.page) RETURNS mirrord.page
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

-- mirrord's own writes set every column. A new version is what another mirror or app would call a change;
-- text that completes an app's write of views, and a name that places a row, still belong to that write's version.
CREATE FUNCTION mirrord.page_updated_by_mirrord(was mirrord.page, fresh mirrord.page) RETURNS mirrord.page
    LANGUAGE plpgsql AS $$
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
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        NEW.updated_at := clock_timestamp();
        NEW.updated_by := mirrord.current_actor();
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION mirrord.page_views(page mirrord.page) RETURNS jsonb
    LANGUAGE sql STABLE AS $$
SELECT jsonb_object_agg(key, value) FROM jsonb_each(to_jsonb(page)) WHERE key = ANY (page.ahead)
$$;

CREATE FUNCTION mirrord.page_history() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.version <> OLD.version THEN
        INSERT INTO mirrord.page_revision (tenant_id, page_id, version, digest, markdown, frontmatter, views,
            parent_id, name, deleted, actor, op_id, parents)
        VALUES (NEW.tenant_id, NEW.id, NEW.version, NEW.digest, NEW.markdown, NEW.frontmatter,
            CASE WHEN NEW.ahead <> '{}' THEN mirrord.page_views(NEW) END, NEW.parent_id, NEW.name, NEW.deleted_at IS NOT NULL, NEW.updated_by,
            nullif(current_setting('mirrord.op_id', true), '')::uuid,
            coalesce(nullif(current_setting('mirrord.parents', true), '')::bigint[],
                     CASE WHEN TG_OP = 'INSERT' THEN '{}'::bigint[] ELSE ARRAY[OLD.version] END));
    ELSIF (NEW.markdown, NEW.digest, NEW.name) IS DISTINCT FROM (OLD.markdown, OLD.digest, OLD.name) THEN
        UPDATE mirrord.page_revision
           SET markdown = NEW.markdown, digest = NEW.digest, frontmatter = NEW.frontmatter, name = NEW.name
         WHERE tenant_id = NEW.tenant_id AND page_id = NEW.id AND version = NEW.version;
    END IF;
    RETURN NULL;
END
$$;

-- A deleted folder takes what is in it along, with the same stamp; restored, it brings those back.
-- Where mirrord.cascade is off (mirrord's own writes, and page_rings) only the row itself changes.
CREATE FUNCTION mirrord.page_cascade() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    IF current_setting('mirrord.cascade', true) = 'off' THEN
        RETURN NULL;
    END IF;
    IF NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN
        UPDATE mirrord.page SET deleted_at = NEW.deleted_at
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at IS NULL;
        UPDATE mirrord.attachment SET deleted_at = NEW.deleted_at
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at IS NULL;
    ELSIF NEW.deleted_at IS NULL THEN
        UPDATE mirrord.page SET deleted_at = NULL, name_key = NULL
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at = OLD.deleted_at;
        UPDATE mirrord.attachment SET deleted_at = NULL, name_key = NULL
         WHERE tenant_id = NEW.tenant_id AND parent_id = NEW.id AND deleted_at = OLD.deleted_at;
    END IF;
    RETURN NULL;
END
$$;

-- DELETE makes a tombstone. Deleting a tombstone purges it: mirrord only.
CREATE FUNCTION mirrord.entomb() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.deleted_at IS NULL THEN
        EXECUTE format('UPDATE mirrord.%I SET deleted_at = clock_timestamp() WHERE tenant_id = $1 AND id = $2',
                       TG_TABLE_NAME) USING OLD.tenant_id, OLD.id;
        RETURN NULL;
    END IF;
    IF NOT mirrord.by_mirrord() THEN
        RETURN NULL;
    END IF;
    RETURN OLD;
END
$$;

CREATE FUNCTION mirrord.attachment_before() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.version := 1;
        IF NOT mirrord.by_mirrord() THEN
            NEW.name_key := NULL;
        END IF;
    ELSE
        IF (NEW.digest, NEW.parent_id, NEW.name, NEW.deleted_at)
           IS DISTINCT FROM (OLD.digest, OLD.parent_id, OLD.name, OLD.deleted_at) THEN
            NEW.version := OLD.version + 1;
        ELSE
            NEW.version := OLD.version;
        END IF;
        IF NEW.deleted_at IS NOT NULL OR NOT mirrord.by_mirrord()
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

CREATE FUNCTION mirrord.record_before() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.version := OLD.version;
        IF (NEW.text, NEW.deleted_at) IS DISTINCT FROM (OLD.text, OLD.deleted_at)
           OR NOT mirrord.by_mirrord() AND NEW.data IS DISTINCT FROM OLD.data THEN
            NEW.version := OLD.version + 1;
        END IF;
        IF NOT mirrord.by_mirrord() AND NEW.data IS DISTINCT FROM OLD.data THEN
            NEW.ahead := '{data}';
        END IF;
    ELSIF NOT mirrord.by_mirrord() THEN
        NEW.version := 1;
        NEW.ahead := '{data}';
        NEW.digest := NULL;
    END IF;
    NEW.updated_at := clock_timestamp();
    NEW.updated_by := mirrord.current_actor();
    RETURN NEW;
END
$$;

-- The feed. Runs at commit: the clock's row lock is taken last and held until the commit is visible, so
-- seq order is commit order and `seq > cursor ORDER BY seq, entry_id` is exact.
CREATE FUNCTION mirrord.ring(tenant uuid, entry uuid, entry_kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    current_seq bigint;
    known_kind text;
BEGIN
    SELECT seq INTO current_seq FROM mirrord.tenant_clock WHERE tenant_id = tenant AND xid = pg_current_xact_id();
    IF NOT FOUND THEN
        UPDATE mirrord.tenant_clock SET seq = seq + 1, xid = pg_current_xact_id()
         WHERE tenant_id = tenant RETURNING seq INTO STRICT current_seq;
        -- The payload is opaque and the bell may be lost: readers look at the feed, and poll it too.
        IF coalesce(nullif(current_setting('mirrord.notify', true), ''), 'on') = 'on' THEN
            PERFORM pg_notify(mirrord.channel(tenant), tenant::text);
        END IF;
    END IF;
    INSERT INTO mirrord.entry_feed AS feed (tenant_id, entry_id, kind, seq)
    VALUES (tenant, entry, entry_kind, current_seq)
    ON CONFLICT (tenant_id, entry_id) DO UPDATE SET seq = EXCLUDED.seq
    RETURNING feed.kind INTO known_kind;
    IF known_kind <> entry_kind THEN
        RAISE EXCEPTION 'the id % is already that of a %', entry, known_kind USING ERRCODE = 'unique_violation';
    END IF;
END
$$;

-- Checks that need the clock's lock, because only then every earlier move is visible.
-- Rows are looked up one by one, by their whole keys: joined, and without statistics, every row of the tenant is read.
CREATE FUNCTION mirrord.page_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    is_dead boolean;
    parent uuid;
    parent_is_dead boolean := false;
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'page');
    SELECT deleted_at IS NOT NULL, parent_id INTO is_dead, parent
      FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = NEW.id;
    IF parent IS NOT NULL THEN
        IF TG_OP = 'INSERT' OR NEW.parent_id IS DISTINCT FROM OLD.parent_id THEN
            PERFORM mirrord.refuse_cycle(NEW.tenant_id, NEW.id, parent);
        END IF;
        SELECT deleted_at IS NOT NULL INTO parent_is_dead
          FROM mirrord.page WHERE tenant_id = NEW.tenant_id AND id = parent;
    END IF;
    IF is_dead AND mirrord.holds_life(NEW.tenant_id, NEW.id) THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, NEW.id);
    ELSIF NOT is_dead AND parent_is_dead THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, parent);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION mirrord.refuse_cycle(tenant uuid, moved uuid, ancestor uuid) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    depth integer := 0;
BEGIN
    WHILE ancestor IS NOT NULL LOOP
        depth := depth + 1;
        IF ancestor = moved OR depth > 256 THEN
            RAISE EXCEPTION 'page % cannot be moved below itself or more than 256 folders deep', moved
                USING ERRCODE = 'check_violation', HINT = 'Choose a parent outside this page.';
        END IF;
        SELECT parent_id INTO ancestor FROM mirrord.page WHERE tenant_id = tenant AND id = ancestor;
    END LOOP;
END
$$;

-- A folder that holds something alive is alive: whoever deleted it did not know of the child, or the child's
-- author did not know of the deletion. Only the folder itself comes back, not what was deleted with it.
CREATE FUNCTION mirrord.restore_folder(tenant uuid, folder uuid) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    before text := coalesce(current_setting('mirrord.cascade', true), '');
BEGIN
    PERFORM set_config('mirrord.cascade', 'off', true);
    UPDATE mirrord.page SET deleted_at = NULL, name_key = NULL
     WHERE tenant_id = tenant AND id = folder AND deleted_at IS NOT NULL;
    PERFORM set_config('mirrord.cascade', before, true);
END
$$;

CREATE FUNCTION mirrord.holds_life(tenant uuid, folder uuid) RETURNS boolean
    LANGUAGE sql STABLE AS $$
SELECT EXISTS (SELECT FROM mirrord.page WHERE tenant_id = tenant AND parent_id = folder AND deleted_at IS NULL)
    OR EXISTS (SELECT FROM mirrord.attachment WHERE tenant_id = tenant AND parent_id = folder AND deleted_at IS NULL)
$$;

CREATE FUNCTION mirrord.attachment_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'attachment');
    IF NEW.deleted_at IS NULL THEN
        PERFORM mirrord.restore_folder(NEW.tenant_id, NEW.parent_id)
          FROM mirrord.page AS parent
         WHERE parent.tenant_id = NEW.tenant_id AND parent.id = NEW.parent_id AND parent.deleted_at IS NOT NULL;
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION mirrord.record_rings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM mirrord.ring(NEW.tenant_id, NEW.id, 'record');
    RETURN NULL;
END
$$;

CREATE TRIGGER b_version BEFORE INSERT OR UPDATE ON mirrord.page
    FOR EACH ROW EXECUTE FUNCTION mirrord.page_before();
CREATE TRIGGER c_history AFTER INSERT OR UPDATE ON mirrord.page
    FOR EACH ROW EXECUTE FUNCTION mirrord.page_history();
CREATE TRIGGER d_cascade AFTER UPDATE ON mirrord.page
    FOR EACH ROW WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) EXECUTE FUNCTION mirrord.page_cascade();
CREATE CONSTRAINT TRIGGER e_feed AFTER INSERT OR UPDATE ON mirrord.page
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mirrord.page_rings();

CREATE TRIGGER b_version BEFORE INSERT OR UPDATE ON mirrord.attachment
    FOR EACH ROW EXECUTE FUNCTION mirrord.attachment_before();
CREATE CONSTRAINT TRIGGER e_feed AFTER INSERT OR UPDATE ON mirrord.attachment
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mirrord.attachment_rings();

CREATE TRIGGER b_version BEFORE INSERT OR UPDATE ON mirrord.record
    FOR EACH ROW EXECUTE FUNCTION mirrord.record_before();
CREATE CONSTRAINT TRIGGER e_feed AFTER INSERT OR UPDATE ON mirrord.record
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mirrord.record_rings();

CREATE TRIGGER a_tombstone BEFORE DELETE ON mirrord.page FOR EACH ROW EXECUTE FUNCTION mirrord.entomb();
CREATE TRIGGER a_tombstone BEFORE DELETE ON mirrord.attachment FOR EACH ROW EXECUTE FUNCTION mirrord.entomb();
CREATE TRIGGER a_tombstone BEFORE DELETE ON mirrord.record FOR EACH ROW EXECUTE FUNCTION mirrord.entomb();

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['entry_feed', 'page', 'page_revision', 'page_link', 'attachment', 'blob',
        'record', 'event', 'approval', 'mirror_base', 'conflict', 'halt', 'problem'] LOOP
        EXECUTE format('CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.%I '
                       'FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant()', tenant_table);
    END LOOP;
    FOREACH tenant_table IN ARRAY ARRAY['tenant', 'tenant_clock', 'entry_feed', 'page', 'page_revision', 'page_link',
        'attachment', 'blob', 'record', 'event', 'approval', 'mirror', 'mirror_base', 'conflict', 'halt', 'problem'] LOOP
        EXECUTE format('CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate()', tenant_table);
    END LOOP;
END
$$;

-- Every commit of a mirror calls this: a daemon that lost its lease writes nothing (fencing token).
CREATE FUNCTION mirrord.hold_lease(held_mirror uuid, held_token bigint) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM mirrord.mirror
      WHERE tenant_id = mirrord.current_tenant() AND id = held_mirror
        AND token = held_token AND expires_at > clock_timestamp()
        FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease on mirror % is lost', held_mirror USING ERRCODE = 'MR001';
    END IF;
END
$$;

RESET ROLE;
