-- Who adds a person to a tenant makes the link by which that person leaves it: a token of somebody else, of this
-- purpose, in the tenant of the request alone.
create policy leave_links on link_tokens for insert to bailiwick_api
  with check (purpose = 'tenant_leave'
              and tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
