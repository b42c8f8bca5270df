import type pg from 'pg'
import { listPlaces } from '../cluster/distribution.ts'
import { withConnection } from '../executor/with-connection.ts'
import { type RoleUrls, rolesOf } from '../migrate/migrate.ts'
import { findNewerSchema, listKnownTables, type NewerSchema } from '../migrate/newer-schema.ts'
import { type CatalogueCheck, catalogueChecks, movedTables, newerTables } from './isolation-catalogue.ts'
import { exemptTables, frozenPolicies, tablesOfPeople } from './isolation-policies.ts'

/** A fault that could show one tenant's rows to another: the check that found it, the object, and what is wrong. */
export interface Fault {
  check: string
  object: string
  detail: string
}

/** The result of one check: the sentence that is true when `faults` is empty, with the number of objects checked. */
export interface Inspection {
  check: string
  holds: string
  faults: Fault[]
}

/**
 * Checks that the logins in a process's addresses, and the catalogue of their database, isolate tenants. It connects as
 * the run-time roles themselves, because every role can read the catalogue. Throws when one of them cannot connect.
 */
export async function inspectIsolation(urls: Partial<RoleUrls>): Promise<Inspection[]> {
  const inspections = rolesOf(urls).map(([role, url], index) =>
    withConnection(url, 'bailiwick-isolation', (client) => inspectConnection(client, role, index === 0)),
  )
  return (await Promise.all(inspections)).flat()
}

/** Checks the login of one connection and, `withCatalogue`, the catalogue of its database. Leaves a transaction open. */
export async function inspectConnection(
  client: pg.ClientBase,
  role: keyof RoleUrls,
  withCatalogue: boolean,
): Promise<Inspection[]> {
  const login = await inspectLogin(client, `bailiwick_${role}`)
  if (!withCatalogue) return [login]
  // One snapshot, so that a concurrent migration is seen completely or not at all.
  await client.query('begin isolation level repeatable read read only')
  return [login, ...(await inspectCatalogue(client))]
}

/** The faults only. A process that serves tenants refuses to start with any. */
export async function checkIsolation(urls: Partial<RoleUrls>): Promise<Fault[]> {
  return (await inspectIsolation(urls)).flatMap((inspection) => inspection.faults)
}

/** Checks the catalogue through `client`, which can have any role and must be in a transaction. */
export async function inspectCatalogue(client: pg.ClientBase): Promise<Inspection[]> {
  // Printed expressions then name each table's schema, so a table of the same name in another schema cannot replace it.
  await client.query('set local search_path to pg_catalog')
  const newer = await findNewerSchema(client)
  const skipped = newer.tables.map(({ oid }) => Number(oid))
  const inspections = [await inspectTables(client), await inspectPolicies(client, skipped)]
  const moved = (await listPlaces(client)).filter(({ actual }) => actual !== 'coordinator')
  const names = {
    [newerTables]: `'{${skipped}}'::oid[]`,
    [movedTables]: `'{${moved.map(({ table }) => table)}}'::text[]`,
  }
  for (const check of catalogueChecks) inspections.push(await inspect(client, check, names))
  return newer.migrations.length > 0 ? [reportNewerSchema(newer), ...inspections] : inspections
}

const newerSchema = 'newer_schema'

/** The sentence that names the tables of a newer release, which were not checked; undefined when there are none. */
export const newerSchemaNote = (inspections: Inspection[]): string | undefined =>
  inspections.find(({ check }) => check === newerSchema)?.holds

function reportNewerSchema({ migrations, tables }: NewerSchema): Inspection {
  const names = tables.map(({ name }) => name).join(', ')
  const holds = `The schema is newer than this release (${migrations.join(', ')}): ${tables.length} tables not checked${names && `, ${names}`}`
  return report(newerSchema, holds, [])
}

/** Also checks a newer schema: a renamed table would not be checked, and another object could take its place. */
async function inspectTables(client: pg.ClientBase): Promise<Inspection> {
  const { rows } = await client.query<{ object: string; fault: string | null }>(
    `select known as object, case when c.oid is null then 'is missing' when relkind not in ('r', 'p') then 'is not a table' end as fault
     from unnest($1::text[]) as known left join pg_class c on relname = known and relnamespace = 'public'::regnamespace`,
    [await listKnownTables()],
  )
  const found = rows.flatMap(({ object, fault }) => (fault ? [{ object, detail: fault }] : []))
  return report('known_table', `${rows.length} tables are those that the migrations created`, found)
}

/** `lists`: what stands for the placeholders of the statements. */
async function inspect(
  client: pg.ClientBase,
  check: CatalogueCheck,
  lists: Record<string, string>,
): Promise<Inspection> {
  const text = Object.entries(lists).reduce((whole, [from, to]) => whole.replaceAll(from, to), check.sql)
  const { rows } = await client.query<{ object: string; fault: string | null }>(text, check.values)
  const found = rows.flatMap(({ object, fault }) => (fault ? [{ object, detail: fault }] : []))
  return report(check.name, check.holds.replace('count', String(rows.length)), found)
}

const report = (check: string, holds: string, found: Omit<Fault, 'check'>[]): Inspection => ({
  check,
  holds,
  faults: found.map(({ object, detail }) => ({ check, object, detail })),
})

