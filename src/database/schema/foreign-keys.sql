-- What leads from one context to another, once all tables exist.
--
-- A person's rows go with the person. A tenant's rows do not go with the tenant: a purge deletes them table by table, in batches.

alter table daily_counts add foreign key (tenant_id) references tenants (id);

alter table memberships add foreign key (user_id) references users (id) on delete cascade;
alter table person_memberships add foreign key (user_id) references users (id) on delete cascade;
alter table made_tenants add foreign key (user_id) references users (id) on delete cascade;

alter table sessions add foreign key (tenant_id) references tenants (id);
alter table refresh_families add foreign key (tenant_id) references tenants (id);
alter table pending_sessions add foreign key (tenant_id) references tenants (id);
alter table api_keys
  add foreign key (tenant_id) references tenants (id),
  add foreign key (tenant_id, account_id) references memberships (tenant_id, id) on delete cascade;

alter table attribute_definitions add foreign key (tenant_id) references tenants (id);
alter table policies add foreign key (tenant_id) references tenants (id);
alter table policy_versions add foreign key (tenant_id) references tenants (id);
alter table decisions add foreign key (tenant_id) references tenants (id);
alter table approval_requests add foreign key (tenant_id) references tenants (id);
alter table stored_calls add foreign key (tenant_id) references tenants (id);
-- The statements that end a membership clear the owner of its resources first.
alter table registered_resources
  add foreign key (tenant_id) references tenants (id),
  add foreign key (tenant_id, owner_id) references memberships (tenant_id, user_id),
  add foreign key (tenant_id, department_id) references departments (tenant_id, id);

alter table events add foreign key (tenant_id) references tenants (id);
alter table event_sequences add foreign key (tenant_id) references tenants (id);
alter table audit_log add foreign key (tenant_id) references tenants (id);
alter table outbox add foreign key (tenant_id) references tenants (id);
alter table dead_letters add foreign key (tenant_id) references tenants (id);
alter table mails add foreign key (tenant_id) references tenants (id);
alter table link_tokens
  add foreign key (user_id) references users (id) on delete cascade,
  add foreign key (tenant_id) references tenants (id);

alter table webhooks add foreign key (tenant_id) references tenants (id);
alter table webhook_deliveries add foreign key (tenant_id) references tenants (id);

alter table feed_entries add foreign key (tenant_id) references tenants (id);

-- Whether a person is a fellow member is asked per person shown. As `id in (select …)` Postgres would gather all members of the tenant
-- first: 100,000 for each page of 20. `distribute` replaces this policy, because none can have a subquery there.
create policy fellow_members on users for select to bailiwick_api
  using (exists (select from memberships m where m.user_id = users.id
    and m.tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid)));
