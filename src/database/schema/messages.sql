-- What leaves the service: domain events, audit rows, jobs, mails and the links in them. Written in the business transaction, carried
-- out afterwards.
--
-- The scope of a transaction names who acted as the actor (src/database/executor/scope.ts). Defaults copy it into each row of events and
-- audit_log, so that no code that writes a row can leave it out.

create table events (
  tenant_id uuid not null,
  id uuid not null,
  sequence bigint,
  type text not null,
  subject text not null,
  data jsonb not null,
  actor_id uuid,
  impersonator_id uuid default nullif(current_setting('app.impersonator_id', true), '')::uuid,
  request_id text not null,
  traceparent text,
  occurred_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, sequence)
);
comment on column events.sequence is 'Gapless per tenant from 1, given by the relay; null until then';
comment on column events.impersonator_id is 'The member who acted as the actor; null where no one did';
create index events_without_sequence on events (tenant_id, id) where sequence is null;
alter table events enable row level security, force row level security;
create policy tenant_isolation on events for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_inserts on events for insert to bailiwick_system with check (true);
create policy worker_all on events for all to bailiwick_worker using (true) with check (true);
create policy owner_all on events for all to bailiwick_owner using (true) with check (true);
grant select, insert on events to bailiwick_api;
grant insert on events to bailiwick_system;
grant select, insert, update (sequence, data), delete on events to bailiwick_worker;

-- Readers of the feed learn from deleted_up_to that events behind their place are gone, also where none is left.
create table event_sequences (
  tenant_id uuid primary key,
  last bigint not null,
  deleted_up_to bigint not null default 0,
  fed bigint not null default 0
);
comment on column event_sequences.deleted_up_to is 'Highest sequence that was deleted after EVENT_RETENTION_DAYS: the feed begins behind it';
comment on column event_sequences.fed is 'Up to here the events are in feed_entries';
alter table event_sequences enable row level security, force row level security;
create policy tenant_isolation on event_sequences for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_feeds on event_sequences for all to bailiwick_system using (true) with check (true);
create policy worker_all on event_sequences for all to bailiwick_worker using (true) with check (true);
create policy owner_all on event_sequences for all to bailiwick_owner using (true) with check (true);
grant select (tenant_id, deleted_up_to) on event_sequences to bailiwick_api;
grant select, update (fed) on event_sequences to bailiwick_system;
grant select, insert, update, delete on event_sequences to bailiwick_worker;

