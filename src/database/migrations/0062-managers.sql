-- A member can have a manager, who is a member of the same tenant. The manager's row can go: then there is none.
alter table memberships add column manager_id uuid;
comment on column memberships.manager_id is 'The user id of the member''s manager, a member of the same tenant; null for none';
create index memberships_by_manager on memberships (tenant_id, manager_id, joined_at, id) where manager_id is not null;
alter table memberships add foreign key (tenant_id, manager_id) references memberships (tenant_id, user_id)
  on delete set null (manager_id);
