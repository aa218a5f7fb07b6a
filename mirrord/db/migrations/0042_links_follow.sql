-- Links follow renames and moves: the target that a link is to get is noted until the page's text has it
-- (docs/decisions/0076).
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page_link ADD COLUMN pending jsonb;
CREATE INDEX page_link_pending ON mirrord.page_link (tenant_id, source_id, number) WHERE pending IS NOT NULL;

RESET ROLE;
