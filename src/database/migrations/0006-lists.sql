-- What lists and conditional requests read of the tables there are.
--
-- version: how often a row was changed in what its answer shows. It is the row's ETag: a time would not do, for two
-- changes may share a millisecond, and xmin would tell everybody how busy the whole database is. A trigger counts,
-- so that no statement can forget to; it fires for the columns shown and not for bookkeeping such as last_entered_at.
-- Whoever changes what hangs on a row (a member's roles) sets updated_at of the row in the same transaction.
--
-- *_key: lower case under the collation C, whose order is that of the bytes: only then is `key >= x and key < y` a
-- search for a prefix, and only such operators are leakproof, so that they use an index below row-level security.

create function bump_version() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  return new;
end $$;

alter table tenants add column version bigint not null default 1,
  add column name_key text collate "C" generated always as (lower(name)) stored;
create trigger bump_version before update of name, slug, status, settings, updated_at, suspended_at, archived_at on tenants
  for each row execute function bump_version();

alter table users add column version bigint not null default 1;
create trigger bump_version before update of email, first_name, last_name, is_active, email_verified_at, updated_at on users
  for each row execute function bump_version();
grant select (version) on users to bailiwick_api;

alter table memberships add column version bigint not null default 1,
  add column first_name_key text collate "C" generated always as (lower(first_name)) stored,
  add column last_name_key text collate "C" generated always as (lower(last_name)) stored,
  alter column email type text collate "C";
create trigger bump_version before update of email, first_name, last_name, status, department_id, attributes, updated_at on memberships
  for each row execute function bump_version();
create index memberships_by_first_name on memberships (tenant_id, first_name_key, id);
create index memberships_by_last_name on memberships (tenant_id, last_name_key, id);

alter table roles add column version bigint not null default 1,
  alter column name_key type text collate "C";
create trigger bump_version before update of name, description, permissions, updated_at on roles
  for each row execute function bump_version();

alter table departments add column version bigint not null default 1,
  add column name_key text collate "C" generated always as (lower(name)) stored;
create trigger bump_version before update of name, description, parent_id, updated_at on departments
  for each row execute function bump_version();
create index departments_by_name_key on departments (tenant_id, name_key, id);

-- Whether a person is a fellow member is asked per person shown. As `id in (select …)` it was asked of nobody before
-- all members of the tenant had been gathered: of 100,000 for each page of 20.
drop policy fellow_members on users;
create policy fellow_members on users for select to bailiwick_api
  using (exists (select from memberships m where m.user_id = users.id
    and m.tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid)));
