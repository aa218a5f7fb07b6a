-- A node that is no text has no `text`, whatever its value is: the daemon takes no other.
SET ROLE mirrord_owner;

-- What is wrong about a node by itself; NULL: nothing.
CREATE OR REPLACE FUNCTION mirrord.part_fault(node jsonb, path text) RETURNS text
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

RESET ROLE;
