-- A change of the password ends the other chains of the session that stays: a copy of an access token can have begun them.
comment on column refresh_families.ended_at is 'When the chain was ended although its session goes on';
alter table refresh_families add column access_since timestamptz;
comment on column refresh_families.access_since is
  'Access tokens of the chain from this moment or before begin no other chain without its refresh token; null: all do';
grant select (ended_at) on refresh_families to bailiwick_api;

comment on column otp_devices.shown_in is
  'The chain, or the waiting sign-in, in which a young factor was enrolled or shown last: only there can another factor prove it';
comment on column passkeys.shown_in is
  'The chain, or the waiting sign-in, that registered it or last showed it while it did not count';
