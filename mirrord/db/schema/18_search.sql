-- Finding pages: their words, kept beside them, and mirrord.search() (docs/decisions/0079).
--
-- Words are indexed after the edit that brings them: with the document of a text that comes alone, or when links follow
-- the feed.
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

-- Words --------------------------------------------------------------------------------------------------------------

-- A text as it is compared: small letters without accents, blanks for what is neither letter nor digit. Letters of
-- scripts without blanks between words stand alone, so that their words are phrases. Not for people.
CREATE FUNCTION mirrord.search_text(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    letters text := lower(value);
BEGIN
    IF octet_length(letters) > char_length(letters) THEN
        letters := regexp_replace(letters, '[\u2010-\u2027]+', ' ', 'g');  -- quotation marks and dashes of plain notes
    END IF;
    IF octet_length(letters) > char_length(letters) THEN
        letters := regexp_replace(normalize(letters, NFKD),
            '[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]+', '', 'g');
        IF letters ~ '[\u0483-\u1fff\u20d0-\u20ff\u3099\u309a\ua000-\uabff\U00010000-\U0001efff]' THEN
            letters := normalize(letters, NFC);  -- of what is left, nothing else joins letters
        END IF;
        letters := lower(letters);
        IF lower(U&'\0416') <> U&'\0436' THEN  -- a database in the locale C knows letters of English only
            letters := translate(letters, 'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏҐØĐÞŁÆŒ',
                                          'αβγδεζηθικλμνξοπρστυφχψωабвгдежзийклмнопрстуфхцчшщъыьэюяђєѕіјљњћџґøđþłæœ');
        END IF;
        IF letters ~ '[øđłħıŧςðßæœþ]' THEN
            letters := translate(letters, 'øđłħıŧςð', 'odlhitσd');
            letters := replace(replace(replace(replace(letters, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        END IF;
        letters := regexp_replace(letters, '[\u0080-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb-\u00bf\u00d7\u00f7'
            '\u2000-\u206f\u2190-\u2bff\u3000-\u3004\u3008-\u3020\u3030-\u303f\uff00-\uff0f]+', ' ', 'g');
        IF letters ~ '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]' THEN
            letters := regexp_replace(letters,
                '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])',
                ' \1 ', 'g');
        END IF;
    END IF;
    -- In these Postgres would see addresses, paths, signs and tags. translate() takes six times as long.
    RETURN replace(replace(replace(replace(replace(replace(replace(letters,
        '/', ' '), '.', ' '), '-', ' '), '@', ' '), '&', ' '), '<', ' '), '+', ' ');
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

-- Indexing -----------------------------------------------------------------------------------------------------------

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

-- A text that has just got its document is indexed in the transaction of the document; texts of many pages, as of an
-- import, wait until all have their documents.
CREATE FUNCTION mirrord.page_got_document() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('mirrord.words', true) = 'later' THEN
        INSERT INTO mirrord.search_due (tenant_id, page_id) VALUES (NEW.tenant_id, NEW.id) ON CONFLICT DO NOTHING;
    ELSE
        PERFORM mirrord.index_page(NEW.tenant_id, NEW.id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER d_search AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN (OLD.content IS NULL AND NEW.content IS NOT NULL AND NEW.ahead = '{}')
    EXECUTE FUNCTION mirrord.page_got_document();

-- Every other change waits until links follow the feed, which is in nobody's way.
CREATE FUNCTION mirrord.page_changed_words() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO mirrord.search_due (tenant_id, page_id) VALUES (NEW.tenant_id, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER d_search_due AFTER UPDATE ON mirrord.page FOR EACH ROW
    WHEN ((NEW.content IS NOT NULL OR NEW.kind = 'folder' OR NEW.deleted_at IS NOT NULL)
          AND (NEW.title, NEW.name, NEW.kind, NEW.deleted_at, NEW.frontmatter, NEW.markdown)
              IS DISTINCT FROM (OLD.title, OLD.name, OLD.kind, OLD.deleted_at, OLD.frontmatter, OLD.markdown))
    EXECUTE FUNCTION mirrord.page_changed_words();
CREATE TRIGGER d_search_new AFTER INSERT ON mirrord.page FOR EACH ROW
    WHEN (NEW.content IS NOT NULL OR NEW.kind = 'folder')
    EXECUTE FUNCTION mirrord.page_changed_words();

CREATE FUNCTION mirrord.links_followed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mirrord.index_due_pages(NEW.tenant_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER b_search AFTER UPDATE ON mirrord.link_cursor FOR EACH ROW EXECUTE FUNCTION mirrord.links_followed();

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

REVOKE EXECUTE ON FUNCTION mirrord.index_page, mirrord.index_due_pages, mirrord.rebuild_search FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirrord.index_page, mirrord.index_due_pages TO mirrord_daemon, mirrord_definer;
GRANT EXECUTE ON FUNCTION mirrord.rebuild_search TO mirrord_daemon;

RESET ROLE;
