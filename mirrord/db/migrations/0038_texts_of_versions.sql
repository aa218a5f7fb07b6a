-- Texts of earlier versions may be removed after their time (docs/decisions/0072).
SET ROLE mirrord_owner;

ALTER TABLE mirrord.page_revision ADD COLUMN text_removed_at timestamptz;
ALTER TABLE mirrord.record_revision ADD COLUMN text_removed_at timestamptz;

RESET ROLE;
