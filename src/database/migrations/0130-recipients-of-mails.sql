-- An operator who is asked about a mail finds it by its recipient. The address itself is not kept.
alter table mails add column recipient bytea;
comment on column mails.recipient is 'Keyed hash (HMAC-SHA256) of the address in lower case; null in rows from before, and after the erasure of its person';
create index mails_by_recipient on mails (recipient, id) where recipient is not null;
grant update (recipient) on mails to bailiwick_worker;
