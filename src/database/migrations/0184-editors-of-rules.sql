-- Rules of a directory give no more than the person who wrote them could give then, also when a role grows.
alter table directory_rules add column editor jsonb not null default '{"systemRoles": [], "permissions": []}';
comment on column directory_rules.editor is
  'What the person who wrote the rule held then: {systemRoles, permissions, scopes}. It gives no role with more';
