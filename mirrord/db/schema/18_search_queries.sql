-- Queries for pages by words: mirrord.search() and the terms of its language (docs/decisions/0079).
SET ROLE mirrord_owner;

-- A term as the index is asked: its words one after the other. Of the last one the beginning is enough, if it has so many
-- letters; NULL: it never is. Returns NULL for a term without a word.
CREATE FUNCTION mirrord.term_query(term text, prefix_letters integer) RETURNS tsquery
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lexemes text[] := ARRAY(SELECT w.lexeme FROM unnest(mirrord.words_of(term)) AS w, unnest(w.positions) AS position
                             ORDER BY position LIMIT 50);
    last_word text := lexemes[cardinality(lexemes)];
BEGIN
    IF cardinality(lexemes) = 0 THEN
        RETURN NULL;
    END IF;
    RETURN ((SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' <-> ' ORDER BY n)
               FROM unnest(lexemes) WITH ORDINALITY AS word (lexeme, n))
        || CASE WHEN length(last_word) >= prefix_letters THEN ':*' ELSE '' END)::tsquery;
END
$$;

-- The first moment of a date: 2026, 2026-03 or 2026-03-31. NULL: it is none.
CREATE FUNCTION mirrord.date_in_query(term text) RETURNS timestamptz
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN term ~ '^\d{4}(-\d\d?){0,2}$' THEN
        make_timestamptz(split_part(term, '-', 1)::integer, coalesce(nullif(split_part(term, '-', 2), ''), '1')::integer,
                         coalesce(nullif(split_part(term, '-', 3), ''), '1')::integer, 0, 0, 0) END;
EXCEPTION WHEN data_exception THEN  -- the 30th of February
    RETURN NULL;
END
$$;

-- The terms of a query, at most 20. field: text, title, tag, path, after or before. asked: as the index is asked; NULL:
-- for path and dates. is_excluded: no page may have it.
CREATE FUNCTION mirrord.search_terms(query text)
    RETURNS TABLE (field text, term text, is_phrase boolean, is_excluded boolean, asked tsquery)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    part text[];
BEGIN
    FOR part IN SELECT regexp_matches(left(query, 1000),
            '(?:^|\s)(-?)(?:(tag|path|title|after|before):)?(?:"([^"]*)"?|([^\s"]+))', 'gi') LIMIT 20 LOOP
        field := coalesce(lower(part[2]), 'text');
        term := btrim(coalesce(part[3], part[4]));
        is_phrase := part[3] IS NOT NULL;
        is_excluded := part[1] = '-';
        IF field = 'text' AND term LIKE '#_%' AND NOT is_phrase THEN
            field := 'tag';
        END IF;
        IF field = 'tag' THEN
            asked := (SELECT ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery
                        FROM unnest(mirrord.tag_lexemes(jsonb_build_array(term))) AS lexeme
                       ORDER BY length(lexeme) DESC LIMIT 1);
        ELSIF field IN ('text', 'title') THEN
            asked := mirrord.term_query(term, CASE WHEN NOT is_phrase THEN 3 END);
        ELSE
            asked := NULL;
        END IF;
        IF term <> '' AND (asked IS NOT NULL OR field NOT IN ('text', 'title', 'tag')) THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

