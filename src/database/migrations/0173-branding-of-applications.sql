-- The look of the pages while an application asks a person to sign in.
alter table oauth_clients add column branding jsonb;
alter table oauth_clients add constraint oauth_clients_branding_check check (jsonb_typeof(branding) = 'object');
comment on column oauth_clients.branding is 'What its pages look like, over what its tenant says: name, accent, links';
