import { definerFunctions } from './definer-functions.ts'
import { exemptTables, globalKeys, tablesOfPeople } from './isolation-policies.ts'
import { secretReaders } from './secret-readers.ts'

/**
 * A check of the database's catalogue. `sql` returns a row (object, fault) per object; fault is null when the object is
 * right. `holds` is the sentence that is true without faults; its `count` is replaced by the number of objects. In
 * `sql`, {@link newerTables} and {@link movedTables} are replaced by lists of tables.
 */
export interface CatalogueCheck {
  name: string
  holds: string
  sql: string
  values?: unknown[]
}

/**
 * Placeholder for the oids of the tables that only a newer release knows. A check skips them only where that release's
 * lists can allow more than ours. Views, functions, rules, schemas, owners and grants to PUBLIC are always checked.
 */
export const newerTables = '{{newerTables}}'

/** Placeholder for the names of the tables that Citus moves, on which it cannot be forced: src/database/cluster/distribute.ts. */
export const movedTables = '{{movedTables}}'

const runtimeRoles = ['bailiwick_api', 'bailiwick_system', 'bailiwick_worker']

// Objects of an extension are the operator's choice as a superuser, and hold none of our rows.
const ofExtension = (catalogue: string, oid: string) =>
  `exists (select from pg_depend where classid = '${catalogue}'::regclass and objid = ${oid} and deptype = 'e')`

const inOurs = `nspname not in ('pg_catalog', 'information_schema') and nspname !~ '^pg_(toast|temp)'`

const tables = `
  tables as (
    select c.oid, c.relname::text as name, c.relrowsecurity, c.relforcerowsecurity, c.relowner, t.attnum as tenant,
           t.attnotnull and t.atttypid = 'uuid'::regtype as sound, c.oid <> all (${newerTables}) as judged
    from pg_class c left join pg_attribute t on t.attrelid = c.oid and t.attname = 'tenant_id' and not t.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not ${ofExtension('pg_class', 'c.oid')})`

const tenantTables = `${tables}, tenant_tables as (select * from tables where tenant is not null and name <> all ($1))`

const runtime = `runtime as (select oid, rolname from pg_roles where rolname in ('${runtimeRoles.join("', '")}'))`

