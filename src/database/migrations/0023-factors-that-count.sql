-- Which second factors count, and from when: docs/explanation/second-factors.md.

alter table otp_devices add column counts_from timestamptz, add column shown_in uuid;
comment on column otp_devices.counts_from is
  'When a factor enrolled with the password alone begins to count; null or past: it counts. Of apps and recovery codes';
comment on column otp_devices.shown_in is
  'The sign-in (session or pending session) in which a young factor was enrolled or shown last: only there can another factor prove it';
grant select (counts_from, shown_in), update (counts_from, shown_in) on otp_devices to bailiwick_api;
grant update (counts_from, shown_in), delete on otp_devices to bailiwick_system;

alter table users
  add column address_since timestamptz,
  add column previous_email text,
  add column previous_verified_at timestamptz,
  add column codes_email text,
  add column codes_until timestamptz,
  add column mailed_codes_count_from timestamptz;
comment on column users.address_since is 'When the present address became the account''s; null: with the account';
comment on column users.previous_email is 'The address that comes back when the present one is rejected; of no effect once that is verified';
comment on column users.previous_verified_at is 'When that one was verified; null: the account never had a verified address';
comment on column users.codes_email is 'The verified address before a change: second-factor codes go there until codes_until';
comment on column users.mailed_codes_count_from is 'After a reset by mail: until then a code sent by e-mail does not count as a second factor';
create index users_moved on users (id) where previous_email is not null or codes_until is not null;
grant select (address_since, codes_email, codes_until, mailed_codes_count_from) on users to bailiwick_api;
grant update (address_since, previous_email, previous_verified_at, codes_email, codes_until, mailed_codes_count_from)
  on users to bailiwick_system;

-- What a squatter did before an address was first proven goes with the proof.
grant delete on sign_in_places to bailiwick_system;
