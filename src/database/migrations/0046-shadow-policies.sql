-- Policies in shadow mode are evaluated and recorded, never enforced.

alter table decisions add column shadow jsonb not null default '[]';
comment on column decisions.shadow is 'What policies in shadow mode would have done: those that would have had a part, and those that failed';

-- How often, by day: one row each, which grows. The log of decisions has a sample only; this has all of them.
create table policy_stats (
  tenant_id uuid not null,
  id uuid not null,
  policy_id uuid not null,
  version integer not null,
  day date not null,
  evaluated bigint not null,
  applied bigint not null,
  would_deny bigint not null,
  would_allow bigint not null,
  would_gate bigint not null,
  errors bigint not null,
  primary key (tenant_id, id),
  unique (tenant_id, policy_id, day, version)
);
comment on table policy_stats is 'Decisions by day that a policy in shadow mode was evaluated for, and what it would have done';
comment on column policy_stats.day is 'In UTC';
comment on column policy_stats.applied is 'It had a part in the decision, with or without changing its effect';
create index policy_stats_by_day on policy_stats (tenant_id, day);
alter table policy_stats enable row level security, force row level security;
create policy tenant_isolation on policy_stats for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_all on policy_stats for all to bailiwick_system using (true) with check (true);
create policy worker_all on policy_stats for all to bailiwick_worker using (true) with check (true);
create policy owner_all on policy_stats for all to bailiwick_owner using (true) with check (true);
grant select on policy_stats to bailiwick_api;
grant select, insert, update on policy_stats to bailiwick_system;
grant select, delete on policy_stats to bailiwick_worker;
