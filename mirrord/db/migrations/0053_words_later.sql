-- The words of many new texts are indexed after all of their documents, and a text is compared in half of the time.
SET ROLE mirrord_owner;

-- It leaves of each text what it left before.
CREATE OR REPLACE FUNCTION mirrord.search_text(value text) RETURNS text
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

GRANT CREATE ON SCHEMA mirrord TO mirrord_definer;
RESET ROLE;
SET ROLE mirrord_definer;

-- A text that has just got its document is indexed in the transaction of the document; texts of many pages, as of an
-- import, wait until all have their documents.
CREATE OR REPLACE FUNCTION mirrord.page_got_document() RETURNS trigger
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

RESET ROLE;
SET ROLE mirrord_owner;
REVOKE CREATE ON SCHEMA mirrord FROM mirrord_definer;

RESET ROLE;
