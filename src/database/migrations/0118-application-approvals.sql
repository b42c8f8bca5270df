-- Approvals of what an application asks for: the same requests, about a question in place of a call.
alter table approval_requests
  add column kind text not null default 'call' check (kind in ('call', 'application')),
  add column subject_type text,
  add column subject_id text,
  add column subject_email text,
  add column message text not null default '' check (char_length(message) <= 1000),
  add column kept jsonb,
  add column operation_id text check (char_length(operation_id) between 1 and 128),
  add column consumed_by uuid,
  add constraint approval_requests_subject
    check ((kind = 'application') = (subject_type is not null) and (kind = 'application') = (subject_id is not null)),
  add constraint approval_requests_consumed
    check ((kind = 'application' and status = 'executed') = (operation_id is not null)
           and (operation_id is null) = (consumed_by is null));
comment on column approval_requests.kind is 'A call that waits, or a question of an application';
comment on column approval_requests.subject_id is 'Who would act: the id of a person or service account, or a name of the application''s own; null for a call, which is the requester''s';
comment on column approval_requests.digest is 'SHA-256 (hex) of the call, or of the question with what its gates read, in canonical form (RFC 8785): the approval is for this and nothing else';
comment on column approval_requests.context is 'The call, or what the gates read of the question, so that approvers see what they approve';
comment on column approval_requests.kept is 'What the other policies read of the question, to decide it again; null once it is deleted';
comment on column approval_requests.operation_id is 'What the application calls the operation for which it consumed the approval';
create unique index approval_requests_asked on approval_requests (tenant_id, digest)
  where kind = 'application' and status = 'pending';
comment on index approval_requests_asked is 'The same question while it is pending is the same request';
create index approval_requests_usable on approval_requests (tenant_id, digest)
  where kind = 'application' and status in ('pending', 'approved');
create index approval_requests_of_subject on approval_requests (tenant_id, subject_id, created_at, id)
  where kind = 'application';
grant update (operation_id, consumed_by) on approval_requests to bailiwick_api;
grant select (kind, subject_id, message, kept), update (subject_id, subject_email, message, kept)
  on approval_requests to bailiwick_worker;
