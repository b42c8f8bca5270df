-- What leaves the service: domain events, and mails. Written in the business transaction, carried out afterwards.
--
-- outbox: one row per message for a queue. The relay puts it on the queue and notes enqueued_at; the actor deletes
-- it in the transaction of its effect, so that a second delivery finds nothing to do; a row that stays is put on
-- the queue again. After the last attempt the row moves to dead_letters, from where it can be replayed.

create table events (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  type text not null,
  subject text not null,
  data jsonb not null,
  actor_id uuid,
  request_id text not null,
  traceparent text,
  occurred_at timestamptz not null,
  sequence bigint,
  primary key (tenant_id, id),
  unique (tenant_id, sequence)
);
comment on column events.sequence is 'Gapless per tenant from 1, given by the relay; null until then';
create index events_without_sequence on events (tenant_id, id) where sequence is null;
alter table events enable row level security, force row level security;
create policy tenant_isolation on events for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_inserts on events for insert to bailiwick_system with check (true);
create policy worker_all on events for all to bailiwick_worker using (true) with check (true);
create policy owner_all on events for all to bailiwick_owner using (true) with check (true);
grant select, insert on events to bailiwick_api;
grant insert on events to bailiwick_system;
grant select, insert on events to bailiwick_worker;
grant update (sequence) on events to bailiwick_worker;

create table event_sequences (
  tenant_id uuid primary key references tenants (id),
  last bigint not null
);
alter table event_sequences enable row level security, force row level security;
create policy worker_all on event_sequences for all to bailiwick_worker using (true) with check (true);
create policy owner_all on event_sequences for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on event_sequences to bailiwick_worker;

create table outbox (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  queue text not null,
  payload jsonb not null,
  created_at timestamptz not null,
  enqueued_at timestamptz,
  primary key (tenant_id, id)
);
comment on column outbox.payload is 'Ids and a version, never content or secrets';
create index outbox_by_id on outbox (id);
create index outbox_waiting on outbox (id) where enqueued_at is null;
create index outbox_enqueued on outbox (enqueued_at) where enqueued_at is not null;
alter table outbox enable row level security, force row level security;
create policy tenant_isolation on outbox for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_inserts on outbox for insert to bailiwick_system with check (true);
create policy worker_all on outbox for all to bailiwick_worker using (true) with check (true);
create policy owner_all on outbox for all to bailiwick_owner using (true) with check (true);
grant insert on outbox to bailiwick_api, bailiwick_system;
grant select, insert, update, delete on outbox to bailiwick_worker;

-- Wakes the relays, which LISTEN; a notification without a payload is sent once per transaction.
create function ring_outbox_bell() returns trigger language plpgsql as $$
begin
  perform pg_notify('outbox', '');
  return null;
end $$;
create trigger ring_bell after insert on outbox for each statement execute function ring_outbox_bell();

create table dead_letters (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  queue text not null,
  payload jsonb not null,
  created_at timestamptz not null,
  failed_at timestamptz not null,
  attempts integer not null,
  error text not null,
  primary key (tenant_id, id)
);
alter table dead_letters enable row level security, force row level security;
create policy worker_all on dead_letters for all to bailiwick_worker using (true) with check (true);
create policy owner_all on dead_letters for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on dead_letters to bailiwick_worker;

create table mails (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  template text not null,
  content_sealed bytea,
  status text not null default 'pending' check (status in ('pending', 'sending', 'sent', 'failed')),
  attempts integer not null default 0,
  created_at timestamptz not null,
  sent_at timestamptz,
  primary key (tenant_id, id)
);
comment on column mails.content_sealed is 'Address and variables, sealed; emptied once sent, for they carry tokens and codes';
alter table mails enable row level security, force row level security;
create policy tenant_isolation on mails for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_inserts on mails for insert to bailiwick_system with check (true);
create policy worker_all on mails for all to bailiwick_worker using (true) with check (true);
create policy owner_all on mails for all to bailiwick_owner using (true) with check (true);
grant insert on mails to bailiwick_api, bailiwick_system;
grant select on mails to bailiwick_worker;
grant update (content_sealed, status, attempts, sent_at) on mails to bailiwick_worker;

create table captured_mails (
  id uuid primary key,
  recipient text not null,
  sender text not null,
  subject text not null,
  text text not null,
  html text not null,
  headers jsonb not null,
  created_at timestamptz not null
);
comment on table captured_mails is 'Development only: what /dev/mailbox shows in place of sending';
create index captured_mails_by_recipient on captured_mails (recipient, id);
alter table captured_mails enable row level security, force row level security;
create policy worker_all on captured_mails for all to bailiwick_worker using (true) with check (true);
create policy system_reads on captured_mails for select to bailiwick_system using (true);
create policy owner_all on captured_mails for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on captured_mails to bailiwick_worker;
grant select on captured_mails to bailiwick_system;