/** The checks of every table, view, key and grant. */
export const catalogueChecks: CatalogueCheck[] = [
  {
    name: 'rls_forced',
    holds: 'count tables have row-level security, enabled and forced',
    sql: `with ${tables} select name as object, case
        when not relrowsecurity then 'row-level security is not enabled'
        when not relforcerowsecurity and name <> all (${movedTables}) then 'row-level security is not forced'
        when not exists (select from pg_policy where polrelid = t.oid) then 'has no policy' end as fault
      from tables t where judged and name <> all ($1)`,
    values: [Object.keys(exemptTables)],
  },
  {
    name: 'granted_table',
    holds: 'count grants of a table to a run-time role, each with a policy for that role',
    sql: `with ${runtime}, ${tables} select format('%s for %s', name, rolname) as object,
        case when not exists (select from pg_policy where polrelid = t.oid and r.oid = any (polroles)) then 'is granted, but has no policy' end as fault
      from tables t, runtime r where judged and name <> all ($1) and (has_any_column_privilege(r.oid, t.oid, 'SELECT, INSERT, UPDATE')
        or has_table_privilege(r.oid, t.oid, 'DELETE'))`,
    values: [Object.keys(exemptTables)],
  },
  {
    name: 'owner',
    holds: 'count tables and views belong to bailiwick_owner',
    sql: `select relname as object, case when relowner::regrole::text <> 'bailiwick_owner'
        then 'belongs to ' || relowner::regrole end as fault
      from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
        and not ${ofExtension('pg_class', 'c.oid')}`,
  },
  {
    name: 'owner_role',
    holds: 'bailiwick_owner does not bypass row-level security',
    sql: `select rolname as object, case when rolsuper then 'is a superuser' when rolbypassrls then 'has BYPASSRLS' end as fault
      from pg_roles where rolname = 'bailiwick_owner'`,
  },
  {
    name: 'relation_kind',
    holds: 'count relations, all of a kind and in a schema that row-level security covers',
    sql: `select format('%s.%s', nspname, relname) as object, case
        when relkind = 'm' then 'is a materialised view: a copy of all tenants'
        when relkind = 'f' then 'is a foreign table: policies do not apply to it'
        when nspname not in ('public', 'bullmq') then 'is in a schema that no check covers'
        when relkind = 'v' and coalesce((select not option_value::boolean from pg_options_to_table(reloptions)
          where option_name = 'security_invoker'), true) then 'is a view without security_invoker' end as fault
      from pg_class c join pg_namespace n on n.oid = relnamespace
      where relkind in ('r', 'p', 'v', 'm', 'f') and ${inOurs} and not ${ofExtension('pg_class', 'c.oid')}`,
  },
  {
    name: 'rewrite_rule',
    holds: 'no table has a rewrite rule, which would run as its owner',
    sql: `select ev_class::regclass::text as object, format('has the rule %s', rulename) as fault
      from pg_rewrite join pg_class c on c.oid = ev_class join pg_namespace n on n.oid = relnamespace
      where rulename <> '_RETURN' and ${inOurs} and not ${ofExtension('pg_class', 'c.oid')}`,
  },
  {
    name: 'definer_function',
    holds: 'count functions, of which only the listed ones run with the rights of their owner',
    sql: `select p.oid::regprocedure::text as object, case
        when (prosecdef or exists (select from unnest($1::text[]) as listed where starts_with(listed, format('%s.%s(', nspname, proname))))
          and format('%s.%s(%s) %s %s', nspname, proname, pg_get_function_identity_arguments(p.oid), proconfig, md5(prosrc)) <> all ($1)
        then 'runs with the rights of its owner, and is not as listed' end as fault
      from pg_proc p join pg_namespace n on n.oid = pronamespace where ${inOurs} and not ${ofExtension('pg_proc', 'p.oid')}`,
    values: [definerFunctions],
  },
  {
    name: 'tenant_column',
    holds: 'count tables of tenants have a tenant_id that is a uuid and not null',
    sql: `with ${tenantTables} select name as object,
        case when not sound then 'tenant_id is nullable or not a uuid' end as fault from tenant_tables where judged`,
    values: [Object.keys(tablesOfPeople)],
  },
  {
    name: 'primary_key',
    holds: 'count tables of tenants have a primary key led by tenant_id',
    sql: `with ${tenantTables} select name as object, case when i.indkey[0] is null then 'has no primary key'
        when i.indkey[0] <> tenant then 'its primary key does not begin with tenant_id' end as fault
      from tenant_tables t left join pg_index i on i.indrelid = t.oid and i.indisprimary where judged`,
    values: [Object.keys(tablesOfPeople)],
  },
  {
    name: 'unique_key',
    holds: 'count unique keys contain tenant_id, or are known to be global',
    sql: `with ${tables} select c.relname as object, case when not coalesce(t.tenant = any (i.indkey), false)
        and c.relname <> all ($1) then format('is unique over all tenants on %s', t.name) end as fault
      from tables t join pg_index i on i.indrelid = t.oid join pg_class c on c.oid = i.indexrelid
      where judged and ((i.indisunique and not i.indisprimary) or i.indisexclusion)`,
    values: [Object.keys(globalKeys)],
  },
  {
    name: 'foreign_key',
    holds: 'count foreign keys to tables of tenants carry tenant_id on both sides',
    sql: `with ${tenantTables} select format('%s.%s', s.name, k.conname) as object, case when not exists (
          select from unnest(k.conkey, k.confkey) as pair (here, there) where here = s.tenant and there = t.tenant)
        then format('refers to %s without tenant_id', t.name) end as fault
      from pg_constraint k join tables s on s.oid = k.conrelid join tenant_tables t on t.oid = k.confrelid
      where k.contype = 'f' and (s.judged or t.judged)`,
    values: [Object.keys(tablesOfPeople)],
  },
  {
    name: 'table_grant',
    holds: 'count grants on tables and columns: at most select, insert, update, delete, and none to PUBLIC',
    sql: `with ${runtime}, granted as (
        select oid as relation, relname, relnamespace, null::name as attname, relacl as acl from pg_class
        union all select a.attrelid, relname, relnamespace, attname, attacl
          from pg_attribute a join pg_class c on c.oid = a.attrelid where attacl is not null)
      select concat_ws('.', relname, attname) as object, case
        when g.grantee = 0 then format('%s is granted to PUBLIC', lower(privilege_type))
        when is_grantable then format('%s can grant %s on', r.rolname, lower(privilege_type))
        when privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE')
          then format('%s has the privilege %s', r.rolname, lower(privilege_type)) end as fault
      from granted join pg_namespace n on n.oid = relnamespace, aclexplode(acl) g left join runtime r on r.oid = g.grantee
      where ${inOurs} and not ${ofExtension('pg_class', 'relation')} and (g.grantee = 0 or r.oid is not null)`,
  },
  {
    name: 'migration_grant',
    holds: 'no run-time role can change the list of migrations, which shows what a newer release created',
    sql: `with ${runtime} select format('schema_migrations for %s', rolname) as object, case
        when has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE') or has_table_privilege(r.oid, c.oid, 'DELETE')
        then 'can change which migrations count as applied' end as fault
      from runtime r, pg_class c where c.oid = 'public.schema_migrations'::regclass`,
  },
  {
    name: 'schema_grant',
    holds: 'run-time roles cannot create objects, and only the worker can use the schema of the queues',
    sql: `with ${runtime} select format('%s on %s', rolname, nspname) as object, case
        when has_schema_privilege(r.oid, n.oid, 'CREATE') then 'can create in the schema'
        when nspname <> 'public' and not (nspname = 'bullmq' and rolname = 'bailiwick_worker')
          and has_schema_privilege(r.oid, n.oid, 'USAGE') then 'can use the schema' end as fault
      from runtime r, pg_namespace n where ${inOurs} and not ${ofExtension('pg_namespace', 'n.oid')}
      union all select r.rolname, case when has_database_privilege(r.oid, current_database(), 'CREATE')
        then 'can create schemas' end from runtime r`,
  },
  {
    name: 'queue_grant',
    holds: 'count tables of the queues are granted to the worker only',
    sql: `with ${runtime} select format('bullmq.%s', relname) as object, (select string_agg(rolname, ', ') || ' can read it'
        from runtime r where rolname <> 'bailiwick_worker' and has_any_column_privilege(r.oid, c.oid, 'SELECT')) as fault
      from pg_class c where relnamespace = to_regnamespace('bullmq') and relkind in ('r', 'p', 'v')`,
  },
  {
    name: 'default_grant',
    holds: 'there are no default grants on objects that later migrations create',
    sql: `select coalesce(n.nspname, 'all schemas') as object, format('%s is granted to %s by default', lower(privilege_type),
        case when grantee = 0 then 'PUBLIC' else grantee::regrole::text end) as fault
      from pg_default_acl d left join pg_namespace n on n.oid = defaclnamespace, aclexplode(defaclacl) g
      where defaclobjtype in ('r', 'S', 'n') and grantee <> defaclrole`,
  },
  {
    name: 'secret_column',
    holds: 'count columns with hashes and encrypted secrets can be read only by the roles that need them',
    sql: `with ${runtime} select c.relname || '.' || attname as object, (select string_agg(rolname, ', ') || ' can read it'
        from runtime r where has_column_privilege(r.oid, c.oid, attnum, 'SELECT')
          and not coalesce($1::jsonb -> (c.relname || '.' || attname) ? rolname, false)) as fault
      from pg_attribute a join pg_class c on c.oid = attrelid
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and attnum > 0 and not attisdropped
        and c.oid <> all (${newerTables}) and (attname ~ '(^|_)(hash|hashes|sealed|secret|secrets)$' or $1::jsonb ? (c.relname || '.' || attname))`,
    values: [JSON.stringify(secretReaders)],
  },
  {
    name: 'trigger',
    holds: 'count tables have no trigger, which would run unseen and which a distributed table cannot have',
    sql: `with ${tables} select name as object, (select 'has the trigger ' || string_agg(tgname, ', ') from pg_trigger
        where tgrelid = t.oid and not tgisinternal) as fault from tables t where judged`,
  },
]
