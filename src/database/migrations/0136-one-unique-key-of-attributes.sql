-- Keys that are equal are also equal without letter case: what this constraint of 0008 refuses, attribute_definitions_by_key of 0133 does.
alter table attribute_definitions drop constraint attribute_definitions_tenant_id_category_key_key;
