-- What takes access or rights away is never refused for the quota of the logs, so it must not use up what others may add.
alter table log_counts
  add column removed bigint not null default 0 check (removed >= 0),
  add column most_removed bigint,
  add constraint log_counts_removed_within_limit check (removed <= most_removed);
comment on column log_counts.used is 'Bytes of the changes that add';
comment on column log_counts.removed is 'Bytes of the changes that take access or rights away, and of requests for their approval';
comment on column log_counts.most_removed is 'The limit of the last request for the approval of a removal; null if it was another change';
comment on column log_counts.most is 'The limit of the last change; null if it was one that takes away';
comment on column log_counts.user_id is 'Who made the changes, for service accounts the person who made the key; the nil UUID for those of all of the tenant';
