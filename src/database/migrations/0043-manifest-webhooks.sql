-- Webhooks of manifests: an application gets the events of every tenant. As with its other rules, each tenant has a row of
-- its own, so order, retries and isolation are those of any webhook. The secret is the same in all tenants and is here
-- once: only workers, which sign, and the operator's commands read it.

create table manifest_webhooks (
  application text not null,
  key text not null,
  secret_sealed bytea not null,
  previous_secret_sealed bytea,
  previous_secret_expires_at timestamptz check ((previous_secret_sealed is null) = (previous_secret_expires_at is null)),
  created_at timestamptz not null,
  primary key (application, key)
);
comment on table manifest_webhooks is 'The secrets of the webhooks of manifests. A row stays when its webhook leaves the manifest';
alter table manifest_webhooks enable row level security, force row level security;
create policy system_all on manifest_webhooks for all to bailiwick_system using (true) with check (true);
create policy worker_reads on manifest_webhooks for select to bailiwick_worker using (true);
create policy owner_all on manifest_webhooks for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on manifest_webhooks to bailiwick_system;
grant select on manifest_webhooks to bailiwick_worker;

alter table webhooks add column managed_by text, add column managed_as text, alter column secret_sealed drop not null,
  add constraint webhooks_managed check ((managed_by is null) = (managed_as is null)),
  add constraint webhooks_secret check ((managed_by is null) = (secret_sealed is not null));
comment on column webhooks.managed_by is 'The application whose manifest gave the tenant this webhook; null for its own';
create unique index webhooks_by_manifest on webhooks (tenant_id, managed_by, managed_as) where managed_by is not null;
grant select (managed_by, managed_as) on webhooks to bailiwick_api;
