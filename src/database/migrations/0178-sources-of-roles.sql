-- A provider or a directory takes back only what it gave: a role that a person gave stays.
alter table membership_roles
  add column source text not null default 'manual'
    check (source in ('manual', 'connection', 'directory')),
  add column connection_id uuid,
  add constraint membership_roles_of_connection check ((source = 'connection') = (connection_id is not null));
comment on column membership_roles.source is 'Who gave the role: a person, the mapping of a connection, or a rule of a directory. What a person gives becomes manual';
comment on column membership_roles.connection_id is 'The connection whose mapping gave the role, without a foreign key; null: another source';
create index membership_roles_by_connection on membership_roles (tenant_id, connection_id) where connection_id is not null;
grant update (source, connection_id) on membership_roles to bailiwick_api;
