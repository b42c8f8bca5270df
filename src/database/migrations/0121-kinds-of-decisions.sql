-- Questions about what a person may do are no acts of theirs. Rows from before, and those of processes of the release
-- before, have no kind: readers tell them apart by their object.
alter table decisions add column kind text check (kind in ('request', 'question', 'preview'));
comment on column decisions.kind is 'request: it was done or refused; question: a person asked about another; preview: a person asked about themselves; null in rows from before';
-- Most rows are requests, so the others need an index to be found.
create index decisions_by_kind on decisions (tenant_id, kind, at, id) where kind in ('question', 'preview');
