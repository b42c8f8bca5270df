-- A client is told when a session ends that stood behind one of its grants (OpenID Connect Back-Channel Logout 1.0). The statement
-- that ends grants tells which: a row of its session goes, or leaves the session of the browser in which it began.
alter table oauth_clients add column backchannel_logout_uri text check (char_length(backchannel_logout_uri) <= 2000);
comment on column oauth_clients.backchannel_logout_uri is 'Where it is told that a session ended; null: nowhere';

alter table oauth_models
  add column sid text,
  add column browser_session_id uuid;
update oauth_models set sid = payload -> 'auth' ->> 'sid' where kind = 'Grant';
comment on column oauth_models.sid is 'Of a grant: the session, as its ID tokens name it';
comment on column oauth_models.browser_session_id is
  'Of a grant with a session of its own: that of the browser in which it began, until that ends';
create index oauth_models_of_browser on oauth_models (browser_session_id) where browser_session_id is not null;
-- A tenant ends the grants of a person who leaves it.
create policy tenant_finds on oauth_models for select to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid and kind not in ('Consent', 'Interaction'));
create policy tenant_ends on oauth_models for delete to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid and kind not in ('Consent', 'Interaction'));
grant select (tenant_id, user_id, client_id, kind, sid), delete on oauth_models to bailiwick_api;

create table oauth_logouts (
  tenant_id uuid not null,
  id uuid not null,
  client_id uuid not null,
  user_id uuid not null,
  sid text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  response_status integer,
  created_at timestamptz not null,
  next_attempt_at timestamptz,
  ended_at timestamptz,
  primary key (tenant_id, id),
  check ((status = 'pending') = (next_attempt_at is not null)),
  check ((status = 'pending') = (ended_at is null))
);
comment on table oauth_logouts is 'What clients are told of sessions that ended, each with its last attempt';
comment on column oauth_logouts.client_id is 'Without a foreign key: the rows of a deleted client are deleted by their age';
comment on column oauth_logouts.user_id is 'Whose session it was, without a foreign key: they can have been erased';
comment on column oauth_logouts.sid is 'The session, as the ID tokens of the client name it';
comment on column oauth_logouts.response_status is 'What the client answered last; null: nothing';
create index oauth_logouts_by_age on oauth_logouts (tenant_id, client_id, created_at, id);
create index oauth_logouts_ended on oauth_logouts (ended_at) where ended_at is not null;
alter table oauth_logouts enable row level security, force row level security;
select distribute_by_tenant('oauth_logouts');
alter table oauth_logouts add foreign key (tenant_id) references tenants (id);
create policy tenant_isolation on oauth_logouts for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_inserts on oauth_logouts for insert to bailiwick_system with check (true);
create policy worker_all on oauth_logouts for all to bailiwick_worker using (true) with check (true);
create policy owner_all on oauth_logouts for all to bailiwick_owner using (true) with check (true);
grant select, insert on oauth_logouts to bailiwick_api;
grant insert on oauth_logouts to bailiwick_system;
grant select, update, delete on oauth_logouts to bailiwick_worker;
