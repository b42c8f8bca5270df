-- A service account is a membership without a person, so that roles, policies, row-level security and limits hold for
-- it as they are. Its id is that of the membership, its name stands in first_name, and it joined when it was created.
alter table memberships
  add column kind text not null default 'user' check (kind in ('user', 'service_account')),
  add column description text not null default '' check (char_length(description) <= 2000),
  add column created_by uuid,
  alter column user_id drop not null,
  add constraint memberships_person check ((kind = 'user') = (user_id is not null));
comment on column memberships.kind is 'user: a person; service_account: a program of the tenant, which logs in with keys';
comment on column memberships.user_id is 'Null for a service account';
comment on column memberships.description is 'Of a service account';
comment on column memberships.created_by is 'Who created the service account, without a foreign key: it outlives them; null for a person';
create index memberships_service_accounts on memberships (tenant_id, joined_at, id) where kind = 'service_account';
create index memberships_service_accounts_by_name on memberships (tenant_id, first_name_key, id) where kind = 'service_account';

-- Not validated: the narrower constraint held for every row there is, and a scan would hold the lock.
alter table audit_log
  drop constraint audit_log_actor_type_check,
  add constraint audit_log_actor_type_check check (actor_type in ('user', 'service_account', 'system')) not valid;
