-- Links of HTML, `<a href="…">…</a>` in a sentence, were raw in the documents of earlier versions: these are derived
-- again, under their versions and with the ids of their blocks.
-- A tenant that got another dialect had its first 1,000 documents derived again, and no others: in a tenant with more
-- documents, all of them where the dialect has a syntax of its own, else those with anything raw, which may be of the
-- dialect before.
SET ROLE mirrord_daemon;  -- which sees every tenant

DO $$
DECLARE
    tenant record;
    is_large boolean;
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;  -- the feed is written while the tenant is set
    FOR tenant IN SELECT id, dialect NOT IN ('plain', 'obsidian') AS is_foreign FROM mirrord.tenant LOOP
        PERFORM set_config('mirrord.tenant', tenant.id::text, true);
        is_large := (SELECT count(*) > 1000 FROM mirrord.page WHERE tenant_id = tenant.id);
        UPDATE mirrord.page SET content = NULL
         WHERE tenant_id = tenant.id AND content IS NOT NULL AND ahead = '{}'
           AND (markdown ~* '<a\s[^>]*href'
                OR is_large AND (tenant.is_foreign OR content::text ~ '"raw(?:Inline|Block)"'));
    END LOOP;
    PERFORM set_config('mirrord.tenant', '', true);
END
$$;

RESET ROLE;
