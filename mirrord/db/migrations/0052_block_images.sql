-- Documents for editors whose images are blocks, which is the default of TipTap's image.
SET ROLE mirrord_owner;

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

CREATE OR REPLACE FUNCTION mirrord.refuse_schema(schema text) RETURNS void
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
CREATE OR REPLACE FUNCTION mirrord.document_in(content jsonb, schema text) RETURNS jsonb
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

RESET ROLE;
