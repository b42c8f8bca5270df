-- Users of SCIM. A User is the membership with its id; a row here has what a membership cannot keep, or waits for one.
create table directory_users (
  tenant_id uuid not null,
  id uuid not null,
  user_name text not null check (char_length(user_name) between 1 and 256),
  user_name_key text collate "C" generated always as (lower(user_name)) stored,
  display_name text not null check (char_length(display_name) <= 1024),
  email text collate "C" check (char_length(email) <= 254),
  external_id text check (char_length(external_id) between 1 and 128),
  active boolean not null,
  is_pending boolean not null,
  made_user_id uuid,
  document jsonb not null check (jsonb_typeof(document) = 'object'),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null default 1,
  primary key (tenant_id, id),
  constraint directory_users_by_user_name unique (tenant_id, user_name_key)
);
comment on table directory_users is 'Users of SCIM: what a directory said of members, and of people who are to become members';
comment on column directory_users.id is 'That of the membership, once there is one';
comment on column directory_users.email is 'The address in lower case; null for none';
comment on column directory_users.external_id is 'What the directory calls the User, until there is a membership';
comment on column directory_users.active is 'What the directory sent last. The status of a member counts';
comment on column directory_users.is_pending is 'Made without a membership. An accepted invitation leaves it as it is';
comment on column directory_users.made_user_id is 'The person whom SCIM made for it, without a foreign key: their membership is the only one that names them';
comment on column directory_users.document is 'The User as the directory sent it, in the form of RFC 7643';
create unique index directory_users_by_external_id on directory_users (tenant_id, external_id) where external_id is not null;
create index directory_users_by_email on directory_users (tenant_id, email, id) where email is not null;
create index directory_users_pending on directory_users (tenant_id, id) where is_pending;
alter table directory_users enable row level security, force row level security;
select distribute_by_tenant('directory_users');
alter table directory_users add foreign key (tenant_id) references tenants (id);
create policy tenant_isolation on directory_users for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on directory_users for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on directory_users for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on directory_users to bailiwick_api;
grant select (tenant_id, id), delete on directory_users to bailiwick_worker;

alter table memberships add column suspended_by_directory boolean not null default false;
comment on column memberships.suspended_by_directory is 'SCIM suspended the member, so that SCIM can lift it';
alter table invitations add column membership_id uuid;
comment on column invitations.membership_id is 'The id that the membership gets: that of the User of a directory; null for a new one';
grant select (membership_id) on invitations to bailiwick_api;
