-- Workloads prove who they are by a JWT of their platform (RFC 7523). A trust is a machine whose keys are those of another issuer.
alter table oauth_clients
  add column trust jsonb,
  add column trust_ends_at timestamptz,
  add constraint oauth_clients_trust_of_machine
    check (trust is null or (kind = 'machine' and token_endpoint_auth_method = 'none' and jsonb_typeof(trust) = 'object')),
  add constraint oauth_clients_end_of_trust check (trust_ends_at is null or trust is not null);
comment on column oauth_clients.trust is
  'Whose JWTs count, {issuer, audience, claims, jwks}: the row is a trust of its service account; null: an application';
comment on column oauth_clients.trust_ends_at is 'No JWT counts from then on; null: it has no end';
create index oauth_clients_trusts on oauth_clients (service_account_id) where trust is not null;
