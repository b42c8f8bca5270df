-- ID tokens are signed by keys of their own (RS256): a process of an earlier release would sign access tokens with the newest key of
-- signing_keys, so these stand in a table that it does not read.
create table id_token_keys (
  kid text primary key,
  algorithm text not null check (algorithm = 'RS256'),
  public_jwk jsonb not null,
  private_jwk_sealed bytea not null,
  created_at timestamptz not null,
  retires_at timestamptz
);
comment on table id_token_keys is 'The keys that sign ID tokens (OpenID Connect); the first client makes the first';
comment on column id_token_keys.private_jwk_sealed is 'Sealed by SECRET_KEYS';
comment on column id_token_keys.retires_at is 'When no token signed by this key can be alive any more; null while it signs';
alter table id_token_keys enable row level security, force row level security;
create policy system_all on id_token_keys for all to bailiwick_system using (true) with check (true);
create policy owner_all on id_token_keys for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on id_token_keys to bailiwick_system;
