-- The tenants' own rules, what was decided by them, approvals, and the resources of applications.

create table attribute_definitions (
  tenant_id uuid not null,
  id uuid not null,
  key text not null check (key ~ '^[a-z][a-z0-9_]{0,62}$'),
  display_name text not null check (char_length(display_name) <= 120),
  category text not null check (category in ('subject', 'resource', 'action', 'environment')),
  data_type text not null check (data_type in ('string', 'integer', 'number', 'boolean', 'datetime', 'ip', 'array')),
  source text not null default 'registered' check (source in ('registered', 'caller')),
  allowed_values jsonb,
  is_required boolean not null default false,
  description text not null default '' check (char_length(description) <= 2000),
  managed_by text,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, category, key)
);
comment on table attribute_definitions is 'The tenant''s own; built-in ones are code. Never changed: a new meaning gets a new key';
comment on column attribute_definitions.source is 'Of registered resources: where the value comes from. With caller, a question can give it, too';
comment on column attribute_definitions.managed_by is 'The application whose manifest gave the tenant this definition; null for its own';
alter table attribute_definitions enable row level security, force row level security;
create policy tenant_isolation on attribute_definitions for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on attribute_definitions for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on attribute_definitions for all to bailiwick_owner using (true) with check (true);
grant select, insert, update (display_name, allowed_values, is_required, description, managed_by, source), delete
  on attribute_definitions to bailiwick_api;
grant select (tenant_id, id), delete on attribute_definitions to bailiwick_worker;

create table policies (
  tenant_id uuid not null,
  id uuid not null,
  name text not null check (char_length(name) between 1 and 120),
  description text not null default '' check (char_length(description) <= 2000),
  kind text not null default 'json' check (kind in ('json', 'rego')),
  effect text not null check (effect in ('allow', 'deny', 'require_approval')),
  resource_types text[] not null,
  actions text[] not null,
  rules jsonb not null,
  compiled jsonb not null,
  mode text not null check (mode in ('enforce', 'shadow')),
  priority integer not null,
  valid_from timestamptz,
  valid_until timestamptz,
  is_active boolean not null,
  module_off_at timestamptz,
  version integer not null,
  checksum text not null,
  managed_by text,
  managed_as text,
  is_optional boolean not null default false,
  chosen_active boolean,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  constraint policies_managed check ((managed_by is null) = (managed_as is null))
);
comment on column policies.rules is 'Subjects (roles as ids), conditions or module, approval and obligations, as their author wrote them';
comment on column policies.compiled is 'What the engine reads, made of the source when it was written';
comment on column policies.module_off_at is 'When the service switched off the module, because it took too much time; a new version is on again';
comment on column policies.checksum is 'SHA-256 (hex) of the version''s canonical source';
comment on column policies.managed_by is 'The application whose manifest gave the tenant this policy; null for its own';
comment on column policies.is_optional is 'Of a managed policy: the tenant can turn it on and off';
comment on column policies.chosen_active is 'What the tenant chose for an optional policy; null: as the manifest says';
comment on column policies.created_by is 'A person, who may have left since';
create index policies_by_age on policies (tenant_id, created_at, id);
create unique index policies_by_manifest on policies (tenant_id, managed_by, managed_as) where managed_by is not null;
alter table policies enable row level security, force row level security;
create policy tenant_isolation on policies for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on policies for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on policies for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on policies to bailiwick_api;
grant select (tenant_id, id), delete on policies to bailiwick_worker;

-- The compiled form of a module is here, because a version never changes.
create table policy_versions (
  tenant_id uuid not null,
  id uuid not null,
  policy_id uuid not null,
  version integer not null,
  source jsonb not null,
  checksum text not null,
  module_key text,
  module_reads jsonb,
  module bytea,
  author_id uuid not null,
  reason text not null default '' check (char_length(reason) <= 1000),
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, policy_id, version)
);
comment on table policy_versions is 'Only ever added to, and outlives its policy: decisions of the past are explained by it';
comment on column policy_versions.source is 'The whole document of this version, roles as ids';
comment on column policy_versions.module_key is 'SHA-256 (hex) of the module''s text, effect and compiler; null without a module';
comment on column policy_versions.module_reads is 'The attributes that the module reads: needed or optional';
comment on column policy_versions.module is 'The module as WebAssembly, compressed with gzip';
create index policy_versions_by_age on policy_versions (tenant_id, policy_id, created_at, id);
alter table policy_versions enable row level security, force row level security;
create policy tenant_isolation on policy_versions for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on policy_versions for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on policy_versions for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on policy_versions to bailiwick_api;
grant select (tenant_id, id), delete on policy_versions to bailiwick_worker;

