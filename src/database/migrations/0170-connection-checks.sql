-- A worker looks at each active connection once a day.
alter table connections add column checked_at timestamptz, add column activator_left_at timestamptz;
comment on column connections.config is 'Of the protocol, without secrets: issuer, client_id and scopes of OpenID Connect; what the metadata of SAML says';
comment on column connections.checked_at is 'When a worker looked at it last; null: never';
comment on column connections.activator_left_at is 'Since when the person who activated it holds less than activator says, as the worker found';
create index connections_due on connections (coalesce(checked_at, activated_at)) where status = 'active';
create policy worker_reads on connections for select to bailiwick_worker using (true);
grant select (activator, checked_at, activator_left_at) on connections to bailiwick_api;
grant select (kind, status, config, activated_at, checked_at, version) on connections to bailiwick_worker;
