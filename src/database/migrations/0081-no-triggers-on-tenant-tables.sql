-- Forms that a distributed Postgres (Citus) accepts: no triggers on tables of tenants, no "on delete set null" of a part of a
-- key, and unique keys with tenant_id. docs/adr/0012-one-schema-for-citus.md lists what replaces them.

-- Before 1.0 an older release need not run on this schema: it would neither count rows nor change versions.
do $$
declare g record;
begin
  for g in
    select tgname, tgrelid::regclass as relation from pg_trigger join pg_class c on c.oid = tgrelid
    where relnamespace = 'public'::regnamespace and not tgisinternal
      and tgname in ('bump_version', 'count_inserted', 'count_deleted', 'ring_bell', 'email_device_of_new_user', 'email_device_of_user')
  loop
    execute format('drop trigger %I on %s', g.tgname, g.relation);
  end loop;
end $$;
drop function bump_version();
drop function count_inserted_rows();
drop function count_deleted_rows();
drop function ring_outbox_bell();
drop function make_email_device();
comment on table row_counts is 'How many rows a tenant has in a table: each statement that inserts or deletes them counts';

-- Who changes a row also counts its version.
grant update (version) on users, invitations, webhooks to bailiwick_api;
grant update (version) on users, tenants, memberships to bailiwick_system;
grant select (version), update (version) on invitations to bailiwick_worker;
grant update (version) on webhooks to bailiwick_worker;

-- The end of a membership clears these by statements, after a lock of the membership. Managers have no foreign key: two
-- members can be each other's manager, and then a purge could delete neither first.
alter table memberships drop constraint memberships_tenant_id_manager_id_fkey;
alter table registered_resources drop constraint registered_resources_tenant_id_owner_id_fkey;
alter table registered_resources add foreign key (tenant_id, owner_id) references memberships (tenant_id, user_id);
alter table invitations drop constraint invitations_tenant_id_department_id_fkey;
alter table invitations add foreign key (tenant_id, department_id) references departments (tenant_id, id);
grant update (department_id) on invitations to bailiwick_api;

-- The erasure of a person does the same in each of their tenants.
grant update (manager_id) on memberships to bailiwick_system;
create policy system_erases on registered_resources for all to bailiwick_system using (true) with check (true);
grant select (tenant_id, owner_id), update (owner_id) on registered_resources to bailiwick_system;

-- Hashes of 256 random bits are unique without a key that says so.
alter table invitations drop constraint invitations_token_hash_key;
create index invitations_by_token on invitations (token_hash);