-- Every spelling that differs from a word (in Latin, Greek or Cyrillic letters, as they are compared) by one letter:
-- wrong, missing, too many, or swapped with the next.
CREATE FUNCTION mirrord.near_spellings(word text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    letters text[] := string_to_array(CASE WHEN word ~ '^[a-z0-9]+$' THEN 'abcdefghijklmnopqrstuvwxyz'
        WHEN word ~ '^[\u03b1-\u03c9]+$' THEN 'αβγδεζηθικλμνξοπρστυφχψω'
        ELSE 'абвгдежзиклмнопрстуфхцчшщъыьэюя' END, NULL);
BEGIN
    RETURN ARRAY(
        SELECT left(word, n - 1) || substr(word, n + 1) FROM generate_series(1, length(word)) AS n
        UNION SELECT left(word, n - 1) || substr(word, n + 1, 1) || substr(word, n, 1) || substr(word, n + 2)
                FROM generate_series(1, length(word) - 1) AS n
        UNION SELECT left(word, n - 1) || letter || substr(word, n + 1)
                FROM generate_series(1, length(word)) AS n, unnest(letters) AS letter
        UNION SELECT left(word, n) || letter || substr(word, n + 1)
                FROM generate_series(0, length(word)) AS n, unnest(letters) AS letter
        EXCEPT SELECT word);
END
$$;

-- The best pages of the tenant for a query, at most 400 by each way of looking, and how well they match. near: words
-- that stand for misspelt ones. folders: ids of the pages that are looked through; NULL: all.
--
-- Runs as mirrord_definer, which alone sees rows of page_search without a policy, because Postgres uses no index of
-- words beside a policy. Both conditions on the tenant are part of every statement here. How many pages have a beginning
-- of a word is mostly not known, so the planner may not try one page after the other: a bitmap of all takes less at worst.
CREATE FUNCTION mirrord.matching_pages(query text, in_titles boolean, within uuid[])
    RETURNS TABLE (page_id uuid, rank real, changed_at timestamptz, near text[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    tenant CONSTANT uuid := mirrord.current_tenant();
    own CONSTANT tsquery := ('''' || mirrord.lexeme_of(tenant) || '''')::tsquery;
    most CONSTANT integer := 400;
    most_for_phrases CONSTANT integer := 2000;
    term record;
    asked tsquery;
    wide tsquery;       -- asked, without the order of words in phrases
    named tsquery;
    titled tsquery;
    ranked tsquery;
    scored tsquery;
    since timestamptz;
    until timestamptz;
    phrase text;
    spellings text[];
    others text[];
    is_last boolean := false;
    typed text := btrim(regexp_replace(mirrord.search_text(query), ' +', ' ', 'g'));
BEGIN
    LOOP
        asked := own; wide := own; named := own; titled := own; ranked := NULL; since := NULL; until := NULL;
        FOR term IN SELECT * FROM mirrord.search_terms(query) LOOP
            IF term.field = 'after' AND NOT term.is_excluded OR term.field = 'before' AND term.is_excluded THEN
                since := greatest(since, mirrord.date_in_query(term.term));
            ELSIF term.field IN ('after', 'before') THEN
                until := least(until, mirrord.date_in_query(term.term));
            ELSIF term.asked IS NULL THEN
                CONTINUE;
            ELSIF term.is_excluded AND term.field = 'title' THEN
                named := named && !!term.asked;
            ELSIF term.is_excluded THEN
                asked := asked && !!term.asked;
                wide := CASE WHEN numnode(term.asked) = 1 THEN wide && !!term.asked ELSE wide END;
            ELSIF term.field = 'tag' THEN
                asked := asked && term.asked;
                wide := wide && term.asked;
            ELSE
                IF in_titles AND NOT term.is_phrase THEN
                    term.asked := mirrord.term_query(term.term, 1);
                END IF;
                phrase := btrim(mirrord.search_text(term.term));
                IF is_last AND NOT term.is_phrase AND phrase ~ '^([a-z0-9]+|[\u03b1-\u03c9]+|[\u0430-\u045f]+)$'
                   AND length(phrase) BETWEEN 4 AND 30
                   AND NOT EXISTS (SELECT FROM mirrord.page_search AS s
                                    WHERE s.tenant_id = tenant AND s.words @@ (own && term.asked)) THEN
                    others := ARRAY(SELECT spelling FROM unnest(mirrord.near_spellings(phrase)) AS spelling
                                     WHERE 0 < (SELECT count(*) FROM mirrord.page_search AS s
                                                 WHERE s.words @@ (own && ('''' || spelling || '''')::tsquery)
                                                   AND s.tenant_id = tenant));
                    IF others = '{}' THEN
                        RETURN;
                    END IF;
                    spellings := spellings || others;
                    term.asked := (SELECT string_agg('''' || spelling || '''', ' | ')::tsquery
                                     FROM unnest(others) AS spelling);
                END IF;
                -- Without the order of words: ts_rank compares all positions of a phrase with each other.
                scored := regexp_replace(term.asked::text, '<(-|\d+)>', '|', 'g')::tsquery;
                ranked := coalesce(ranked || scored, scored);
                titled := titled && term.asked;
                IF in_titles OR term.field = 'title' THEN
                    named := named && term.asked;
                ELSE
                    asked := asked && term.asked;
                    wide := wide && replace(term.asked::text, '<->', '&')::tsquery;
                END IF;
            END IF;
        END LOOP;
        IF numnode(asked) = 1 AND numnode(named) = 1 AND since IS NULL AND until IS NULL AND within IS NULL THEN
            RETURN;  -- nothing is asked
        END IF;
        RETURN QUERY
        WITH candidate AS MATERIALIZED (
            (SELECT s.page_id FROM mirrord.page_search AS s
              WHERE s.tenant_id = tenant AND s.names @@ titled AND s.names @@ named AND s.words @@ asked
                AND (since IS NULL OR s.changed_at >= since) AND (until IS NULL OR s.changed_at < until)
                AND (within IS NULL OR s.page_id = ANY (within))
              ORDER BY s.changed_at DESC LIMIT most)
            UNION
            (SELECT fitting.page_id FROM (
                SELECT s.page_id, s.words FROM mirrord.page_search AS s
                 WHERE s.tenant_id = tenant AND s.words @@ wide AND (numnode(named) = 1 OR s.names @@ named)
                   AND (since IS NULL OR s.changed_at >= since) AND (until IS NULL OR s.changed_at < until)
                   AND (within IS NULL OR s.page_id = ANY (within))
                 ORDER BY s.changed_at DESC LIMIT CASE WHEN wide = asked THEN most ELSE most_for_phrases END) AS fitting
              WHERE wide = asked OR fitting.words @@ asked LIMIT most))
        SELECT s.page_id,
               ((CASE WHEN ranked IS NULL THEN 0 ELSE ts_rank('{0.05, 0.2, 0.5, 1.0}', s.words, ranked, 1) END)
                + CASE WHEN s.names @@ titled AND ranked IS NOT NULL THEN 1 ELSE 0 END
                + CASE WHEN typed <> '' AND strpos(s.name_lines, E'\n' || typed || E'\n') > 0 THEN 1
                       WHEN typed <> '' AND strpos(s.name_lines, E'\n' || typed) > 0 THEN 0.5 ELSE 0 END)::real,
               s.changed_at,
               CASE WHEN spellings IS NOT NULL THEN
                   ARRAY(SELECT lexeme FROM unnest(tsvector_to_array(s.words)) AS lexeme
                          WHERE lexeme = ANY (spellings)) END
          FROM candidate AS c JOIN mirrord.page_search AS s ON s.tenant_id = tenant AND s.page_id = c.page_id;
        EXIT WHEN FOUND OR is_last OR ranked IS NULL;
        is_last := true;
    END LOOP;
END
$$;

-- Pages with the typed letters anywhere in a name, at most 50.
CREATE FUNCTION mirrord.pages_named_like(typed text, within uuid[])
    RETURNS TABLE (page_id uuid, changed_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant CONSTANT uuid := mirrord.current_tenant();
    letters CONSTANT text := btrim(regexp_replace(mirrord.search_text(typed), ' +', ' ', 'g'));
BEGIN
    IF length(letters) >= 2 THEN
        RETURN QUERY SELECT s.page_id, s.changed_at FROM mirrord.page_search AS s
          WHERE s.tenant_id = tenant
            AND s.name_lines LIKE '%' || regexp_replace(letters, '([\\%_])', '\\\1', 'g') || '%'
            AND (within IS NULL OR s.page_id = ANY (within)) LIMIT 50;
    END IF;
END
$$;

-- A page or folder and all below it, by the end of a path: `Recipes`, `kitchen/recipes`, `/Kitchen` from the root. Of
-- its last part the beginning is enough. NULL: no path is given.
CREATE FUNCTION mirrord.pages_below(path text) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant CONSTANT uuid := mirrord.current_tenant();
    parts text[] := string_to_array(mirrord.name_key(regexp_replace(btrim(path, ' /'), '\.md$', '', 'i')), '/');
    level uuid[];
    below uuid[];
    n integer;
BEGIN
    FOR n IN 1 .. coalesce(cardinality(parts), 0) LOOP
        level := ARRAY(
            SELECT p.id FROM mirrord.page AS p
             WHERE p.tenant_id = tenant AND p.deleted_at IS NULL AND p.name_key >= parts[n]
               AND p.name_key <= parts[n] || CASE WHEN n = cardinality(parts) THEN U&'\+10FFFF' ELSE '' END
               AND (CASE WHEN n > 1 THEN p.parent_id = ANY (level) ELSE path NOT LIKE '/%' OR p.parent_id IS NULL END));
    END LOOP;
    WHILE cardinality(level) > 0 LOOP
        below := below || level;
        level := ARRAY(SELECT p.id FROM mirrord.page AS p
                        WHERE p.tenant_id = tenant AND p.deleted_at IS NULL AND p.parent_id = ANY (level));
    END LOOP;
    RETURN CASE WHEN parts IS NOT NULL THEN coalesce(below, '{}') END;
END
$$;

-- Pages that fit a query, the best first: words in any order, "phrases", -without, tag:, path:, title:, after:, before:.
-- in_titles: look for words in titles, names and aliases only, and for parts of these. near: of a page that has a word
-- like the one that occurs nowhere. matches: how many pages fit; from 400 on, there may be more.
CREATE FUNCTION mirrord.search(query text, most integer DEFAULT 20, skip integer DEFAULT 0,
                               in_titles boolean DEFAULT false)
    RETURNS TABLE (page_id uuid, title text, rank real, near text[], matches bigint)
    LANGUAGE plpgsql STABLE ROWS 20 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant CONSTANT uuid := mirrord.current_tenant();
    within uuid[];
    without uuid[] := '{}';
    typed text := '';
    term record;
BEGIN
    FOR term IN SELECT * FROM mirrord.search_terms(query) LOOP
        IF term.field = 'path' AND NOT term.is_excluded THEN
            within := CASE WHEN within IS NULL THEN mirrord.pages_below(term.term)
                ELSE ARRAY(SELECT unnest(within) INTERSECT SELECT unnest(mirrord.pages_below(term.term))) END;
        ELSIF term.field = 'path' THEN
            without := without || mirrord.pages_below(term.term);
        ELSIF term.field = 'text' THEN
            typed := typed || ' ' || term.term;
        END IF;
    END LOOP;
    RETURN QUERY
    WITH matching AS MATERIALIZED (
        SELECT m.page_id, m.rank, m.changed_at, m.near FROM mirrord.matching_pages(query, in_titles, within) AS m),
    fitting AS (
        SELECT * FROM matching
        UNION ALL SELECT l.page_id, -1, l.changed_at, NULL FROM mirrord.pages_named_like(typed, within) AS l
         WHERE in_titles AND (SELECT count(*) < 20 FROM matching)),
    best AS (
        SELECT DISTINCT ON (f.page_id) f.page_id, f.rank, f.changed_at, f.near FROM fitting AS f
         ORDER BY f.page_id, f.rank DESC)
    SELECT b.page_id, coalesce(p.title, p.name, ''), b.rank, b.near, count(*) OVER ()
      FROM best AS b JOIN mirrord.page AS p ON p.tenant_id = tenant AND p.id = b.page_id
     WHERE p.tenant_id = tenant AND p.deleted_at IS NULL
       AND b.page_id <> ALL (without)
     ORDER BY b.rank DESC, b.changed_at DESC, b.page_id LIMIT least(most, 100) OFFSET greatest(skip, 0);
END
$$;

REVOKE EXECUTE ON FUNCTION mirrord.matching_pages, mirrord.pages_named_like FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.matching_pages, mirrord.pages_named_like TO mirrord_app, mirrord_daemon;

RESET ROLE;