-- One row per policy, day and version, which grows. The log of decisions has a sample only; this has all of them.
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
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on policy_stats for all to bailiwick_system using (true) with check (true);
create policy worker_all on policy_stats for all to bailiwick_worker using (true) with check (true);
create policy owner_all on policy_stats for all to bailiwick_owner using (true) with check (true);
grant select on policy_stats to bailiwick_api;
grant select, insert, update on policy_stats to bailiwick_system;
grant select, delete on policy_stats to bailiwick_worker;

-- The decision that permits a change is logged in the transaction of the change.
create table decisions (
  tenant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  effect text not null check (effect in ('allow', 'deny', 'require_approval')),
  action text not null,
  resource_type text not null,
  resource_id text,
  subject_id text not null,
  subject_email text,
  reasons jsonb not null,
  matched jsonb not null,
  obligations jsonb not null,
  shadow jsonb not null default '[]',
  policy_revision bigint not null,
  engine_revision text not null,
  facts jsonb not null,
  duration_us integer not null,
  request_id text not null,
  primary key (tenant_id, id)
);
comment on table decisions is 'Denials, gates and changes always, allowed reads as a sample; deleted after the retention';
comment on column decisions.subject_id is 'A person''s id, or what an application calls its subject';
comment on column decisions.shadow is 'What policies in shadow mode would have done: those that would have had a part, and those that failed';
comment on column decisions.facts is 'The question as the engine was asked, so that it can be explained and asked again; never a secret';
create index decisions_by_time on decisions (tenant_id, at, id);
create index decisions_of_subject on decisions (tenant_id, subject_id, at, id);
create index decisions_by_action on decisions (tenant_id, action, at, id);
create index decisions_by_effect on decisions (tenant_id, effect, at, id);
create index decisions_by_resource_type on decisions (tenant_id, resource_type, at, id);
create index decisions_by_resource on decisions (tenant_id, resource_id, at, id) where resource_id is not null;
alter table decisions enable row level security, force row level security;
create policy tenant_isolation on decisions for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_inserts on decisions for insert to bailiwick_system with check (true);
create policy worker_all on decisions for all to bailiwick_worker using (true) with check (true);
create policy owner_all on decisions for all to bailiwick_owner using (true) with check (true);
grant select, insert on decisions to bailiwick_api;
grant insert on decisions to bailiwick_system;
grant select, delete, update (subject_email, facts) on decisions to bailiwick_worker;

