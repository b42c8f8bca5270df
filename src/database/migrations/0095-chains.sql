-- A chain of refresh tokens has an end of its own, and a second factor counts for the chain that showed it. A copy of an
-- access token can begin a chain, so that chain must not last as long as the session, nor rise with the owner's.
-- Chains of an earlier release have nulls: they are as their session was at its sign-in.
alter table refresh_families
  add column amr text[],
  add column second_factor_at timestamptz,
  add column ends_at timestamptz;
comment on column refresh_families.amr is 'The factors shown for this chain (RFC 8176); null in chains of releases before 0.3: those of the session';
comment on column refresh_families.second_factor_at is 'When a second factor was shown for this chain: then it is aal2';
comment on column refresh_families.ends_at is 'The absolute end of the chain; null: that of the session';
create policy own_rows on refresh_families for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
grant select (id, session_id, user_id, amr, second_factor_at, ends_at) on refresh_families to bailiwick_api;

alter table pending_sessions add column chain_ends_at timestamptz;
comment on column pending_sessions.chain_ends_at is
  'The absolute end of the chain that it begins: never after that of the chain which asked; null: that of its session';
