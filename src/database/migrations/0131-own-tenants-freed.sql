-- A link from a mail lets the next login make a tenant, also if a thief used up the one of the day: once a day.
alter table users add column own_tenant_freed_at timestamptz;
comment on column users.own_tenant_freed_at is 'When a link from a mail last allowed another tenant beside the one of the day';
grant update (own_tenant_freed_at) on users to bailiwick_system;
