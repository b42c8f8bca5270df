-- The purge of a tenant deletes rows by their whole key.
grant select (member_id) on directory_group_members to bailiwick_worker;