interface Login {
  login: string
  acts_as: string
  roles: string[]
  powers: string[]
  owned: number
  scope: string
}

/** A login must be the expected role or a member of that role only, and must not preset a scope. */
async function inspectLogin(client: pg.ClientBase, role: string): Promise<Inspection> {
  const { rows } = await client.query<Login>(loginQuery)
  const { login, acts_as, roles, powers, owned, scope } = rows[0]!
  const unexpected = roles.filter((name) => name !== role && name !== login)
  const details = [
    ...powers.map((power) => `has ${power}`),
    ...(acts_as === login ? [] : [`acts as ${acts_as}`]),
    ...(roles.includes(role) ? [] : [`is not a member of ${role}`]),
    ...(unexpected.length > 0 ? [`is a member of ${unexpected.join(', ')}`] : []),
    ...(owned > 0 ? [`owns ${owned} objects`] : []),
    ...(scope === ''
      ? []
      : ['starts with a scope: app.tenant_id, app.user_id or app.purged_tenant_id is set for it']),
  ]
  const found = details.map((detail) => ({ object: login, detail }))
  return report('login', `${login} has only the rights of ${role}`, found)
}

const loginQuery = `
  with me as (select oid, rolsuper from pg_roles where rolname = session_user),
    reach as (select r.* from pg_roles r, me where r.oid = me.oid or (not me.rolsuper and pg_has_role(me.oid, r.oid, 'MEMBER')))
  select session_user::text as login, current_user::text as acts_as,
    array(select rolname::text from reach order by rolname) as roles,
    array(select distinct power from reach, lateral (values ('SUPERUSER', rolsuper), ('BYPASSRLS', rolbypassrls),
      ('CREATEROLE', rolcreaterole), ('CREATEDB', rolcreatedb), ('REPLICATION', rolreplication)) as p (power, held)
      where held order by power) as powers,
    (select count(*)::int from pg_shdepend where refclassid = 'pg_authid'::regclass and deptype = 'o'
      and dbid in (0, (select oid from pg_database where datname = current_database())) and refobjid in (select oid from reach)) as owned,
    concat(current_setting('app.tenant_id', true), current_setting('app.user_id', true), current_setting('app.purged_tenant_id', true)) as scope`

interface Policy {
  table: string
  line: string
  columns: string[]
}

/** Every policy must have a form or a frozen line, every frozen line must exist, and no table has two of one form. */
async function inspectPolicies(client: pg.ClientBase, skipped: number[]): Promise<Inspection> {
  const { rows } = await client.query<Policy>(policyQuery, [skipped])
  const found: Omit<Fault, 'check'>[] = []
  const seen = new Map<string, number>()
  for (const policy of rows) {
    const form = formOf(policy)
    if (form) seen.set(form, (seen.get(form) ?? 0) + 1)
    if (form && seen.get(form)! > 1)
      found.push({ object: policy.table, detail: `has a second policy: ${policy.line}` })
    if (!form)
      found.push({ object: policy.table, detail: `has a policy beyond the frozen list: ${policy.line}` })
  }
  const tables = [...new Set(rows.map((row) => row.table))].filter((name) => !(name in exemptTables))
  const needed = [...frozenPolicies, ...tables.map((name) => `${name} ${ownerForm}`)]
  for (const line of needed.filter((line) => !seen.has(line)))
    found.push({ object: line.split(' ')[0]!, detail: `lacks a policy of the frozen list: ${line}` })
  return report('policy', `${rows.length} policies are in the tenant or user form, or frozen`, found)
}

const ownerForm = 'owner_all: all to bailiwick_owner using true check true'

/** The form or frozen line that a policy matches; undefined when it matches none. Policies of one form share a name. */
function formOf({ table, line, columns }: Policy): string | undefined {
  if (frozenPolicies.includes(line) || line === `${table} ${ownerForm}`) return line
  const expression = scopeExpression(table, columns)
  return line.endsWith(`: all to bailiwick_api using ${expression} check ${expression}`)
    ? `${table} api`
    : undefined
}

/** The tenant form for tables of tenants, the user form for tables of users, as pg_get_expr prints them. */
function scopeExpression(table: string, columns: string[]): string {
  const is = (column: string, setting: string) =>
    `(${column} = (NULLIF(current_setting('${setting}'::text, true), ''::text))::uuid)`
  if (table === 'tenants') return is('id', 'app.tenant_id')
  if (table === 'users') return is('id', 'app.user_id')
  const ofPerson = table in tablesOfPeople || !columns.includes('tenant_id')
  return ofPerson ? is('user_id', 'app.user_id') : is('tenant_id', 'app.tenant_id')
}

const policyQuery = `
  select c.relname::text as table,
    array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns,
    concat(c.relname, ' ', polname, ': ', case when not polpermissive then 'restrictive ' end,
      case polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end, ' to ',
      (select string_agg(case when role = 0 then 'PUBLIC' else pg_get_userbyid(role)::text end, ', ' order by role) from unnest(polroles) as role),
      ' using ' || regexp_replace(pg_get_expr(polqual, polrelid), '\\s+', ' ', 'g'),
      ' check ' || regexp_replace(pg_get_expr(polwithcheck, polrelid), '\\s+', ' ', 'g')) as line
  from pg_policy join pg_class c on c.oid = polrelid where c.oid <> all ($1::oid[]) order by line`
