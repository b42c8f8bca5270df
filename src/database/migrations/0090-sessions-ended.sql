-- A stored call outlives the logout of its requester, but not the end of all their sessions. A session that had been logged
-- out before says nothing of that, so the person does. One row, however many sessions and calls there are.
alter table users add column sessions_ended_at timestamptz;
comment on column users.sessions_ended_at is
  'When all sessions of the person were ended last: calls that they stored until then are not carried out; null while they never were';
grant select (sessions_ended_at) on users to bailiwick_api;
grant update (sessions_ended_at) on users to bailiwick_system;
