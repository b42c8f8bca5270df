-- Ending a member's sessions in one tenant. A session belongs to its person and may have tokens for several tenants, so
-- it lives on elsewhere: the membership says until when the sessions began that are over here. One row, however many
-- tokens there are.
alter table memberships add column sessions_ended_at timestamptz;
comment on column memberships.sessions_ended_at is
  'Sessions that began until then are over in this tenant, with every token for it; null while none was ended';
