-- What became of the last sign-ins by each connection, for those who look after it.
create table connection_sign_ins (
  tenant_id uuid not null,
  connection_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  outcome text not null check (outcome in ('signed_in', 'joined', 'refused')),
  code text check (char_length(code) <= 100),
  reason text check (char_length(reason) <= 500),
  user_id uuid,
  claims_sealed bytea,
  primary key (tenant_id, connection_id, id),
  check ((outcome = 'refused') = (code is not null)),
  check ((code is null) = (reason is null))
);
comment on table connection_sign_ins is 'The newest 50 sign-ins by each connection, for 30 days';
comment on column connection_sign_ins.connection_id is 'Without a foreign key: connections are on the coordinator of a cluster';
comment on column connection_sign_ins.reason is 'Why it was refused, as a sentence for an administrator';
comment on column connection_sign_ins.user_id is 'Who signed in, without a foreign key: they can have been erased';
comment on column connection_sign_ins.claims_sealed is
  'What the provider said, as JSON: the claims that the connection names, and email, iss and aud; null: its answer does not hold';
alter table connection_sign_ins enable row level security, force row level security;
select distribute_by_tenant('connection_sign_ins');
alter table connection_sign_ins add foreign key (tenant_id) references tenants (id);
create policy tenant_isolation on connection_sign_ins for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_all on connection_sign_ins for all to bailiwick_worker using (true) with check (true);
create policy owner_all on connection_sign_ins for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on connection_sign_ins to bailiwick_api;
grant select (tenant_id, connection_id, id, at, user_id, claims_sealed), update (claims_sealed), delete on connection_sign_ins
  to bailiwick_worker;
