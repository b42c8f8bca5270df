-- Webhooks: addresses that the events of a tenant are posted to, each in the order of their sequence.
--
-- A delivery is one event for one webhook: pending → succeeded; pending → failed → … → succeeded, or dead once retry_until is over;
-- dead or succeeded → pending by a replay. Those that are in_order go one after the other: the first that is pending or failed holds up
-- the later ones, so that what arrives arrives in order. One conditional statement claims an attempt, by moving next_attempt_at ahead of
-- it: another worker finds nothing due meanwhile, and a process that dies in the attempt leaves it due again. Tests and replays are
-- tried once, beside the order.
--
-- The outbox holds at most one message of the queue `webhook` per webhook, for as long as something is left to deliver.
--
-- An application gets the events of every tenant by a webhook of its manifest. Each tenant has a row of its own, so order, retries and
-- isolation are those of any webhook. The secret is the same in all tenants, and is in manifest_webhooks once.

create table webhooks (
  tenant_id uuid not null,
  id uuid not null,
  url text not null check (char_length(url) between 1 and 2000),
  description text not null default '' check (char_length(description) <= 2000),
  event_types text[] not null default '{}',
  is_active boolean not null default true,
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  secret_sealed bytea,
  previous_secret_sealed bytea,
  previous_secret_expires_at timestamptz check ((previous_secret_sealed is null) = (previous_secret_expires_at is null)),
  failures integer not null default 0 check (failures >= 0),
  failing_since timestamptz check ((failing_since is null) = (failures = 0)),
  last_success_at timestamptz,
  last_failure_at timestamptz,
  managed_by text,
  managed_as text,
  version bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  constraint webhooks_managed check ((managed_by is null) = (managed_as is null)),
  constraint webhooks_secret check ((managed_by is null) = (secret_sealed is not null))
);
comment on column webhooks.event_types is 'Types, or globs such as identity.*; empty means all';
comment on column webhooks.disabled_reason is 'Set: the service delivers no more, whatever is_active says, until it is activated anew';
comment on column webhooks.previous_secret_sealed is 'Signs, too, until it expires: receivers change over in between';
comment on column webhooks.failures is 'Attempts in a row that failed; decides when the next one is made';
comment on column webhooks.managed_by is 'The application whose manifest gave the tenant this webhook; null for its own';
create index webhooks_by_age on webhooks (tenant_id, created_at, id);
create unique index webhooks_by_manifest on webhooks (tenant_id, managed_by, managed_as) where managed_by is not null;
create index webhooks_failing on webhooks (failures) where failures > 0;
alter table webhooks enable row level security, force row level security;
create policy tenant_isolation on webhooks for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_all on webhooks for all to bailiwick_worker using (true) with check (true);
create policy owner_all on webhooks for all to bailiwick_owner using (true) with check (true);
-- The API moves a secret to its place as the previous one, and reads neither for anything else.
grant select (tenant_id, id, url, description, event_types, is_active, disabled_reason, secret_sealed, failures,
    created_at, updated_at, last_success_at, last_failure_at, version, managed_by, managed_as),
  insert, delete,
  update (url, description, event_types, is_active, disabled_reason, secret_sealed, previous_secret_sealed,
    previous_secret_expires_at, failures, failing_since, updated_at, version)
  on webhooks to bailiwick_api;
grant select, delete,
  update (disabled_reason, secret_sealed, previous_secret_sealed, previous_secret_expires_at, failures, failing_since,
    last_success_at, last_failure_at, version)
  on webhooks to bailiwick_worker;

-- Deliveries have no foreign key to their webhook: it would either keep a webhook from being deleted or delete a month of deliveries in
-- the same request (measured: 0.4 s per 300,000, of the 4 s that a request has). Those of a webhook that is gone are visible to no
-- caller, and the actor webhook-retention deletes them in batches.
create table webhook_deliveries (
  tenant_id uuid not null,
  id uuid not null,
  webhook_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  sequence bigint,
  in_order boolean not null,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed', 'dead')),
  attempt integer not null default 0 check (attempt >= 0),
  next_attempt_at timestamptz check ((next_attempt_at is null) = (status in ('succeeded', 'dead'))),
  retry_until timestamptz not null,
  response_status integer,
  duration_ms integer,
  error text,
  created_at timestamptz not null,
  ended_at timestamptz check ((ended_at is null) = (next_attempt_at is not null)),
  primary key (tenant_id, id),
  check (not in_order or sequence is not null)
);
comment on table webhook_deliveries is 'One event for one webhook, with its last attempt';
comment on column webhook_deliveries.event_id is 'Of the event, which is sent as webhook-id; of a test, an id of its own';
comment on column webhook_deliveries.sequence is 'Of the event; null for a test';
comment on column webhook_deliveries.error is 'Why there was no answer, in a word of ours';
create unique index webhook_deliveries_of_event on webhook_deliveries (tenant_id, webhook_id, event_id);
create index webhook_deliveries_open on webhook_deliveries (tenant_id, webhook_id, sequence)
  where in_order and status in ('pending', 'failed');
create index webhook_deliveries_once on webhook_deliveries (tenant_id, webhook_id) where not in_order and status = 'pending';
create index webhook_deliveries_by_age on webhook_deliveries (tenant_id, webhook_id, created_at, id);
create index webhook_deliveries_by_status on webhook_deliveries (tenant_id, webhook_id, status, created_at, id);
create index webhook_deliveries_by_type on webhook_deliveries (tenant_id, webhook_id, event_type, created_at, id);
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
alter table webhook_deliveries enable row level security, force row level security;
create policy tenant_isolation on webhook_deliveries for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_all on webhook_deliveries for all to bailiwick_worker using (true) with check (true);
create policy owner_all on webhook_deliveries for all to bailiwick_owner using (true) with check (true);
grant select, insert, update (in_order, status, next_attempt_at, retry_until, ended_at) on webhook_deliveries to bailiwick_api;
grant select, insert, update, delete on webhook_deliveries to bailiwick_worker;
