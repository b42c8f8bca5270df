-- Who is suspended in a tenant, or leaves it, loses the grants of its applications in the same transaction. The API role does that in
-- the scope of that person, so it needs no policy beyond the form of people's tables.
create policy own_rows on oauth_models for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
grant select (tenant_id, user_id), delete on oauth_models to bailiwick_api;
grant delete on sessions to bailiwick_api;

-- The use of a code or token names its client: one round trip, as the system role, reads both, and one notes the use.
create policy system_notes_use on oauth_clients for update to bailiwick_system using (true) with check (true);
grant select, update (last_used_at) on oauth_clients to bailiwick_system;
create policy system_reads on oauth_client_secrets for select to bailiwick_system using (true);
create policy system_notes_use on oauth_client_secrets for update to bailiwick_system using (true) with check (true);
grant select, update (last_used_at) on oauth_client_secrets to bailiwick_system;
