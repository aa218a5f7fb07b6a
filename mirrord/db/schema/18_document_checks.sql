-- Whether a value is a document, for apps before they write it. `markdown.schema.document.check_document` is the same for
-- the daemon; a test holds that both refuse the same.
SET ROLE mirrord_owner;

-- What is wrong about the cells of a table that span others; NULL: nothing.
CREATE FUNCTION mirrord.table_fault(node jsonb, path text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    most_places constant integer := 100000;  -- rows times columns: editors have a value for each
    lines jsonb := coalesce(nullif(node -> 'content', 'null'), '[]');
    ends bigint[] := array_fill(0, ARRAY[jsonb_array_length(lines) + 1001]);  -- columns of cells, by the row below them
    width bigint := 0;
    reaching bigint := 0;
    is_merged boolean := false;
    number integer := 0;
    columns integer;
    height integer;
    line jsonb;
    cell jsonb;
BEGIN
    FOR line IN SELECT value FROM jsonb_array_elements(lines) LOOP
        reaching := reaching - ends[number + 1];
        FOR cell IN SELECT value FROM jsonb_array_elements(coalesce(nullif(line -> 'content', 'null'), '[]')) LOOP
            columns := 1;
            height := 1;
            IF cell ->> 'type' IN ('tableCell', 'tableHeader') THEN
                columns := coalesce((cell #>> '{attrs,colspan}')::integer, 1);
                height := coalesce((cell #>> '{attrs,rowspan}')::integer, 1);
            END IF;
            is_merged := is_merged OR columns > 1 OR height > 1;
            reaching := reaching + columns;
            ends[number + height + 1] := ends[number + height + 1] + columns;
        END LOOP;
        width := greatest(width, reaching);
        number := number + 1;
    END LOOP;
    IF is_merged AND width * number > most_places THEN
        RETURN format('%s: the merged cells of a table make it larger than %s cells', path, most_places);
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong about the keys of a node or mark; NULL: nothing.
CREATE FUNCTION mirrord.key_fault(node jsonb, allowed text[], path text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong text;
BEGIN
    IF jsonb_typeof(node) IS DISTINCT FROM 'object' OR jsonb_typeof(node -> 'type') IS DISTINCT FROM 'string' THEN
        RETURN format('%s: this is no object with a type', path);
    END IF;
    SELECT key INTO wrong FROM jsonb_object_keys(node) AS key WHERE key <> ALL (allowed) ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RETURN format('%s: a %s has no key "%s"', path, node ->> 'type', wrong);
    END IF;
    IF jsonb_typeof(node -> 'attrs') NOT IN ('object', 'null') THEN
        RETURN format('%s.attrs: this is no object', path);
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong about a node by itself; NULL: nothing.
CREATE FUNCTION mirrord.part_fault(node jsonb, path text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fault text := mirrord.key_fault(node, '{type,attrs,content,marks,text}', path);
    list_key text;
    span_key text;
    span jsonb;
BEGIN
    IF fault IS NOT NULL THEN
        RETURN fault;
    END IF;
    FOREACH list_key IN ARRAY ARRAY['content', 'marks'] LOOP
        IF jsonb_typeof(node -> list_key) NOT IN ('array', 'null') THEN
            RETURN format('%s.%s: this is no array', path, list_key);
        END IF;
    END LOOP;
    IF (node ? 'text') <> (node ->> 'type' = 'text') OR jsonb_typeof(node -> 'text') <> 'string' THEN
        RETURN format('%s.text: texts have one, and no other node has', path);
    END IF;
    IF node ->> 'type' IN ('tableCell', 'tableHeader') THEN
        FOREACH span_key IN ARRAY ARRAY['colspan', 'rowspan'] LOOP
            span := nullif(node -> 'attrs' -> span_key, 'null');
            IF span IS NOT NULL AND NOT (jsonb_typeof(span) = 'number' AND span::text ~ '^[0-9]{1,4}$'
                                         AND CASE WHEN span::text ~ '^[0-9]{1,4}$'
                                                  THEN span::text::integer BETWEEN 1 AND 1000 ELSE false END) THEN
                RETURN format('%s.attrs.%s: this is no number from 1 to 1000', path, span_key);
            END IF;
        END LOOP;
    END IF;
    RETURN (SELECT mirrord.key_fault(mark, '{type,attrs}', format('%s.marks[%s]', path, number - 1)) AS wrong
              FROM jsonb_array_elements(coalesce(nullif(node -> 'marks', 'null'), '[]'))
                   WITH ORDINALITY AS each (mark, number)
             WHERE mirrord.key_fault(mark, '{type,attrs}', '') IS NOT NULL ORDER BY number LIMIT 1);
END
$$;

CREATE FUNCTION mirrord.node_fault(node jsonb, path text, depth integer) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    deepest constant integer := 120;
    fault text;
    child record;
BEGIN
    IF depth > deepest THEN
        RETURN format('%s: nodes are nested deeper than %s', path, deepest);
    END IF;
    fault := mirrord.part_fault(node, path);
    IF fault IS NOT NULL THEN
        RETURN fault;
    END IF;
    FOR child IN SELECT part, number FROM jsonb_array_elements(coalesce(nullif(node -> 'content', 'null'), '[]'))
                                          WITH ORDINALITY AS each (part, number) LOOP
        fault := mirrord.node_fault(child.part, format('%s.content[%s]', path, child.number - 1), depth + 1);
        IF fault IS NOT NULL THEN
            RETURN fault;
        END IF;
    END LOOP;
    RETURN CASE WHEN node ->> 'type' = 'table' THEN mirrord.table_fault(node, path) END;
END
$$;

-- Why mirrord would take a value for no document, with the place in it; NULL: it is one.
CREATE FUNCTION mirrord.check_document(content jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (content ->> 'type') IS DISTINCT FROM 'doc' THEN
        RETURN 'doc: this is no document: its type is not "doc"';
    END IF;
    RETURN mirrord.node_fault(content, 'doc', 0);
END
$$;

RESET ROLE;
