-- Documents are derived by the dialect of a tenant's pages (docs/decisions/0082).
SET ROLE mirrord_owner;

ALTER TABLE mirrord.tenant ADD COLUMN dialect text NOT NULL DEFAULT 'plain';

RESET ROLE;
