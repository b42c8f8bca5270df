import type pg from 'pg'

/**
 * What the schema public consists of, a line per thing, in order: tables, columns with defaults, constraints, indexes, sequences,
 * functions with their bodies, policies, triggers, owners, grants and comments. The order of columns is left out: statements name
 * them.
 */
export async function catalogueOf(client: pg.ClientBase): Promise<string[]> {
  await client.query("set search_path = ''") // definitions name schemas then
  const { rows } = await client.query<{ line: string }>(statement)
  await client.query('reset search_path')
  return rows.map(({ line }) => line.replace(/\s+/g, ' '))
}

const grants = (name: string, acl: string) => `
  select format('grant %s on %s to %s, option %s', g.privilege_type, ${name}, coalesce(r.rolname, 'public'), g.is_grantable)
  from things, aclexplode(${acl}) g left join pg_roles r on r.oid = g.grantee`

const statement = `
  with things as (
    select c.oid, c.relname, c.relkind, c.relacl, c.relowner, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity
    from pg_catalog.pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
      and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
  ), columns as (
    select t.relname, a.* from things t join pg_attribute a on a.attrelid = t.oid
    where t.relkind <> 'S' and a.attnum > 0 and not a.attisdropped
  ), functions as (
    select p.* from pg_proc p where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
  ), lines as (
    select format('%s %s of %s, persistence %s, row security %s, forced %s', relkind, relname, relowner::regrole, relpersistence,
                  relrowsecurity, relforcerowsecurity) as line from things
    union all ${grants('relname', 'relacl')}
    union all
    select format('column %s.%s %s, not null %s, generated %s, default %s, collation %s', relname, attname,
                  format_type(atttypid, atttypmod), attnotnull, attgenerated, pg_get_expr(d.adbin, d.adrelid), collname)
    from columns left join pg_attrdef d on d.adrelid = attrelid and d.adnum = attnum
    left join pg_collation on pg_collation.oid = attcollation
    union all
    select format('grant %s on %s.%s to %s', g.privilege_type, relname, attname, g.grantee::regrole)
    from columns, aclexplode(attacl) g
    union all
    -- Rows from before a check need not have been scanned for it.
    select format('constraint %s on %s: %s', conname, relname, replace(pg_get_constraintdef(k.oid), ' NOT VALID', ''))
    from pg_constraint k join things t on t.oid = conrelid
    union all
    select pg_get_indexdef(indexrelid) from pg_index join things t on t.oid = indrelid
    union all
    select format('sequence %s: %s', t.relname, to_jsonb(s) - 'seqrelid') from pg_sequence s join things t on t.oid = seqrelid
    union all
    select format('policy %s on %s: %s', p.polname, relname, jsonb_build_array(polpermissive, polcmd,
             (select array_agg(r::regrole::text order by 1) from unnest(polroles) r),
             pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)))
    from pg_policy p join things t on t.oid = polrelid
    union all
    select pg_get_triggerdef(g.oid) from pg_trigger g join things t on t.oid = tgrelid where not tgisinternal
    union all
    select format('%s of %s, %s', pg_get_functiondef(oid), proowner::regrole,
                  (select array_agg(a::text order by a::text) from unnest(proacl) a)) from functions
    union all
    select format('schema of %s, %s', nspowner::regrole, (select array_agg(a::text order by a::text) from unnest(nspacl) a))
    from pg_namespace where nspname = 'public'
    union all
    select format('comment on %s: %s', pg_describe_object(classoid, objoid, objsubid), description) from pg_description
    where objoid in (select oid from things union select oid from functions union select indexrelid from pg_index join things t on t.oid = indrelid)
  )
  select line from lines order by line`
