-- A person is told once of each pause in which none of their second factors is accepted.
alter table otp_attempts add column told_of timestamptz;
comment on column otp_attempts.told_of is 'last_at of the pause that a mail told the person of';
