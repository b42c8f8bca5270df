-- What a directory said of a person goes with the person, and a pending invitation becomes that of a User.
create policy system_reads on directory_users for select to bailiwick_system using (true);
create policy system_erases on directory_users for delete to bailiwick_system using (true);
grant select (tenant_id, id), delete on directory_users to bailiwick_system;
grant update (membership_id) on invitations to bailiwick_api;
