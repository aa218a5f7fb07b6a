-- Finding pages: their words, kept beside them, and mirrord.search() (docs/decisions/0079).
SET ROLE mirrord_owner;

-- The words of a page or folder that is not deleted. Both vectors also have a lexeme of the tenant.
CREATE TABLE mirrord.page_search (
    tenant_id  uuid NOT NULL,
    page_id    uuid NOT NULL,
    words      tsvector NOT NULL,           -- A: names, B: headings, C: tags, D: the text
    names      tsvector NOT NULL,           -- of title, name and aliases
    name_lines text COLLATE "C" NOT NULL,   -- the same as search_text(), each between two ends of lines
    changed_at timestamptz NOT NULL,        -- as page_dates.updated
    PRIMARY KEY (tenant_id, page_id)
);

ALTER TABLE mirrord.page_search ALTER words SET STORAGE EXTERNAL;  -- it hardly gets smaller, and is read often
CREATE INDEX page_search_words ON mirrord.page_search USING gin (words) WITH (fastupdate = off);

CREATE INDEX page_search_names ON mirrord.page_search USING gin (names) WITH (fastupdate = off);

CREATE INDEX page_search_newest ON mirrord.page_search (tenant_id, changed_at);

-- Pages that are to be indexed (again).
CREATE TABLE mirrord.search_due (
    tenant_id uuid NOT NULL,
    page_id   uuid NOT NULL,
    PRIMARY KEY (tenant_id, page_id)
);

-- With pg_trgm, parts of names are looked up in an index, too; without it, the names of the tenant are read.
DO $$
DECLARE
    place text;
BEGIN
    IF coalesce(current_setting('mirrord.cluster', true), '') = 'on' THEN
        RETURN;
    END IF;
    SELECT nspname INTO place FROM pg_catalog.pg_extension JOIN pg_catalog.pg_namespace AS n ON n.oid = extnamespace
     WHERE extname = 'pg_trgm';
    IF FOUND THEN
        EXECUTE format('CREATE INDEX page_search_parts ON mirrord.page_search USING gin (name_lines %I.gin_trgm_ops)',
                       place);
    END IF;
END
$$;

