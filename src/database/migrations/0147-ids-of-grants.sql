-- Grants have an id that people and owners see: that of the library is a part of its tokens.
alter table oauth_models add column id uuid;
update oauth_models set id = md5(id_hash)::uuid where kind = 'Grant';
alter table oauth_models add constraint oauth_models_grant_has_id check (kind <> 'Grant' or id is not null);
comment on column oauth_models.id is 'Of a grant: names it to its person and its tenant';
create index oauth_models_grants_by_age on oauth_models (tenant_id, created_at, id) where kind = 'Grant';

-- A person's applications are in many tenants.
create policy system_reads on oauth_clients for select to bailiwick_system using (true);
grant select (tenant_id, id, name, kind, first_party) on oauth_clients to bailiwick_system;
