-- What the token of an application reads, and when it was used last. Tokens from before read everything.
alter table application_tokens
  add column event_types text[],
  add column tenant_ids uuid[],
  add column last_used_at timestamptz;
comment on column application_tokens.event_types is 'Event types and prefixes (identity.*) that it reads; null for all';
comment on column application_tokens.tenant_ids is 'The tenants whose events it reads; null for all';
comment on column application_tokens.last_used_at is 'To the minute; null while it was never used';
grant update (last_used_at) on application_tokens to bailiwick_system;