create table approval_requests (
  tenant_id uuid not null,
  id uuid not null,
  requester_id uuid not null,
  requester_email text not null,
  action text not null,
  resource_type text not null,
  resource_id text,
  digest text not null,
  context jsonb not null,
  reason text not null,
  gates jsonb not null,
  approvers jsonb not null,
  mailed_to uuid[] not null default '{}',
  required_approvals integer not null check (required_approvals between 1 and 20),
  valid_for integer not null check (valid_for > 0),
  status text not null default 'pending'
    check (status in ('pending', 'approved', 'rejected', 'cancelled', 'expired', 'executed')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  decided_at timestamptz,
  executed_at timestamptz check ((status = 'executed') = (executed_at is not null)),
  executed_decision uuid check ((status = 'executed') = (executed_decision is not null)),
  execution_status text check (execution_status in ('pending', 'succeeded', 'failed')),
  execution_http_status integer,
  execution_problem jsonb,
  primary key (tenant_id, id)
);
comment on table approval_requests is 'pending → approved → executed; pending → rejected; pending or approved → cancelled or expired';
comment on column approval_requests.digest is 'SHA-256 (hex) of the validated body in its canonical form (RFC 8785): the approval is for this call and no other';
comment on column approval_requests.context is 'The call, so that approvers see what they approve';
comment on column approval_requests.gates is 'The policies that asked, with their versions: an edited policy asks again';
comment on column approval_requests.approvers is 'Lists of role ids; an approver has a role of each';
comment on column approval_requests.mailed_to is 'The approvers who were mailed when it was made';
comment on column approval_requests.expires_at is 'While pending: until when it can be decided. Once approved: until when it can be used';
comment on column approval_requests.executed_decision is 'The decision under which the approval was used up';
comment on column approval_requests.execution_status is 'Of a stored call; null: the requester repeats the call';
comment on column approval_requests.execution_problem is 'The problem document (RFC 9457) of a stored call that failed';
create unique index approval_requests_pending on approval_requests
  (tenant_id, requester_id, action, resource_type, resource_id, digest) nulls not distinct where status = 'pending';
comment on index approval_requests_pending is 'The same call while it is pending is the same request';
create index approval_requests_by_age on approval_requests (tenant_id, created_at, id);
create index approval_requests_of_requester on approval_requests (tenant_id, requester_id, created_at, id);
create index approval_requests_by_action on approval_requests (tenant_id, action, created_at, id);
create index approval_requests_by_status on approval_requests (tenant_id, status, created_at, id);
create index approval_requests_open on approval_requests (tenant_id, created_at, id) where status = 'pending';
create index approval_requests_by_expiry on approval_requests (expires_at) where status in ('pending', 'approved');
-- The same call made again within the hour mails the approvers nothing.
create index approval_requests_mailed on approval_requests (tenant_id, requester_id, created_at) where mailed_to <> '{}';
-- The body of a call is deleted some time after its request ended.
create index approval_requests_with_body on approval_requests
  ((coalesce(executed_at, case when status = 'rejected' then decided_at end, expires_at)))
  where status not in ('pending', 'approved') and jsonb_typeof(context -> 'body') <> 'null';
alter table approval_requests enable row level security, force row level security;
create policy tenant_isolation on approval_requests for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
-- The worker expires the requests of all tenants. The new row of an update has to be visible, too.
create policy worker_expires on approval_requests for all to bailiwick_worker
  using (status in ('pending', 'approved', 'expired')) with check (status = 'expired');
create policy worker_reads on approval_requests for select to bailiwick_worker using (true);
create policy worker_erases on approval_requests for update to bailiwick_worker using (true) with check (true);
create policy worker_purges on approval_requests for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on approval_requests for all to bailiwick_owner using (true) with check (true);
grant select, insert,
  update (status, expires_at, decided_at, executed_at, executed_decision, execution_status, execution_http_status, execution_problem)
  on approval_requests to bailiwick_api;
grant select (tenant_id, id, status, expires_at, decided_at, executed_at, requester_id, context),
  update (status, requester_email, context), delete on approval_requests to bailiwick_worker;

create table approval_votes (
  tenant_id uuid not null,
  request_id uuid not null,
  approver_id uuid not null,
  approver_email text not null,
  decision text not null check (decision in ('approve', 'reject')),
  comment text not null default '' check (char_length(comment) <= 1000),
  at timestamptz not null,
  primary key (tenant_id, request_id, approver_id),
  foreign key (tenant_id, request_id) references approval_requests (tenant_id, id) on delete cascade
);
comment on table approval_votes is 'One per person, never changed';
alter table approval_votes enable row level security, force row level security;
create policy tenant_isolation on approval_votes for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_reads on approval_votes for select to bailiwick_worker using (true);
create policy worker_erases on approval_votes for update to bailiwick_worker using (true) with check (true);
create policy worker_purges on approval_votes for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on approval_votes for all to bailiwick_owner using (true) with check (true);
grant select, insert on approval_votes to bailiwick_api;
grant select (tenant_id, request_id, approver_id), update (approver_email, comment), delete on approval_votes to bailiwick_worker;

-- Prefer: respond-async.
create table stored_calls (
  tenant_id uuid not null,
  id uuid not null,
  call_sealed bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, id) references approval_requests (tenant_id, id) on delete cascade
);
comment on table stored_calls is 'Calls that a worker carries out when they are approved; deleted when their approval request ends';
comment on column stored_calls.id is 'The id of the approval request';
comment on column stored_calls.call_sealed is 'Route, parameters, body, If-Match and session of the requester, encrypted';
alter table stored_calls enable row level security, force row level security;
create policy tenant_isolation on stored_calls for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_all on stored_calls for all to bailiwick_worker using (true) with check (true);
create policy owner_all on stored_calls for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on stored_calls to bailiwick_api;
grant select (tenant_id, id, call_sealed), update (call_sealed), delete on stored_calls to bailiwick_worker;

-- Registered, so that questions can name a resource by type and id alone.
create table registered_resources (
  tenant_id uuid not null,
  id uuid not null,
  resource_type text collate "C" not null check (resource_type ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  resource_id text collate "C" not null check (char_length(resource_id) between 1 and 254),
  owner_id uuid,
  department_id uuid,
  attributes jsonb not null default '{}',
  version bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, resource_type, resource_id)
);
comment on table registered_resources is 'Resources of applications with the attributes that policies read';
comment on column registered_resources.resource_id is 'The id that the application gave it, unique in its type';
comment on column registered_resources.owner_id is 'The user id of a member; null for none, also after the member left';
comment on column registered_resources.version is 'Counts changes by callers, for If-Match';
create index registered_resources_by_age on registered_resources (tenant_id, created_at, id);
create index registered_resources_by_owner on registered_resources (tenant_id, owner_id, created_at, id) where owner_id is not null;
create index registered_resources_by_department on registered_resources (tenant_id, department_id, created_at, id)
  where department_id is not null;
alter table registered_resources enable row level security, force row level security;
create policy tenant_isolation on registered_resources for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_erases on registered_resources for all to bailiwick_system using (true) with check (true);
create policy worker_purges on registered_resources for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on registered_resources for all to bailiwick_owner using (true) with check (true);
grant select, insert, update (owner_id, department_id, attributes, version, updated_at), delete
  on registered_resources to bailiwick_api;
grant select (tenant_id, owner_id), update (owner_id) on registered_resources to bailiwick_system;
grant select (tenant_id, id), delete on registered_resources to bailiwick_worker;
