-- What a machine asks for, those ask who can sign in as it: they do not approve it, nor gain by it. Their secrets can be gone by then.
alter table memberships add column machine_keepers uuid[] not null default '{}';
comment on column memberships.machine_keepers is
  'Of a service account: who made or changed a machine that acts as it, without a foreign key: it outlives them';
