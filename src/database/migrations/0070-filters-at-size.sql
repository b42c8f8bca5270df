-- Filters whose values can be rare in a large tenant. Without an index, a page walks the whole tenant to find its rows.
create index if not exists memberships_by_status on memberships (tenant_id, status, joined_at, id);
create index if not exists approval_requests_by_status on approval_requests (tenant_id, status, created_at, id);
create index if not exists decisions_by_effect on decisions (tenant_id, effect, at, id);
create index if not exists decisions_by_resource_type on decisions (tenant_id, resource_type, at, id);
create index if not exists decisions_by_resource on decisions (tenant_id, resource_id, at, id) where resource_id is not null;
