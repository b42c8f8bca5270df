-- An invitation: pending → accepted / cancelled / expired; expired → pending by sending it again. It has expired once
-- its time is over, whatever the column says: the worker only tidies up, and tells it once.

create table invitations (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  email text collate "C" not null check (email = lower(email) and char_length(email) between 3 and 254),
  token_hash bytea not null unique,
  role_ids uuid[] not null,
  department_id uuid,
  message text not null default '' check (char_length(message) <= 1000),
  status text not null default 'pending' check (status in ('pending', 'accepted', 'cancelled', 'expired')),
  invited_by uuid not null,
  invited_by_email text not null,
  send_count integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by uuid,
  version bigint not null default 1,
  primary key (tenant_id, id),
  foreign key (tenant_id, department_id) references departments (tenant_id, id) on delete set null (department_id)
);
comment on column invitations.token_hash is 'SHA-256 of the 256 bits in the newest mail: sending again replaces it';
comment on column invitations.role_ids is 'Without a foreign key: a role may go, and the invitation is void then';
comment on column invitations.invited_by is 'Whose permissions have to suffice when it is accepted; not a foreign key, for they may leave';
comment on column invitations.send_count is 'Mails sent; tells the tokens of an invitation apart without their hashes';
create unique index invitations_one_pending on invitations (tenant_id, email) where status = 'pending';
create index invitations_by_age on invitations (tenant_id, created_at, id);
create index invitations_by_email on invitations (tenant_id, email, id);
create index invitations_by_status on invitations (tenant_id, status, created_at, id);
create index invitations_pending on invitations (tenant_id, expires_at) where status = 'pending';
create index invitations_by_department on invitations (tenant_id, department_id) where department_id is not null;
create index invitations_of_address on invitations (email, created_at, id) where status = 'pending';
create index invitations_running_out on invitations (expires_at) where status = 'pending';
alter table invitations enable row level security, force row level security;
create policy tenant_isolation on invitations for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_reads on invitations for select to bailiwick_system using (true);
create policy worker_all on invitations for all to bailiwick_worker using (true) with check (true);
create policy owner_all on invitations for all to bailiwick_owner using (true) with check (true);
grant select (tenant_id, id, email, role_ids, department_id, message, status, invited_by, invited_by_email, send_count,
  created_at, updated_at, expires_at, accepted_at, accepted_by, version) on invitations to bailiwick_api;
grant insert on invitations to bailiwick_api;
grant update (token_hash, status, send_count, expires_at, accepted_at, accepted_by, updated_at) on invitations to bailiwick_api;
grant select on invitations to bailiwick_system;
grant select (tenant_id, id, email, status, expires_at) on invitations to bailiwick_worker;
grant update (status, updated_at) on invitations to bailiwick_worker;
grant delete on invitations to bailiwick_worker;

create trigger bump_version before update of status, send_count, expires_at, accepted_at, accepted_by, department_id on invitations
  for each row execute function bump_version();
create trigger count_inserted after insert on invitations referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on invitations referencing old table as changed for each statement execute function count_deleted_rows();

-- Holding the token of an invitation verifies the address it was sent to, in the transaction that accepts it; the
-- policy own_row keeps the API to the row of the person themselves.
grant update (email_verified_at) on users to bailiwick_api;
