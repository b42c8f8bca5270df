-- A tenant that disables or deletes a connection ends the sessions that began by it, with the grants of applications behind them.
create index sessions_of_connection on sessions (confined_to, connection_id)
  where connection_id is not null and ended_at is null;
create index pending_sessions_of_connection on pending_sessions (confined_to, connection_id)
  where connection_id is not null and ended_at is null;
create policy tenant_finds on sessions for select to bailiwick_api
  using (confined_to = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_ends on sessions for update to bailiwick_api
  using (confined_to = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (confined_to = nullif(current_setting('app.tenant_id', true), '')::uuid);
grant update (ended_at, end_reason) on sessions to bailiwick_api;
create policy tenant_finds on pending_sessions for select to bailiwick_api
  using (confined_to = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy tenant_ends on pending_sessions for update to bailiwick_api
  using (confined_to = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (confined_to = nullif(current_setting('app.tenant_id', true), '')::uuid);
grant update (ended_at) on pending_sessions to bailiwick_api;
