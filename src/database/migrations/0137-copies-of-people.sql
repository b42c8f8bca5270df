-- A tenant reads a person from `memberships` alone: what it shows of them is copied there. The foreign key contains the copies, so none
-- can be out of date: a change of the person changes them, and a membership with old ones is refused.
alter table users
  add column email_verified boolean generated always as (email_verified_at is not null) stored,
  add constraint users_copied unique (id, email, first_name, last_name, is_active, email_verified, version);
comment on column users.email_verified is 'Whether the person proved the present address';

alter table memberships
  add column is_active boolean,
  add column email_verified boolean not null default false,
  add column date_joined timestamptz,
  add column person_version bigint not null default 0,
  add column accepted_at timestamptz;
comment on column memberships.email is
  'Copy of the person''s, as are the names, is_active, email_verified, date_joined and person_version: a tenant sees no row of users';
comment on column memberships.is_active is 'Null for a service account, as is date_joined';
comment on column memberships.version is 'Counts changes of the membership. What If-Match names is this and person_version together';
comment on column memberships.person_version is 'The version of the person; 0 for a service account';
comment on column memberships.accepted_at is
  'When the person accepted an invitation; null if they were added by their id, and forgotten at the first proof of their address: another person can have accepted';
update memberships m set email = u.email, first_name = u.first_name, last_name = u.last_name, is_active = u.is_active,
    email_verified = u.email_verified, date_joined = u.date_joined, person_version = u.version
  from users u where u.id = m.user_id;
update memberships m set accepted_at = i.accepted_at
  from invitations i, users u
  where i.tenant_id = m.tenant_id and i.accepted_by = m.user_id and i.accepted_at >= m.joined_at and u.id = m.user_id
    and (u.first_proof_at is null or i.accepted_at > u.first_proof_at);

alter table memberships
  drop constraint memberships_person,
  add constraint memberships_person check ((kind = 'user') = (user_id is not null) and (kind = 'user') = (is_active is not null)
    and (kind = 'user') = (date_joined is not null)),
  drop constraint memberships_user_id_fkey,
  add constraint memberships_copies foreign key (email, first_name, last_name, is_active, email_verified, person_version, user_id)
    references users (email, first_name, last_name, is_active, email_verified, version, id) on update cascade on delete cascade;
revoke update (email, first_name, last_name, version) on memberships from bailiwick_system;
grant update (accepted_at) on memberships to bailiwick_system;
revoke select (first_proof_at) on users from bailiwick_api;
