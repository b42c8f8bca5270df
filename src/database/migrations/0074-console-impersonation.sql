-- The console's session can act as another member for some minutes. The browser gets no token of it.
alter table console_sessions
  add column impersonated_id uuid,
  add column impersonated_until timestamptz;
comment on column console_sessions.impersonated_id is 'The person whom the person of the session acts as; checked at each request';
comment on column console_sessions.impersonated_until is 'After this time the session is that of its person again';
grant update (impersonated_id, impersonated_until) on console_sessions to bailiwick_system;
