-- Mails lose their content when they are sent, so few have some. A worker looks for one at its start, and keys:reseal reads
-- them in the order of the primary key.
create index mails_with_content on mails (tenant_id, id) where content_sealed is not null;
