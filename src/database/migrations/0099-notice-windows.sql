-- How many notices of a kind an address was due in an hour, so that the worker sends few of them.
create table notice_windows (
  recipient bytea not null,
  kind text not null,
  ends_at timestamptz not null,
  notices integer not null,
  summary_id uuid,
  primary key (recipient, kind, ends_at)
);
comment on column notice_windows.recipient is 'SHA-256 of the address';
comment on column notice_windows.kind is 'The template of the mails';
comment on column notice_windows.summary_id is 'The first mail beyond the limit: when the hour is over, it says how many were not sent';
create index notice_windows_by_age on notice_windows (ends_at);
alter table notice_windows enable row level security, force row level security;
create policy worker_all on notice_windows for all to bailiwick_worker using (true) with check (true);
create policy owner_all on notice_windows for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on notice_windows to bailiwick_worker;