-- Who did what, when and from where, written in the transaction of the change. Events tell other programs that something happened;
-- these rows tell people who did it. The worker deletes old rows, and reads no more of them than the erasure of a person asks for.
create table audit_log (
  tenant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  actor_type text not null check (actor_type in ('user', 'service_account', 'system')),
  actor_id uuid,
  actor_email text,
  impersonator_id uuid default nullif(current_setting('app.impersonator_id', true), '')::uuid,
  impersonator_email text default nullif(current_setting('app.impersonator_email', true), ''),
  action text not null,
  target_type text not null,
  target_id uuid not null,
  changes jsonb not null,
  ip text not null,
  user_agent text not null,
  request_id text not null,
  decision_id uuid,
  primary key (tenant_id, id)
);
comment on table audit_log is 'Never changed; deleted after AUDIT_RETENTION_DAYS';
comment on column audit_log.actor_id is 'The person, without a foreign key: the row outlives them; null where the service acted by itself';
comment on column audit_log.actor_email is 'As it was then';
comment on column audit_log.impersonator_id is 'The member who acted as the actor; null where no one did';
comment on column audit_log.impersonator_email is 'As it was then';
comment on column audit_log.changes is 'By field {before, after}, never a secret';
create index audit_log_by_time on audit_log (tenant_id, at, id);
create index audit_log_by_action on audit_log (tenant_id, action, at, id);
create index audit_log_by_actor on audit_log (tenant_id, actor_id, at, id);
create index audit_log_by_impersonator on audit_log (tenant_id, impersonator_id, at, id) where impersonator_id is not null;
create index audit_log_by_target on audit_log (tenant_id, target_id, at, id);
create index audit_log_of_departures on audit_log ((changes #>> '{user_id,before}')) where action = 'member:delete';
alter table audit_log enable row level security, force row level security;
create policy tenant_isolation on audit_log for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_inserts on audit_log for insert to bailiwick_system with check (true);
create policy worker_all on audit_log for all to bailiwick_worker using (true) with check (true);
create policy owner_all on audit_log for all to bailiwick_owner using (true) with check (true);
grant select, insert on audit_log to bailiwick_api;
grant insert on audit_log to bailiwick_system, bailiwick_worker;
grant select (tenant_id, id, at, actor_id, impersonator_id, target_id, action, changes),
  update (actor_email, impersonator_email, ip, user_agent, changes), delete on audit_log to bailiwick_worker;

-- One row per message for a queue. The relay puts it on the queue and notes enqueued_at; the actor deletes it in the transaction of its
-- effect, so that a second delivery finds nothing to do; a row that stays is put on the queue again. After the last attempt the row
-- moves to dead_letters, from where it can be replayed. One job can carry many messages of a queue: a relay that looks for messages
-- which their queue has lost asks for this job (enqueued_as).
--
-- A webhook that is activated again is tried at once: its message gets a new id, so that it waits for no earlier job.
create table outbox (
  tenant_id uuid not null,
  id uuid not null,
  queue text not null,
  payload jsonb not null,
  created_at timestamptz not null,
  enqueued_at timestamptz,
  enqueued_as uuid,
  primary key (tenant_id, id)
);
comment on column outbox.payload is 'Ids and a version, never content or secrets';
comment on column outbox.enqueued_as is 'The id of the job that carries the message on its queue; null: the id of the message';
create index outbox_by_id on outbox (id);
create index outbox_waiting on outbox (id) where enqueued_at is null;
create index outbox_enqueued on outbox (enqueued_at) where enqueued_at is not null;
create unique index outbox_one_per_webhook on outbox (tenant_id, (payload ->> 'webhook_id')) where queue = 'webhook';
comment on index outbox_one_per_webhook is 'Whoever adds a delivery locks this row, or makes it; whoever finds nothing left deletes it';
alter table outbox enable row level security, force row level security;
create policy tenant_isolation on outbox for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_inserts on outbox for insert to bailiwick_system with check (true);
create policy worker_all on outbox for all to bailiwick_worker using (true) with check (true);
create policy owner_all on outbox for all to bailiwick_owner using (true) with check (true);
grant select (tenant_id, id, queue, payload), insert, update (id, created_at, enqueued_at) on outbox to bailiwick_api;
grant insert on outbox to bailiwick_system;
grant select, insert, update, delete on outbox to bailiwick_worker;

-- A recipient who is refused for good (SMTP 550) is not a fault of the service: operators tell these from the ones that need them.
create table dead_letters (
  tenant_id uuid not null,
  id uuid not null,
  queue text not null,
  payload jsonb not null,
  created_at timestamptz not null,
  failed_at timestamptz not null,
  attempts integer not null,
  reason text not null default 'failed' check (reason in ('failed', 'refused')),
  error text not null,
  primary key (tenant_id, id)
);
comment on column dead_letters.reason is 'failed: its attempts are used up, or it cannot be read; refused: the recipient or the content was refused for good';
create index dead_letters_failed_at on dead_letters (failed_at, id);
alter table dead_letters enable row level security, force row level security;
create policy worker_all on dead_letters for all to bailiwick_worker using (true) with check (true);
create policy owner_all on dead_letters for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on dead_letters to bailiwick_worker;

create table mails (
  tenant_id uuid not null,
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
-- Mails lose their content when they are sent, so few have some. A worker looks for one at its start, and keys:reseal reads them in
-- the order of the primary key.
create index mails_with_content on mails (tenant_id, id) where content_sealed is not null;
alter table mails enable row level security, force row level security;
create policy tenant_isolation on mails for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_inserts on mails for insert to bailiwick_system with check (true);
create policy worker_all on mails for all to bailiwick_worker using (true) with check (true);
create policy owner_all on mails for all to bailiwick_owner using (true) with check (true);
grant insert on mails to bailiwick_api, bailiwick_system;
grant select, update (content_sealed, status, attempts, sent_at), delete on mails to bailiwick_worker;

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
create policy system_reads on captured_mails for select to bailiwick_system using (true);
create policy worker_all on captured_mails for all to bailiwick_worker using (true) with check (true);
create policy owner_all on captured_mails for all to bailiwick_owner using (true) with check (true);
grant select on captured_mails to bailiwick_system;
grant select, insert, delete on captured_mails to bailiwick_worker;

-- One mechanism for every purpose (src/messages/links): the code names the purposes, the table their form. A link whose effect lies in a
-- tenant is used up in that tenant's transaction, by its id, because only the system role reads the hash.
create table link_tokens (
  id uuid primary key,
  purpose text not null constraint link_tokens_purpose_form check (purpose ~ '^[a-z][a-z_]{1,39}$'),
  user_id uuid not null,
  tenant_id uuid not null,
  target_id uuid,
  email text not null,
  token_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
comment on table link_tokens is 'One-time tokens sent by mail (256 bits, only the SHA-256 is kept)';
comment on column link_tokens.tenant_id is 'The tenant in which the flow began: its event belongs there';
comment on column link_tokens.target_id is 'What the link is about, where that is not the person: a membership, a device';
comment on column link_tokens.email is 'The address it was sent to: dead when the person''s address changes';
create index link_tokens_of_user on link_tokens (user_id, purpose) where used_at is null;
create index link_tokens_of_person on link_tokens (user_id);
create index link_tokens_of_tenant on link_tokens (tenant_id, id);
create index link_tokens_by_expiry on link_tokens (expires_at);
alter table link_tokens enable row level security, force row level security;
create policy own_rows on link_tokens for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
-- Who adds a person to a tenant makes the link by which that person leaves it: a token of another person, of this purpose, in the
-- tenant of the request alone.
create policy leave_links on link_tokens for insert to bailiwick_api
  with check (purpose = 'tenant_leave'
              and tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on link_tokens for all to bailiwick_system using (true) with check (true);
create policy worker_expires on link_tokens for all to bailiwick_worker using (expires_at <= now());
create policy worker_purges on link_tokens for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on link_tokens for all to bailiwick_owner using (true) with check (true);
grant select (id, purpose, user_id, target_id, expires_at, used_at), insert, update (used_at) on link_tokens to bailiwick_api;
grant select, insert, update, delete on link_tokens to bailiwick_system;
grant select (tenant_id, id, expires_at), delete on link_tokens to bailiwick_worker;
