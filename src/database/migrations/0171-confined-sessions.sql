-- A session by a connection belongs to its tenant alone: who controls the identity provider can sign in as anyone there, and must reach nothing elsewhere.
alter table sessions
  add column connection_id uuid,
  add column confined_to uuid,
  add constraint sessions_confined check ((connection_id is null) = (confined_to is null));
comment on column sessions.connection_id is 'The connection by which it began, without a foreign key: it can have been deleted; null: another way';
comment on column sessions.confined_to is 'The tenant of that connection: the session enters no other one';
alter table pending_sessions
  add column connection_id uuid,
  add column confined_to uuid,
  add constraint pending_sessions_confined check ((connection_id is null) = (confined_to is null));
comment on column pending_sessions.connection_id is 'As in sessions, which gets it';
