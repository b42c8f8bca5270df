-- People who sign in with another provider. Which one vouched for whom, and the sign-ins that are on their way.
create table federated_identities (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  provider text not null check (char_length(provider) between 1 and 64),
  tenant_id uuid,
  connection_id uuid,
  issuer text not null check (char_length(issuer) between 1 and 1000),
  attribute text not null check (char_length(attribute) between 1 and 200),
  subject text not null check (char_length(subject) between 1 and 1000),
  email text,
  created_at timestamptz not null,
  last_used_at timestamptz,
  constraint federated_identities_subject_key unique (provider, issuer, attribute, subject),
  foreign key (tenant_id, connection_id) references connections (tenant_id, id) on delete cascade,
  check (provider = connection_id::text),
  check ((tenant_id is null) = (connection_id is null))
);
comment on table federated_identities is 'What a person signs in with at other providers; the address is no part of it';
comment on column federated_identities.provider is 'The id of a provider of the installation, or of a connection';
comment on column federated_identities.tenant_id is 'Of the connection';
comment on column federated_identities.connection_id is 'The connection that the provider is, with which its identities go; null: a provider of the installation';
comment on column federated_identities.attribute is 'Which claim or attribute the subject is of, such as sub';
comment on column federated_identities.email is 'The address there when it was last used; the account can have another one';
create index federated_identities_of_user on federated_identities (user_id, created_at, id);
create index federated_identities_of_connection on federated_identities (tenant_id, connection_id)
  where tenant_id is not null;
alter table federated_identities enable row level security, force row level security;
create policy own_rows on federated_identities for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on federated_identities for all to bailiwick_system using (true) with check (true);
create policy worker_purges on federated_identities for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on federated_identities for all to bailiwick_owner using (true) with check (true);
grant select, delete on federated_identities to bailiwick_api;
grant select, insert, update (email, last_used_at), delete on federated_identities to bailiwick_system;
grant select (tenant_id, id), delete on federated_identities to bailiwick_worker;

create table federation_flows (
  id uuid primary key,
  provider text not null,
  step text not null check (step in ('begun', 'answered', 'taken', 'held', 'done')),
  state_hash bytea not null constraint federation_flows_state_key unique,
  browser_hash bytea not null,
  kept_sealed bytea not null,
  answer_sealed bytea,
  asserted_sealed bytea,
  mail_hash bytea constraint federation_flows_mail_key unique,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
comment on table federation_flows is 'Sign-ins with other providers that are on their way; each step is taken once';
comment on column federation_flows.browser_hash is 'Of the browser that began: another one cannot finish it';
comment on column federation_flows.kept_sealed is 'What the check of the answer needs, such as a nonce';
comment on column federation_flows.answer_sealed is 'An answer by POST, to which the browser sends no cookie';
comment on column federation_flows.asserted_sealed is 'Whom the provider named, while something else has to be proved first';
comment on column federation_flows.mail_hash is 'SHA-256 of the token in the mail that proves the address';
create index federation_flows_by_expiry on federation_flows (expires_at);
alter table federation_flows enable row level security, force row level security;
create policy system_all on federation_flows for all to bailiwick_system using (true) with check (true);
create policy worker_expires on federation_flows for all to bailiwick_worker using (expires_at <= now());
create policy owner_all on federation_flows for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on federation_flows to bailiwick_system;
grant select (id, expires_at), delete on federation_flows to bailiwick_worker;
