-- A request carries the scope of the agent that made it (docs/decisions/0066).
SET ROLE mirrord_owner;

ALTER TABLE mirrord.approval ADD COLUMN paths jsonb NOT NULL DEFAULT '{}';

RESET ROLE;
