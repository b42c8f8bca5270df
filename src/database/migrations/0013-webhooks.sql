-- Webhooks: addresses that the events of a tenant are posted to, each in the order of their sequence.
--
-- A delivery is one event for one webhook: pending → succeeded; pending → failed → … → succeeded, or dead once
-- retry_until is over; dead or succeeded → pending by a replay. Those that are in_order go one after the other: the
-- first that is pending or failed holds up the later ones, so that what arrives arrives in order. An attempt is
-- claimed by moving next_attempt_at ahead of it, in one conditional statement: whoever comes meanwhile finds nothing
-- due, and a process that dies in the attempt leaves it due again. Tests and replays are tried once, beside the order.
--
-- The outbox holds at most one message of the queue `webhook` per webhook, for as long as something is left to deliver.
--
-- Deliveries refer to their webhook without a foreign key: it would either keep a webhook from being deleted or delete
-- a month of deliveries in the same request (measured: 0.4 s per 300,000, of the 4 s that a request has). Nobody sees
-- those of a webhook that is gone, and the actor webhook-retention deletes them in batches.

create table webhooks (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  url text not null check (char_length(url) between 1 and 2000),
  description text not null default '' check (char_length(description) <= 2000),
  event_types text[] not null default '{}',
  is_active boolean not null default true,
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  secret_sealed bytea not null,
  previous_secret_sealed bytea,
  previous_secret_expires_at timestamptz check ((previous_secret_sealed is null) = (previous_secret_expires_at is null)),
  failures integer not null default 0 check (failures >= 0),
  failing_since timestamptz check ((failing_since is null) = (failures = 0)),
  last_success_at timestamptz,
  last_failure_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null default 1,
  primary key (tenant_id, id)
);
comment on column webhooks.event_types is 'Types, or globs such as identity.*; empty means all';
comment on column webhooks.disabled_reason is 'Set: the service delivers no more, whatever is_active says, until it is activated anew';
comment on column webhooks.previous_secret_sealed is 'Signs, too, until it expires: receivers change over in between';
comment on column webhooks.failures is 'Attempts in a row that failed; decides when the next one is made';
create index webhooks_by_age on webhooks (tenant_id, created_at, id);
create index webhooks_failing on webhooks (failures) where failures > 0;
alter table webhooks enable row level security, force row level security;
create policy tenant_isolation on webhooks for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_all on webhooks for all to bailiwick_worker using (true) with check (true);
create policy owner_all on webhooks for all to bailiwick_owner using (true) with check (true);
-- The API moves a secret to its place as the previous one, and reads neither for anything else.
grant select (tenant_id, id, url, description, event_types, is_active, disabled_reason, secret_sealed, failures,
  created_at, updated_at, last_success_at, last_failure_at, version), insert, delete on webhooks to bailiwick_api;
grant update (url, description, event_types, is_active, disabled_reason, secret_sealed, previous_secret_sealed,
  previous_secret_expires_at, failures, failing_since, updated_at) on webhooks to bailiwick_api;
grant select, delete on webhooks to bailiwick_worker;
grant update (disabled_reason, secret_sealed, previous_secret_sealed, previous_secret_expires_at, failures,
  failing_since, last_success_at, last_failure_at) on webhooks to bailiwick_worker;
-- Every outcome of an attempt is written into the row: only what an If-Match is about may count as a change.
create trigger bump_version before update of url, description, event_types, is_active, disabled_reason on webhooks
  for each row when ((old.url, old.description, old.event_types, old.is_active, old.disabled_reason)
    is distinct from (new.url, new.description, new.event_types, new.is_active, new.disabled_reason))
  execute function bump_version();
create trigger count_inserted after insert on webhooks referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on webhooks referencing old table as changed for each statement execute function count_deleted_rows();

create table webhook_deliveries (
  tenant_id uuid not null references tenants (id),
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
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_all on webhook_deliveries for all to bailiwick_worker using (true) with check (true);
create policy owner_all on webhook_deliveries for all to bailiwick_owner using (true) with check (true);
grant select, insert on webhook_deliveries to bailiwick_api;
grant update (in_order, status, next_attempt_at, retry_until, ended_at) on webhook_deliveries to bailiwick_api;
grant select, insert, update, delete on webhook_deliveries to bailiwick_worker;

create unique index outbox_one_per_webhook on outbox (tenant_id, (payload ->> 'webhook_id')) where queue = 'webhook';
comment on index outbox_one_per_webhook is 'Whoever adds a delivery locks this row, or makes it; whoever finds nothing left deletes it';
-- A webhook that is activated anew is tried at once: its message gets a new id, so that none that waits is waited for.
grant select (tenant_id, id, queue, payload), update (id, created_at, enqueued_at) on outbox to bailiwick_api;
