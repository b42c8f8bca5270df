-- Two files can have the same name and different people: the address says whether a row is the one that was imported.
alter table imported_people add column email_digest bytea;
comment on column imported_people.email_digest is 'SHA-256 of the address in the file';
