-- A policy can be a module of Rego. Its compiled form stands with the version, which never changes.
alter table policies drop constraint policies_kind_check;
alter table policies add constraint policies_kind_check check (kind in ('json', 'rego')) not valid;
alter table policies validate constraint policies_kind_check;
alter table policies add column module_off_at timestamptz;
comment on column policies.module_off_at is 'When the service switched off the module, because it took too much time; a new version is on again';
comment on column policies.rules is 'Subjects (roles as ids), conditions or module, approval and obligations, as their author wrote them';
alter table policy_versions add column module_key text, add column module_reads jsonb, add column module bytea;
comment on column policy_versions.module_key is 'SHA-256 (hex) of the module''s text, effect and compiler; null without a module';
comment on column policy_versions.module_reads is 'The attributes that the module reads: needed or optional';
comment on column policy_versions.module is 'The module as WebAssembly, compressed with gzip';
