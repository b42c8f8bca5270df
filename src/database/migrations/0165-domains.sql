-- Domains of e-mail addresses that tenants have, as a record in the DNS shows. They are on the coordinator of a cluster, because a
-- domain has one owner among all tenants, and a sign-in asks for it before its tenant is known.
create table domains (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  domain text not null check (char_length(domain) <= 253),
  status text not null check (status in ('pending', 'verified', 'lost')),
  record_value text not null,
  route text not null check (route in ('always', 'never')),
  subdomains boolean not null,
  lent_to uuid[] not null default '{}' check (cardinality(lent_to) <= 100),
  verified_at timestamptz,
  asked_at timestamptz,
  missing_since timestamptz,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null default 1,
  primary key (tenant_id, id),
  unique (tenant_id, domain),
  check (status = 'pending' or (verified_at is not null and asked_at is not null))
);
comment on table domains is 'Domains of addresses that tenants claim; of one tenant when verified';
comment on column domains.domain is 'In lower case, as A-labels (RFC 5890)';
comment on column domains.status is 'verified: a TXT record showed it; lost: the record was away for 14 days';
comment on column domains.record_value is 'What the TXT record has to say. It is public once it stands there';
comment on column domains.route is 'always: people who give an address of it are led to the connections of the tenant';
comment on column domains.subdomains is 'It is about the subdomains, too';
comment on column domains.lent_to is 'Other tenants that use it; deleted ones stay named';
comment on column domains.asked_at is 'When the DNS was last asked';
comment on column domains.missing_since is 'The first of the checks since then that found no record; null if the last one found it';
comment on column domains.created_by is 'Who claimed it, without a foreign key: it outlives them';
create unique index domains_verified on domains (domain) where status = 'verified';
create index domains_by_check on domains (asked_at) where status = 'verified';
create index domains_by_age on domains (tenant_id, created_at, id);
alter table domains enable row level security, force row level security;
create policy tenant_isolation on domains for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on domains for select to bailiwick_system using (true);
create policy worker_reads on domains for select to bailiwick_worker using (true);
create policy worker_purges on domains for delete to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on domains for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on domains to bailiwick_api;
grant select on domains to bailiwick_system;
grant select (tenant_id, id, domain, status, record_value, asked_at), delete on domains to bailiwick_worker;
