-- API keys of service accounts, and of people in one tenant. A key is found by its id before its tenant is known, by the
-- system role, and never changes its tenant or its holder. The API role reads in each request whether it is still live.
create table api_keys (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  membership_id uuid not null,
  user_id uuid references users (id) on delete cascade,
  account_id uuid,
  name text not null check (char_length(name) between 1 and 120),
  key_hash bytea not null check (octet_length(key_hash) = 32),
  scopes text[] check (cardinality(scopes) between 1 and 100),
  created_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  successor_id uuid,
  last_used_at timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, account_id) references memberships (tenant_id, id) on delete cascade,
  check ((user_id is null) = (account_id is not null)),
  check (account_id is null or account_id = membership_id)
);
comment on column api_keys.membership_id is 'The membership for which it was made: a key is dead without it, also when its person joins again. No foreign key: the keys of people outlive it, to be refused as what they are';
comment on column api_keys.user_id is 'The person, for a personal key';
comment on column api_keys.account_id is 'The service account, for one of its keys';
comment on column api_keys.key_hash is 'SHA-256 of the whole key';
comment on column api_keys.scopes is 'The permissions that it is limited to; null: all of its holder';
comment on column api_keys.created_by is 'Who made it, without a foreign key: it outlives them';
comment on column api_keys.successor_id is 'The key that replaces it; until expires_at both work';
comment on column api_keys.last_used_at is 'To the minute, a few seconds late: many uses share one write';
-- Not unique, because ids are random and the hash decides.
create index api_keys_by_id on api_keys (id);
create index api_keys_of_member on api_keys (tenant_id, membership_id, created_at, id);
create index api_keys_of_person on api_keys (user_id) where user_id is not null;
create index api_keys_by_end on api_keys (least(revoked_at, expires_at));
alter table api_keys enable row level security, force row level security;
create policy tenant_isolation on api_keys for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_all on api_keys for all to bailiwick_system using (true) with check (true);
create policy worker_expires on api_keys for all to bailiwick_worker using (least(revoked_at, expires_at) <= now());
create policy worker_purges on api_keys for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on api_keys for all to bailiwick_owner using (true) with check (true);
grant select (tenant_id, id, membership_id, user_id, account_id, name, scopes, created_by, created_at, expires_at,
              revoked_at, successor_id, last_used_at),
  insert, update (revoked_at, expires_at, successor_id) on api_keys to bailiwick_api;
grant select, update (revoked_at, last_used_at) on api_keys to bailiwick_system;
grant select (tenant_id, id, revoked_at, expires_at), delete on api_keys to bailiwick_worker;
