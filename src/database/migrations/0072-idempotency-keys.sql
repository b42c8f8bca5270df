-- Answers to calls with an Idempotency-Key. The row is written in the transaction of the call's effect, so either both
-- exist or neither. It is the person's: a call can create a tenant, which the token's tenant must not limit.
create table idempotency_keys (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  body_digest bytea not null check (octet_length(body_digest) = 32),
  answer_sealed bytea not null,
  expires_at timestamptz not null,
  primary key (tenant_id, id)
);
comment on table idempotency_keys is 'Answers that a repeated call gets again, for a day';
comment on column idempotency_keys.tenant_id is 'The tenant of the token';
comment on column idempotency_keys.id is 'Digest of the caller, the route and the Idempotency-Key';
comment on column idempotency_keys.user_id is 'The caller, without a foreign key: a service account is no user';
comment on column idempotency_keys.body_digest is 'SHA-256 of the body and the parameters of the path';
create index idempotency_keys_by_expiry on idempotency_keys (tenant_id, expires_at);
alter table idempotency_keys enable row level security, force row level security;
create policy own_rows on idempotency_keys for all to bailiwick_api
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy worker_all on idempotency_keys for all to bailiwick_worker using (true) with check (true);
create policy owner_all on idempotency_keys for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on idempotency_keys to bailiwick_api;
grant select (tenant_id, id, expires_at, answer_sealed), update (answer_sealed), delete on idempotency_keys to bailiwick_worker;
