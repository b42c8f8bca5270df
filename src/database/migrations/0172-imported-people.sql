-- People who came with an import, by the id that they have in its file: a second run goes on where the first one ended.
create table imported_people (
  source text not null,
  key text not null,
  user_id uuid not null,
  memberships int not null,
  imported_at timestamptz not null,
  constraint imported_people_pkey primary key (source, key),
  constraint imported_people_source_check check (char_length(source) between 1 and 200),
  constraint imported_people_key_check check (char_length(key) between 1 and 200),
  constraint imported_people_user_id_fkey foreign key (user_id) references users (id) on delete cascade
);
comment on table imported_people is 'People who came with an import: no row of a file is imported twice';
comment on column imported_people.key is 'The id of the person in the file';
comment on column imported_people.memberships is 'So many of the memberships of the row were written';
create index imported_people_of_user on imported_people (user_id);
alter table imported_people enable row level security, force row level security;
create policy own_rows on imported_people for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on imported_people for all to bailiwick_system using (true) with check (true);
create policy owner_all on imported_people for all to bailiwick_owner using (true) with check (true);
grant select, insert, update (memberships) on imported_people to bailiwick_api;
grant select, insert, update (memberships) on imported_people to bailiwick_system;
