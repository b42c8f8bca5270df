-- A key of an attribute can have capital letters, as those of applications often have. Two that differ by case alone are one.
alter table attribute_definitions drop constraint attribute_definitions_key_check,
  add constraint attribute_definitions_key_check check (key ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$');
create unique index attribute_definitions_by_key on attribute_definitions (tenant_id, category, lower(key));
