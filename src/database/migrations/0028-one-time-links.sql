-- One-time links are one mechanism for every purpose (platform/links): the code names the purposes, the table their form.
alter table link_tokens drop constraint if exists link_tokens_purpose_check;
alter table link_tokens add constraint link_tokens_purpose_form check (purpose ~ '^[a-z][a-z_]{1,39}$');

alter table link_tokens add column target_id uuid;
comment on column link_tokens.target_id is 'What the link is about, where that is not the person: a membership, a device';

-- A link whose effect lies in a tenant is used up in that tenant's transaction: by its id, for the hash stays with the
-- system role.
grant select (id, purpose, user_id, target_id, expires_at, used_at), update (used_at) on link_tokens to bailiwick_api;
