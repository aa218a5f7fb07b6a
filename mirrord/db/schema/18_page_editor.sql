-- Documents for editors that know only some nodes: TipTap's StarterKit, tables, tasks and images (docs/decisions/0086).
-- `markdown.starterkit.shown_form` does the same, and the daemon turns what such editors write into documents again.
SET ROLE mirrord_owner;

-- An attribute of a node; '' if it is no text.
CREATE FUNCTION mirrord.text_attribute(node jsonb, key text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN jsonb_typeof(node -> 'attrs' -> key) = 'string' THEN node -> 'attrs' ->> key ELSE '' END;
END;

-- What a node or mark holds under a key; an empty list if that is none.
CREATE FUNCTION mirrord.node_list(node jsonb, key text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN jsonb_typeof(node -> key) = 'array' THEN node -> key ELSE '[]' END;
END;

-- The text that stands for an inline node that such an editor lacks.
CREATE FUNCTION mirrord.starterkit_text(node jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node_type text := coalesce(node ->> 'type', 'node');
    target text := mirrord.text_attribute(node, 'target');
    heading text := mirrord.text_attribute(node, 'heading');
    alias text := mirrord.text_attribute(node, 'alias');
    label text := mirrord.text_attribute(node, 'label');
    dollars text := CASE WHEN node #> '{attrs,display}' = 'true' THEN '$' || '$' ELSE '$' END;
    form text;
BEGIN
    IF node_type IN ('wikilink', 'embed') THEN
        form := CASE node_type WHEN 'embed' THEN '!' ELSE '' END || '[[' || target
            || CASE heading WHEN '' THEN '' ELSE '#' || heading END
            || CASE alias WHEN '' THEN '' ELSE '|' || alias END || ']]';
    ELSIF node_type = 'footnoteRef' THEN
        form := '[^' || label || ']';
    ELSIF node_type = 'mathInline' THEN
        form := dollars || mirrord.text_attribute(node, 'latex') || dollars;
    ELSIF node_type = 'mention' THEN
        form := '@' || coalesce(nullif(label, ''), mirrord.text_attribute(node, 'id'));
    ELSIF node_type = 'rawInline' THEN
        form := mirrord.text_attribute(node, 'raw');
    END IF;
    RETURN coalesce(nullif(form, ''), '{' || node_type || '}');
END
$$;

-- An inline node as a text, a line break or an image, with the marks that such an editor knows: code excludes others.
CREATE FUNCTION mirrord.starterkit_inline(node jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    marks jsonb := mirrord.node_list(node, 'marks');
    shown jsonb := CASE WHEN node ? 'text' OR node ->> 'type' IN ('hardBreak', 'image') THEN node
                        ELSE jsonb_build_object('type', 'text', 'text', mirrord.starterkit_text(node)) END;
BEGIN
    IF marks = '[]' THEN
        RETURN shown;
    END IF;
    IF EXISTS (SELECT FROM jsonb_array_elements(marks) AS mark WHERE mark ->> 'type' = 'code') THEN
        marks := '[{"type": "code"}]';
    ELSE
        marks := (SELECT jsonb_agg(mark ORDER BY number)
                    FROM jsonb_array_elements(marks) WITH ORDINALITY AS each (mark, number)
                   WHERE mark ->> 'type' IN ('bold', 'italic', 'strike', 'code', 'link', 'underline'));
    END IF;
    RETURN CASE WHEN marks IS NULL THEN shown - 'marks' ELSE shown || jsonb_build_object('marks', marks) END;
END
$$;

-- Whether all nodes of a list are inline: those of a type that mirrord does not know are what is around them.
CREATE FUNCTION mirrord.are_inline(nodes jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT NOT EXISTS (SELECT FROM jsonb_array_elements(nodes) AS node WHERE node ->> 'type' IN (
        'doc', 'paragraph', 'heading', 'codeBlock', 'blockquote', 'horizontalRule', 'bulletList', 'orderedList',
        'listItem', 'taskList', 'taskItem', 'table', 'tableRow', 'tableHeader', 'tableCell', 'callout', 'details',
        'detailsSummary', 'detailsContent', 'mathBlock', 'footnoteDef', 'rawBlock'));
END;

-- Whether a list or table is built as such an editor requires: items that begin with a paragraph, rows of filled cells.
CREATE FUNCTION mirrord.has_starterkit_parts(node jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node_type text := node ->> 'type';
    parts jsonb := mirrord.node_list(node, 'content');
    item_type text := CASE node_type WHEN 'table' THEN 'tableRow' WHEN 'taskList' THEN 'taskItem' ELSE 'listItem' END;
BEGIN
    IF parts = '[]' OR EXISTS (SELECT FROM jsonb_array_elements(parts) AS part
            WHERE (part ->> 'type') IS DISTINCT FROM item_type OR mirrord.node_list(part, 'marks') <> '[]') THEN
        RETURN false;
    END IF;
    IF node_type <> 'table' THEN
        RETURN NOT EXISTS (
            SELECT FROM jsonb_array_elements(parts) AS part
             CROSS JOIN LATERAL (SELECT mirrord.node_list(part, 'content') -> 0 AS paragraph) AS head
             WHERE (head.paragraph ->> 'type') IS DISTINCT FROM 'paragraph'
                OR mirrord.node_list(head.paragraph, 'marks') <> '[]'
                OR NOT mirrord.are_inline(mirrord.node_list(head.paragraph, 'content')));
    END IF;
    RETURN NOT EXISTS (
        SELECT FROM jsonb_array_elements(parts) AS part, jsonb_array_elements(mirrord.node_list(part, 'content')) AS cell
         WHERE coalesce(cell ->> 'type', '') NOT IN ('tableHeader', 'tableCell')
            OR mirrord.node_list(cell, 'marks') <> '[]' OR mirrord.node_list(cell, 'content') = '[]');
END
$$;

-- Whether an ordinary block is built as such an editor requires.
CREATE FUNCTION mirrord.fits_starterkit(node jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node_type text := node ->> 'type';
    parts jsonb := mirrord.node_list(node, 'content');
BEGIN
    RETURN CASE
        WHEN node_type IN ('paragraph', 'heading') THEN mirrord.are_inline(parts)
        WHEN node_type = 'codeBlock' THEN NOT EXISTS (
            SELECT FROM jsonb_array_elements(parts) AS part
             WHERE (part ->> 'type') IS DISTINCT FROM 'text' OR mirrord.node_list(part, 'marks') <> '[]')
        WHEN node_type = 'blockquote' THEN parts <> '[]'
        WHEN node_type = 'horizontalRule' THEN parts = '[]'
        WHEN node_type IN ('bulletList', 'orderedList', 'taskList', 'table') THEN mirrord.has_starterkit_parts(node)
        ELSE false END;
END
$$;

CREATE FUNCTION mirrord.code_block(node jsonb, language text, code text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id jsonb := CASE WHEN jsonb_typeof(node #> '{attrs,id}') = 'string'
                     THEN jsonb_build_object('id', node #> '{attrs,id}') ELSE '{}' END;
BEGIN
    RETURN jsonb_build_object('type', 'codeBlock', 'attrs', id || jsonb_build_object('language', language))
        || CASE code WHEN '' THEN '{}'
                ELSE jsonb_build_object('content', jsonb_build_array(jsonb_build_object('type', 'text', 'text', code))) END;
END
$$;

-- A callout, a footnote or an unfolding block as a quote that begins with what it is; NULL: it is built differently.
CREATE FUNCTION mirrord.starterkit_quote(node jsonb, depth integer) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node_type text := node ->> 'type';
    title text := mirrord.text_attribute(node, 'title');
    parts jsonb := mirrord.node_list(node, 'content');
    summary jsonb := '[]';
    header text;
    words jsonb;
BEGIN
    IF node_type = 'callout' THEN
        header := '[!' || mirrord.text_attribute(node, 'type') || ']' || mirrord.text_attribute(node, 'fold')
            || CASE title WHEN '' THEN '' ELSE ' ' || title END;
    ELSIF node_type = 'footnoteDef' THEN
        header := '[^' || mirrord.text_attribute(node, 'label') || ']:';
    ELSE
        header := CASE WHEN node #> '{attrs,open}' = 'true' THEN '<details open>' ELSE '<details>' END;
        IF jsonb_array_length(parts) <> 2 OR (parts -> 0 ->> 'type') IS DISTINCT FROM 'detailsSummary'
           OR (parts -> 1 ->> 'type') IS DISTINCT FROM 'detailsContent' THEN
            RETURN NULL;
        END IF;
        summary := mirrord.node_list(parts -> 0, 'content');
        parts := mirrord.node_list(parts -> 1, 'content');
        IF NOT mirrord.are_inline(summary) THEN
            RETURN NULL;
        END IF;
    END IF;
    words := jsonb_build_array(jsonb_build_object('type', 'text', 'text', header));
    IF summary <> '[]' THEN
        words := words || '[{"type": "text", "text": " "}]'
            || (SELECT jsonb_agg(mirrord.starterkit_inline(part) ORDER BY number)
                  FROM jsonb_array_elements(summary) WITH ORDINALITY AS each (part, number));
    END IF;
    RETURN jsonb_build_object('type', 'blockquote', 'content',
            jsonb_build_array(jsonb_build_object('type', 'paragraph', 'content', words))
            || mirrord.starterkit_blocks(parts, depth))
        || CASE WHEN jsonb_typeof(node #> '{attrs,id}') = 'string'
                THEN jsonb_build_object('attrs', jsonb_build_object('id', node #> '{attrs,id}')) ELSE '{}' END;
END
$$;

-- A block that fits, with what is in it as such an editor can show it.
CREATE FUNCTION mirrord.starterkit_content(node jsonb, depth integer) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node_type text := node ->> 'type';
    parts jsonb := mirrord.node_list(node, 'content');
BEGIN
    IF parts = '[]' OR node_type = 'codeBlock' THEN
        RETURN node;
    ELSIF node_type IN ('paragraph', 'heading') THEN
        parts := (SELECT jsonb_agg(mirrord.starterkit_inline(part) ORDER BY number)
                    FROM jsonb_array_elements(parts) WITH ORDINALITY AS each (part, number));
    ELSIF node_type IN ('bulletList', 'orderedList', 'taskList', 'table', 'tableRow') THEN
        parts := (SELECT jsonb_agg(mirrord.starterkit_content(part, depth + 1) ORDER BY number)
                    FROM jsonb_array_elements(parts) WITH ORDINALITY AS each (part, number));
    ELSE
        parts := mirrord.starterkit_blocks(parts, depth);
    END IF;
    RETURN node || jsonb_build_object('content', parts);
END
$$;

CREATE FUNCTION mirrord.starterkit_block(node jsonb, depth integer) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node_type text := coalesce(node ->> 'type', '');
    shown jsonb;
BEGIN
    IF node_type IN ('text', 'hardBreak', 'image', 'mathInline', 'footnoteRef', 'wikilink', 'embed', 'mention',
                     'rawInline') THEN
        RETURN jsonb_build_object('type', 'paragraph', 'content', jsonb_build_array(mirrord.starterkit_inline(node)));
    ELSIF depth > 120 THEN  -- deeper than a document may be
        RETURN mirrord.code_block(node, 'mirrord-node', node::text);
    ELSIF mirrord.node_list(node, 'marks') <> '[]' THEN
        RETURN mirrord.code_block(node, 'mirrord-node', jsonb_pretty(node));
    ELSIF node_type = 'rawBlock' THEN
        RETURN mirrord.code_block(node, 'mirrord-raw', mirrord.text_attribute(node, 'raw'));
    ELSIF node_type = 'mathBlock' THEN
        RETURN mirrord.code_block(node, 'mirrord-math', mirrord.text_attribute(node, 'latex'));
    ELSIF node_type IN ('callout', 'footnoteDef', 'details') THEN
        shown := mirrord.starterkit_quote(node, depth);
    ELSIF mirrord.fits_starterkit(node) THEN
        shown := mirrord.starterkit_content(node, depth);
    END IF;
    RETURN coalesce(shown, mirrord.code_block(node, 'mirrord-node', jsonb_pretty(node)));
END
$$;

CREATE FUNCTION mirrord.starterkit_blocks(nodes jsonb, depth integer) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((SELECT jsonb_agg(mirrord.starterkit_block(part, depth + 1) ORDER BY number)
                       FROM jsonb_array_elements(nodes) WITH ORDINALITY AS each (part, number)), '[]');
END
$$;

-- An image as a text, for an editor whose images are blocks.
CREATE FUNCTION mirrord.image_text(node jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_build_object('type', 'text', 'text',
            '![' || mirrord.text_attribute(node, 'alt') || '](' || mirrord.text_attribute(node, 'src') || ')')
        || CASE mirrord.node_list(node, 'marks') WHEN '[]' THEN '{}' ELSE jsonb_build_object('marks', node -> 'marks') END;
END;

-- A form for an editor whose images are blocks: an image alone in its paragraph is one, others are texts. is_first: of an
-- item, which begins with a paragraph. `markdown.starterkit.block_images` does the same.
CREATE FUNCTION mirrord.with_block_images(node jsonb, is_first boolean) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node_type text := coalesce(node ->> 'type', '');
    parts jsonb := mirrord.node_list(node, 'content');
BEGIN
    IF parts = '[]' OR node_type = 'codeBlock' THEN
        RETURN node;
    ELSIF node_type NOT IN ('paragraph', 'heading') THEN
        parts := (SELECT jsonb_agg(mirrord.with_block_images(part, number = 1 AND node_type IN ('listItem', 'taskItem'))
                                   ORDER BY number)
                    FROM jsonb_array_elements(parts) WITH ORDINALITY AS each (part, number));
    ELSIF node_type = 'paragraph' AND NOT is_first AND jsonb_array_length(parts) = 1
          AND (parts -> 0 ->> 'type') IS NOT DISTINCT FROM 'image' AND mirrord.node_list(parts -> 0, 'marks') = '[]'
          AND (jsonb_typeof(node -> 'attrs') IS DISTINCT FROM 'object' OR (node -> 'attrs') - 'id' = '{}') THEN
        RETURN parts -> 0;
    ELSE
        parts := (SELECT jsonb_agg(CASE part ->> 'type' WHEN 'image' THEN mirrord.image_text(part) ELSE part END
                                   ORDER BY number)
                    FROM jsonb_array_elements(parts) WITH ORDINALITY AS each (part, number));
    END IF;
    RETURN node || jsonb_build_object('content', parts);
END
$$;

CREATE FUNCTION mirrord.refuse_schema(schema text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF schema IS NULL OR schema NOT IN ('mirrord', 'starterkit', 'starterkit-block-images') THEN
        RAISE EXCEPTION 'there is no schema "%" of documents', schema USING ERRCODE = 'invalid_parameter_value',
            HINT = 'It is ''starterkit'' for TipTap''s StarterKit, tables, tasks and images in text, '
                '''starterkit-block-images'' where images are blocks, or ''mirrord'' for all nodes.';
    END IF;
END
$$;

-- A document for an editor with *schema*; one that was written in that schema and waits to be taken in, as it is.
CREATE FUNCTION mirrord.document_in(content jsonb, schema text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.refuse_schema(schema);
    IF schema = 'mirrord' OR (content ->> 'type') IS DISTINCT FROM 'doc' THEN
        RETURN content;
    ELSIF content #>> '{attrs,schema}' = schema THEN
        RETURN content - 'attrs';
    END IF;
    content := jsonb_build_object('type', 'doc',
        'content', mirrord.starterkit_blocks(mirrord.node_list(content, 'content'), 0));
    IF schema = 'starterkit-block-images' THEN
        content := mirrord.with_block_images(content, false);
    END IF;
    RETURN CASE content -> 'content' WHEN '[]' THEN '{"type": "doc", "content": [{"type": "paragraph"}]}' ELSE content END;
END
$$;

-- The value of page.content for a document that an editor with *schema* wrote. was: the content that it was shown.
-- is_waiting: an app wrote that, and mirrord has not taken it in; then it is what the editor's document is compared with.
CREATE FUNCTION mirrord.document_from(written jsonb, schema text, was jsonb, is_waiting boolean) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    attrs jsonb := jsonb_build_object('schema', schema);
BEGIN
    PERFORM mirrord.refuse_schema(schema);
    IF schema = 'mirrord' OR (written ->> 'type') IS DISTINCT FROM 'doc' THEN
        RETURN written;
    END IF;
    IF is_waiting AND was #>> '{attrs,schema}' = schema THEN
        attrs := was -> 'attrs';
    ELSIF is_waiting AND was ->> 'type' = 'doc' THEN
        attrs := attrs || jsonb_build_object('base', was);
    END IF;
    RETURN (written - 'attrs') || jsonb_build_object('attrs', attrs);
END
$$;

-- Reading and writing --------------------------------------------------------------------------------------------------

-- The document of a page for an editor with *schema*; NULL: there is none yet.
CREATE FUNCTION mirrord.document(page_id uuid, schema text DEFAULT 'starterkit') RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid := mirrord.current_tenant();
    stored jsonb;
BEGIN
    SELECT p.content INTO stored FROM mirrord.page AS p WHERE p.tenant_id = tenant AND p.id = document.page_id;
    RETURN mirrord.document_in(stored, document.schema);
END
$$;

-- Writes the document of an editor with *schema* over the version that it was shown. Returns the new version; NULL: the
-- page has another version by now, or there is none.
CREATE FUNCTION mirrord.write_document(page_id uuid, version bigint, content jsonb, schema text DEFAULT 'starterkit')
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid := mirrord.current_tenant();  -- a node of a cluster is sent values only
    shown record;
    stored jsonb;
    new_version bigint;
BEGIN
    SELECT p.content, 'content' = ANY (p.ahead) AS is_waiting INTO shown FROM mirrord.page AS p
     WHERE p.tenant_id = tenant AND p.id = write_document.page_id AND p.version = write_document.version;
    stored := mirrord.document_from(write_document.content, write_document.schema, shown.content, shown.is_waiting);
    UPDATE mirrord.page AS p SET content = stored
     WHERE p.tenant_id = tenant AND p.id = write_document.page_id AND p.version = write_document.version
    RETURNING p.version INTO new_version;
    RETURN new_version;
END
$$;
REVOKE ALL ON FUNCTION mirrord.document, mirrord.write_document FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.document, mirrord.write_document TO mirrord_app, mirrord_daemon;

-- The schema of page_editor, by the setting of the role or session.
CREATE FUNCTION mirrord.current_schema_of_documents() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(nullif(current_setting('mirrord.schema', true), ''), 'starterkit');
END;

-- Pages with documents for editors that know only some nodes; it is written like page.
CREATE VIEW mirrord.page_editor WITH (security_invoker = true) AS
SELECT tenant_id, id, parent_id, name, title, icon, position, frontmatter,
       mirrord.document_in(content, mirrord.current_schema_of_documents()) AS content,
       version, deleted_at, created_at, updated_at, updated_by
  FROM mirrord.page WHERE kind = 'page';

CREATE FUNCTION mirrord.page_editor_written() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    shown record;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO mirrord.page (tenant_id, id, parent_id, name, title, icon, position, frontmatter, content)
        VALUES (coalesce(NEW.tenant_id, mirrord.current_tenant()), coalesce(NEW.id, gen_random_uuid()), NEW.parent_id,
                NEW.name, NEW.title, NEW.icon, NEW.position, NEW.frontmatter,
                mirrord.document_from(NEW.content, mirrord.current_schema_of_documents(), NULL, false))
        RETURNING id, version INTO NEW.id, NEW.version;
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        DELETE FROM mirrord.page WHERE tenant_id = OLD.tenant_id AND id = OLD.id;
        RETURN OLD;
    END IF;
    IF (NEW.tenant_id, NEW.id) IS DISTINCT FROM (OLD.tenant_id, OLD.id) THEN
        RAISE EXCEPTION 'the id of a page cannot change' USING ERRCODE = 'check_violation';
    END IF;
    SELECT p.content, 'content' = ANY (p.ahead) AS is_waiting INTO shown FROM mirrord.page AS p
     WHERE p.tenant_id = OLD.tenant_id AND p.id = OLD.id AND p.version = OLD.version;
    UPDATE mirrord.page AS p
       SET parent_id = NEW.parent_id, name = NEW.name, title = NEW.title, icon = NEW.icon, position = NEW.position,
           frontmatter = NEW.frontmatter, deleted_at = NEW.deleted_at,
           content = CASE WHEN NEW.content IS NOT DISTINCT FROM OLD.content THEN p.content
                          ELSE mirrord.document_from(NEW.content, mirrord.current_schema_of_documents(),
                                                     shown.content, shown.is_waiting) END
     WHERE p.tenant_id = OLD.tenant_id AND p.id = OLD.id AND p.version = OLD.version
    RETURNING p.version, p.updated_at, p.updated_by INTO NEW.version, NEW.updated_at, NEW.updated_by;
    RETURN CASE WHEN FOUND THEN NEW END;  -- NULL: another writer was quicker
END
$$;
CREATE TRIGGER a_write INSTEAD OF INSERT OR UPDATE OR DELETE ON mirrord.page_editor
    FOR EACH ROW EXECUTE FUNCTION mirrord.page_editor_written();

RESET ROLE;
