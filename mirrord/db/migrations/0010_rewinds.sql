-- How a mirror notices that its database, or its tree, is an earlier one than it has worked with: both sides hold the
-- same counter, and the database has an epoch that a restore changes.
SET ROLE mirrord_owner;

ALTER TABLE mirrord.mirror ADD COLUMN acks bigint NOT NULL DEFAULT 0;  -- rounds of work acknowledged; the tree's is not less

-- One row. A restore of the whole database may renew id by hand: every mirror then compares as after a rewind.
CREATE TABLE mirrord.epoch (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id     uuid NOT NULL DEFAULT gen_random_uuid(),
    system bigint  -- identifier of the cluster whose transaction ids tenant_clock holds
);
INSERT INTO mirrord.epoch (system) SELECT system_identifier FROM pg_control_system();
GRANT SELECT, UPDATE ON mirrord.epoch TO mirrord_daemon;

RESET ROLE;