-- A text as it is compared: small letters without accents, blanks for what is neither letter nor digit. Letters of
-- scripts without blanks between words stand alone, so that their words are phrases. Not for people.
CREATE FUNCTION mirrord.search_text(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    letters text := lower(value);
BEGIN
    IF octet_length(letters) > char_length(letters) THEN
        letters := lower(normalize(regexp_replace(normalize(letters, NFKD),
            '[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]+', '', 'g'), NFC));
        IF lower(U&'\0416') <> U&'\0436' THEN  -- a database in the locale C knows letters of English only
            letters := translate(letters, 'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏҐØĐÞŁÆŒ',
                                          'αβγδεζηθικλμνξοπρστυφχψωабвгдежзийклмнопрстуфхцчшщъыьэюяђєѕіјљњћџґøđþłæœ');
        END IF;
        letters := translate(letters, 'øđłħıŧςð', 'odlhitσd');
        letters := replace(replace(replace(replace(letters, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        letters := regexp_replace(letters, '[\u0080-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb-\u00bf\u00d7\u00f7'
            '\u2000-\u206f\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u3030-\u303f\uff00-\uff0f]+', ' ', 'g');
        IF letters ~ '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]' THEN
            letters := regexp_replace(letters,
                '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])',
                ' \1 ', 'g');
        END IF;
    END IF;
    RETURN translate(letters, '/.-@&<+', '       ');  -- in which Postgres would see addresses, paths, signs and tags
END
$$;

CREATE FUNCTION mirrord.words_of(value text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN to_tsvector('pg_catalog.simple', coalesce(mirrord.search_text(value), ''));
END
$$;

-- The lexeme that keeps the rows of tenants apart within an index; no word has its form.
CREATE FUNCTION mirrord.lexeme_of(tenant uuid) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '=' || replace(tenant::text, '-', '');
END;

-- A lexeme of each tag, and of the tags above it: of a/b `#a` and `#a/b`. tags: as front matter has them, a list or a
-- text. Of more than 1,000 tags or 100 kB of lexemes the first ones; of a tag of more than 1,000 bytes those above it.
CREATE FUNCTION mirrord.tag_lexemes(tags jsonb) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tag text;
    part text;
    above text;
    lexemes text[] := '{}';
    bytes integer := 0;
BEGIN
    FOR tag IN
        SELECT item #>> '{}' FROM jsonb_array_elements(CASE jsonb_typeof(tags) WHEN 'array' THEN tags ELSE '[]' END)
            AS item WHERE jsonb_typeof(item) IN ('string', 'number')
        UNION ALL SELECT regexp_split_to_table(left(tags #>> '{}', 100000), '[,\s]+')
                   WHERE jsonb_typeof(tags) = 'string'
         LIMIT 1000
    LOOP
        EXIT WHEN bytes > 100000;
        above := '#';
        FOREACH part IN ARRAY string_to_array(ltrim(tag, '# '), '/') LOOP
            part := regexp_replace(btrim(mirrord.search_text(part)), ' +', '-', 'g');
            CONTINUE WHEN part = '' OR length(part) > 200;
            EXIT WHEN octet_length(above) + octet_length(part) > 1000;  -- a lexeme has at most 2,046
            above := CASE above WHEN '#' THEN '#' ELSE above || '/' END || part;
            lexemes := lexemes || above;
            bytes := bytes + octet_length(above);
        END LOOP;
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT lexeme FROM unnest(lexemes) AS lexeme);
END
$$;

-- The texts in a value of front matter, without keys.
CREATE FUNCTION mirrord.texts_in(value jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(string_agg(item #>> '{}', ' '), '')
      FROM jsonb_path_query(value, 'strict $.** ? (@.type() == "string" || @.type() == "number")') AS item;
END;

-- Indexes a page as its row is now. Of a text with more words than an index holds (1 MB of them), the beginning is
-- indexed; of a page whose other words are too many as well, the names. The caller has locked the page.
CREATE FUNCTION mirrord.index_page(of_tenant uuid, page uuid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET client_min_messages = error AS $$
DECLARE
    base record;
    body text;
    titles text[];
    headings text;
    front jsonb;
    all_words tsvector;
    name_words tsvector;
    lines text;            -- names, and when the page changed: a cluster takes no subqueries in an INSERT
    changed timestamptz;
    characters integer := 1000000;
BEGIN
    SELECT p.id, p.markdown, p.title, p.name, p.frontmatter, p.deleted_at, p.updated_at INTO base
      FROM mirrord.page AS p WHERE p.tenant_id = of_tenant AND p.id = page;
    DELETE FROM mirrord.search_due AS due WHERE due.tenant_id = of_tenant AND due.page_id = page;
    IF base.id IS NULL OR base.deleted_at IS NOT NULL THEN
        DELETE FROM mirrord.page_search AS s WHERE s.tenant_id = of_tenant AND s.page_id = page;
        RETURN;
    END IF;
    front := CASE WHEN jsonb_typeof(base.frontmatter) = 'object' THEN base.frontmatter ELSE '{}' END;
    body := coalesce(base.markdown, '');
    IF base.frontmatter IS NOT NULL AND starts_with(body, '---') AND strpos(body, E'\n---') > 0 THEN
        body := substr(body, strpos(body, E'\n---') + 4);
    END IF;
    IF strpos(body, ';base64,') > 0 THEN
        body := regexp_replace(body, ';base64,[A-Za-z0-9+/=\s]+', ' ', 'g');
    END IF;
    titles := ARRAY(SELECT DISTINCT left(called, 1000) FROM unnest(ARRAY[base.title, base.name]) AS called
                     WHERE called <> '')
        || ARRAY(SELECT left(alias, 200) FROM jsonb_array_elements_text(
            CASE jsonb_typeof(front -> 'aliases') WHEN 'array' THEN front -> 'aliases' ELSE '[]' END) AS alias
            WHERE alias <> '' LIMIT 100);
    headings := (SELECT left(string_agg(heading[1], E'\n'), 100000)
                   FROM regexp_matches(body, '^ {0,3}#{1,6}[ \t]+(.+)$', 'gn') AS heading);
    name_words := mirrord.words_of(array_to_string(titles, E'\n'))
        || array_to_tsvector(ARRAY[mirrord.lexeme_of(of_tenant)]);
    lines := (SELECT E'\n' || coalesce(string_agg(
                  btrim(regexp_replace(mirrord.search_text(called), '\s+', ' ', 'g')), E'\n'), '') || E'\n'
                FROM unnest(titles) AS called);
    changed := mirrord.read_time(front -> 'updated');
    changed := CASE WHEN changed <= now() THEN changed ELSE base.updated_at END;
    LOOP
        BEGIN
            all_words := setweight(name_words, 'A') || setweight(mirrord.words_of(headings), 'B')
                || setweight(mirrord.words_of(left(mirrord.texts_in(front -> 'tags'), 50000)), 'C')
                || array_to_tsvector(mirrord.tag_lexemes(front -> 'tags'))
                || mirrord.words_of(left(mirrord.texts_in(front - 'tags' - 'title' - 'aliases'),
                                         least(characters, 100000)))
                || mirrord.words_of(left(body, characters));
            INSERT INTO mirrord.page_search AS s (tenant_id, page_id, words, names, name_lines, changed_at)
            VALUES (of_tenant, page, all_words, name_words, lines, changed)
            ON CONFLICT (tenant_id, page_id) DO UPDATE
               SET words = EXCLUDED.words, names = EXCLUDED.names, name_lines = EXCLUDED.name_lines,
                   changed_at = EXCLUDED.changed_at;
            RETURN;
        EXCEPTION WHEN program_limit_exceeded OR statement_too_complex THEN
            IF characters = 0 THEN
                RAISE;
            ELSIF SQLSTATE = '54001' AND front <> '{}' THEN
                front := '{}';  -- it is nested too deeply
            ELSIF characters >= 1000 THEN
                characters := characters / 2;
            ELSE
                characters := 0; front := '{}'; headings := NULL;
            END IF;
        END;
    END LOOP;
END
$$;

-- Indexes pages that are due, a batch of them: 100 pages or about 1,000,000 characters. Pages that other transactions
-- have locked stay due, so it waits for none.
CREATE FUNCTION mirrord.index_due_pages(of_tenant uuid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    due record;
    characters bigint := 0;
BEGIN
    IF NOT EXISTS (SELECT FROM mirrord.search_due AS d WHERE d.tenant_id = of_tenant) THEN
        RETURN;
    END IF;
    FOR due IN
        SELECT p.id, length(p.markdown) AS characters
          FROM mirrord.search_due AS d JOIN mirrord.page AS p ON p.tenant_id = d.tenant_id AND p.id = d.page_id
         WHERE d.tenant_id = of_tenant AND p.tenant_id = of_tenant
         LIMIT 100 FOR NO KEY UPDATE OF p SKIP LOCKED
    LOOP
        PERFORM mirrord.index_page(of_tenant, due.id);
        characters := characters + coalesce(due.characters, 0);
        EXIT WHEN characters > 1000000;
    END LOOP;
    DELETE FROM mirrord.search_due AS d WHERE d.tenant_id = of_tenant AND NOT EXISTS (
        SELECT FROM mirrord.page AS p WHERE p.tenant_id = of_tenant AND p.id = d.page_id);
END
$$;

-- Makes every page of the tenant due, and returns their number.
CREATE FUNCTION mirrord.rebuild_search() RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid := mirrord.current_tenant();
    pages bigint;
BEGIN
    INSERT INTO mirrord.search_due (tenant_id, page_id)
    SELECT p.tenant_id, p.id FROM mirrord.page AS p WHERE p.tenant_id = tenant AND p.deleted_at IS NULL
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS pages = ROW_COUNT;
    RETURN pages;
END
$$;

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

DO $$
DECLARE
    new_table text;
    role_name text;
BEGIN
    FOREACH new_table IN ARRAY ARRAY['page_search', 'search_due'] LOOP
        EXECUTE format('ALTER TABLE mirrord.%I ENABLE ROW LEVEL SECURITY', new_table);
        EXECUTE format('ALTER TABLE mirrord.%I FORCE ROW LEVEL SECURITY', new_table);
        FOREACH role_name IN ARRAY ARRAY['app', 'owner', 'daemon', 'definer'] LOOP
            EXECUTE format('CREATE POLICY %1$I ON mirrord.%2$I TO %3$I USING (%4$s) WITH CHECK (%4$s)',
                           role_name, new_table, 'mirrord_' || role_name,
                           'tenant_id = mirrord.current_tenant()');
        END LOOP;
        EXECUTE format('CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE ON mirrord.%I '
                       'FOR EACH ROW EXECUTE FUNCTION mirrord.guard_tenant()', new_table);
        EXECUTE format('CREATE TRIGGER a_no_truncate BEFORE TRUNCATE ON mirrord.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION mirrord.refuse_truncate()', new_table);
        EXECUTE format('GRANT SELECT ON mirrord.%I TO mirrord_app', new_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON mirrord.%I TO mirrord_daemon, mirrord_definer',
                       new_table);
    END LOOP;
END
$$;
CREATE POLICY definer_reads ON mirrord.page_search FOR SELECT TO mirrord_definer USING (true);

REVOKE EXECUTE ON FUNCTION mirrord.index_page, mirrord.index_due_pages, mirrord.rebuild_search FROM PUBLIC;

GRANT EXECUTE ON FUNCTION mirrord.index_page, mirrord.index_due_pages TO mirrord_daemon, mirrord_definer;

GRANT EXECUTE ON FUNCTION mirrord.rebuild_search TO mirrord_daemon;

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

-- A text that has just got its document is indexed in the transaction of the document.
CREATE FUNCTION mirrord.page_got_document() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.index_page(NEW.tenant_id, NEW.id);
    RETURN NULL;
END
$$;

-- Every other change waits until links follow the feed, which is in nobody's way.
CREATE FUNCTION mirrord.page_changed_words() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO mirrord.search_due (tenant_id, page_id) VALUES (NEW.tenant_id, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE FUNCTION mirrord.links_followed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.index_due_pages(NEW.tenant_id);
    RETURN NULL;
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

REVOKE EXECUTE ON FUNCTION mirrord.page_got_document FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.page_got_document TO mirrord_owner;
REVOKE EXECUTE ON FUNCTION mirrord.page_changed_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.page_changed_words TO mirrord_owner;
REVOKE EXECUTE ON FUNCTION mirrord.links_followed FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.links_followed TO mirrord_owner;

REVOKE EXECUTE ON FUNCTION mirrord.matching_pages, mirrord.pages_named_like FROM PUBLIC;

GRANT EXECUTE ON FUNCTION mirrord.matching_pages, mirrord.pages_named_like TO mirrord_app, mirrord_daemon;

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

CREATE TRIGGER d_search AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN (OLD.content IS NULL AND NEW.content IS NOT NULL AND NEW.ahead = '{}')
    EXECUTE FUNCTION mirrord.page_got_document();

CREATE TRIGGER d_search_due AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN ((NEW.content IS NOT NULL OR NEW.kind = 'folder' OR NEW.deleted_at IS NOT NULL)
          AND (NEW.title, NEW.name, NEW.kind, NEW.deleted_at, NEW.frontmatter, NEW.markdown)
              IS DISTINCT FROM (OLD.title, OLD.name, OLD.kind, OLD.deleted_at, OLD.frontmatter, OLD.markdown))
    EXECUTE FUNCTION mirrord.page_changed_words();

CREATE TRIGGER d_search_new AFTER INSERT ON mirrord.page FOR EACH ROW
    WHEN (NEW.content IS NOT NULL OR NEW.kind = 'folder')
    EXECUTE FUNCTION mirrord.page_changed_words();

CREATE TRIGGER b_search AFTER UPDATE ON mirrord.link_cursor FOR EACH ROW EXECUTE FUNCTION mirrord.links_followed();

CREATE OR REPLACE FUNCTION mirrord.keep_statistics() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET default_statistics_target = 10 AS $$
DECLARE
    grown record;
    least_pages constant integer := 16;
    page_bytes constant integer := current_setting('block_size');
BEGIN
    FOR grown IN
        SELECT class.oid::regclass AS name, given.columns
          FROM (VALUES
            ('mirrord.mirror_base', 'tenant_id, mirror_id, entry_id, path, digest, kind'),
            ('mirrord.page', 'tenant_id, id, parent_id, name, name_key, kind, deleted_at, updated_at'),
            ('mirrord.page_revision', 'tenant_id, page_id, version, digest, op_id'),
            ('mirrord.entry_feed', 'tenant_id, entry_id, seq, kind'),
            ('mirrord.page_link', 'tenant_id, source_id, number, target_id, target_key, due'),
            ('mirrord.link_name', 'tenant_id, entry_id, number, key'),
            ('mirrord.page_search', 'tenant_id, page_id, changed_at, words, names'),
            ('mirrord.attachment', 'tenant_id, id, parent_id, name_key, deleted_at')
          ) AS given (name, columns)
          JOIN pg_class AS class ON class.oid = given.name::regclass
         WHERE pg_relation_size(class.oid) > 2 * page_bytes * greatest(class.relpages, least_pages)
    LOOP
        -- SKIP_LOCKED: a session that analyzes the table already does it for all.
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s (%s)', grown.name, grown.columns);
    END LOOP;
END
$$;

-- Pages of before are indexed by their daemons, in the background. Rights of the daemon are enough, so nothing waits
-- for a lock on the table of tenants meanwhile.
RESET ROLE;
SET ROLE mirrord_daemon;  -- which sees every tenant
DO $$
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT id FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant::text, true);
        INSERT INTO mirrord.search_due (tenant_id, page_id)
        SELECT p.tenant_id, p.id FROM mirrord.page AS p WHERE p.tenant_id = tenant AND p.deleted_at IS NULL;
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
