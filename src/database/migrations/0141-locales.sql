-- Mails have the language and the time zone of their reader. The worker asks for them by the address of the mail, when it sends it.
alter table users
  add column locale text check (char_length(locale) <= 100),
  add column zoneinfo text check (char_length(zoneinfo) <= 64);
comment on column users.locale is 'Language tag (BCP 47) of mails and pages; null: not known';
comment on column users.zoneinfo is 'IANA time zone of times in mails; null: UTC';
grant select (locale, zoneinfo) on users to bailiwick_api;
grant update (locale, zoneinfo) on users to bailiwick_system;
create policy worker_reads on users for select to bailiwick_worker using (true);
grant select (email, locale, zoneinfo) on users to bailiwick_worker;
