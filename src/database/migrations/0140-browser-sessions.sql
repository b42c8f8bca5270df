-- The cookies of the sign-in pages stand for sessions as those of the console do, so one table has both.
alter table console_sessions rename to browser_sessions;
alter index console_sessions_by_expiry rename to browser_sessions_by_expiry;
alter index console_sessions_of_family rename to browser_sessions_of_family;
alter index console_sessions_of_pending rename to browser_sessions_of_pending;
alter table browser_sessions
  add column kind text not null default 'console' check (kind in ('console', 'login'));
alter table browser_sessions alter column kind drop default;
comment on table browser_sessions is 'Cookies that stand for a session, by their hash';
comment on column browser_sessions.kind is
  'console: of the web console; login: of the sign-in pages, which other sites may link to';
grant update (cookie_hash) on browser_sessions to bailiwick_system;
