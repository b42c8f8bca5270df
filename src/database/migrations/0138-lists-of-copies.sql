-- Lists of people ask the copies in `memberships` who is active. Few are not.
create index memberships_inactive on memberships (tenant_id, id) where not is_active;
drop index users_inactive;
grant select (email_verified) on users to bailiwick_api;
