-- Versions of deleted policies, and approval requests that ended, are deleted after a time (docs/reference/retention.md).
alter table policy_versions add column deleted_at timestamptz;
comment on column policy_versions.deleted_at is 'When the policy was deleted; null while it exists';
create index policy_versions_of_deleted on policy_versions (deleted_at) where deleted_at is not null;
grant update (deleted_at) on policy_versions to bailiwick_api;
create policy worker_expires on policy_versions for all to bailiwick_worker using (deleted_at is not null);
grant select (deleted_at) on policy_versions to bailiwick_worker;
-- When they were deleted is unknown, so their time begins now.
update policy_versions v set deleted_at = now()
where not exists (select from policies p where p.tenant_id = v.tenant_id and p.id = v.policy_id);

create index approval_requests_ended on approval_requests
  ((coalesce(executed_at, case when status = 'rejected' then decided_at end, expires_at)))
  where status not in ('pending', 'approved');
create policy worker_deletes on approval_requests for delete to bailiwick_worker
  using (status not in ('pending', 'approved'));
