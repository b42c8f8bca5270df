-- A recipient who is refused for good (SMTP 550) is not a fault of the service: operators tell these dead letters from
-- those that need them, and those that need them wake people up.
alter table dead_letters add column reason text not null default 'failed' check (reason in ('failed', 'refused'));
comment on column dead_letters.reason is 'failed: its attempts are used up, or it cannot be read; refused: the recipient or the content was refused for good';
create index dead_letters_failed_at on dead_letters (failed_at, id);
