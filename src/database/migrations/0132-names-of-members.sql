-- Applications call people by names of their own, such as the ids of a directory. A member has one beside id and address.
alter table memberships add column external_id text check (char_length(external_id) between 1 and 128);
comment on column memberships.external_id is
  'What applications and directories call the person, compared exactly; null for none, and for a service account';
create unique index memberships_by_external_id on memberships (tenant_id, external_id) where external_id is not null;
alter table invitations add column external_id text check (char_length(external_id) between 1 and 128);
comment on column invitations.external_id is 'What the membership gets when it is accepted';
grant select (external_id) on invitations to bailiwick_api;
