-- To how many strangers somebody has mail sent in a day: a sender is a person, a tenant or an address of a caller.
create table mail_senders (
  sender text primary key,
  recipients text[] not null,
  window_ends_at timestamptz not null
);
comment on table mail_senders is 'Whom a sender had mailed in a day that began with the first of them; one row, so that one statement counts';
comment on column mail_senders.recipients is '72 bits of the SHA-256 of each address';
create index mail_senders_by_age on mail_senders (window_ends_at);
alter table mail_senders enable row level security, force row level security;
create policy system_all on mail_senders for all to bailiwick_system using (true) with check (true);
create policy owner_all on mail_senders for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on mail_senders to bailiwick_system;

-- Whom a request for approval was mailed to: the same call made again within the hour mails them nothing.
alter table approval_requests add column mailed_to uuid[] not null default '{}';
comment on column approval_requests.mailed_to is 'The approvers who were mailed when it was made';
create index approval_requests_mailed on approval_requests (tenant_id, requester_id, created_at) where mailed_to <> '{}';
