-- Which addresses an account has proved, and what the first proof by the mailbox alone leaves to choose:
-- docs/explanation/second-factors.md.

alter table users add column first_proof_at timestamptz;
comment on column users.first_proof_at is
  'When a link in a mail alone proved an address of the account first: a login that names no tenant enters only tenants entered since';
grant update (first_proof_at) on users to bailiwick_system;

create table former_addresses (
  email text primary key,
  user_id uuid not null references users (id) on delete cascade,
  proven_at timestamptz not null
);
comment on table former_addresses is
  'Proven addresses that an account left: erasing it reaches them too. An address is of the account that left it last';
create index former_addresses_of_user on former_addresses (user_id);
alter table former_addresses enable row level security, force row level security;
create policy system_all on former_addresses for all to bailiwick_system using (true) with check (true);
create policy owner_all on former_addresses for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on former_addresses to bailiwick_system;
-- Undoing a change of address ends the memberships begun since, and archives a tenant that would lose its last owner.
grant delete on memberships to bailiwick_system;
grant update (status, suspended_at, archived_at) on tenants to bailiwick_system;
create policy system_ends on person_memberships for delete to bailiwick_system using (true);
grant delete on person_memberships to bailiwick_system;

-- A link that undoes a change was mailed to proven addresses only.
insert into former_addresses (email, user_id, proven_at)
  select distinct on (l.email) l.email, l.user_id, l.created_at from link_tokens l join users u on u.id = l.user_id
  where l.purpose = 'email_undo' and l.email <> u.email order by l.email, l.created_at desc;

alter table erasures add column emails text[];
comment on column erasures.emails is 'The addresses that the person had proved; null: only `email`, of a release before 0091';
