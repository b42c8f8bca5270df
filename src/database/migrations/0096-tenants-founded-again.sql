-- A person who belongs to no tenant gets one at their login. Deleting it and logging in again must not make one each time.
alter table users add column own_tenant_made_at timestamptz;
comment on column users.own_tenant_made_at is
  'When a personal tenant was last made because the person belonged to none; null: never. One a day';
grant select (own_tenant_made_at), update (own_tenant_made_at) on users to bailiwick_api;
