import { z } from 'zod'
import { isStorable } from '../../src/request/change/stored-call.ts'
import type { Route } from '../../src/request/route.ts'

// biome-ignore lint/suspicious/noExplicitAny: a JSON Schema, and JSON of any shape
type Json = any

/**
 * What no answer may contain: SQL, a stack, the name of a constraint, table or role, a hash, a path of a machine. The name of a
 * constraint is a whole word of small letters: a random token can end in `_IDx`.
 */
export const leak =
  /\b(select|insert into|update|delete from)\b.*\b(from|set|values|where)\b|\n\s+at |(?<![\w-])(?!(?-i:api_key)\b)(?-i:[a-z][a-z0-9_]*_(pkey|fkey|key|check|idx))(?![\w-])|\bbailiwick_(api|system|worker|owner)\b|\$argon2|slonik|SQLSTATE|PostgresError|node_modules|file:\/\/\/|relation "/i

/**
 * Makes a function that checks an answer against its documented schema, or against the form of all errors. It gives the
 * fault, or null when there is none.
 */
export function answerJudge(routes: readonly Route[]) {
  const known = routes.map((route) => ({
    route,
    pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}/?$`, 'i'),
  }))
  return (method: string, path: string, status: number, text: string): string | null => {
    const pathname = path.split('?')[0] ?? ''
    if (/^\/(api|access|scim)\//.test(pathname) && leak.test(text))
      return `reveals internals: ${leak.exec(text)?.[0]}`
    if (status >= 400) return (pathname.startsWith('/scim') ? scimFault : errorFault)(status, text)
    const literal = known.filter(({ route, pattern }) => route.method === method && pattern.test(pathname))
    const found = literal.find(({ route }) => !route.path.includes(':')) ?? literal[0]
    if (!found) return null
    const { route } = found
    if (status === 202 && isStorable(route)) return null
    if (status !== route.status && !(route.creates && status === 201) && !(route.finds && status === 200))
      return `answers ${status}, which is documented as ${route.status}`
    if (route.answer === null) return text === '' ? null : 'has a body, although none is documented'
    const body = JSON.parse(text)
    const result = route.answer.safeParse(body)
    if (!result.success) return `does not match its schema: ${z.prettifyError(result.error)}`
    const schema = schemaOf(route.answer)
    const surplus = undocumented(schema, schema, body, '')
    return surplus.length > 0 ? `has members that no schema names: ${surplus.join(', ')}` : null
  }
}

const schemas = new WeakMap<z.ZodType, Json>()

function schemaOf(answer: z.ZodType): Json {
  const schema = schemas.get(answer) ?? z.toJSONSchema(answer, { io: 'input', unrepresentable: 'any' })
  schemas.set(answer, schema)
  return schema
}

const problem = z.looseObject({
  type: z.string(),
  title: z.string().min(1),
  status: z.int(),
  detail: z.string().min(1),
  code: z.string().regex(/^[a-z_]+$/),
  instance: z.string().min(1),
  errors: z.array(z.object({ field: z.string(), code: z.string(), detail: z.string() }).loose()).optional(),
})

function errorFault(status: number, text: string): string | null {
  if (text === '') return null // the answer to HEAD
  const result = problem.safeParse(JSON.parse(text))
  if (!result.success) return `is not a problem of RFC 9457: ${z.prettifyError(result.error)}`
  const { type, code, status: told } = result.data
  if (type !== `urn:bailiwick:error:${code}`) return `has the type ${type} and the code ${code}`
  return told === status ? null : `says ${told} in an answer of ${status}`
}

const scimError = z.strictObject({
  schemas: z.tuple([z.literal('urn:ietf:params:scim:api:messages:2.0:Error')]),
  status: z.string(),
  scimType: z
    .string()
    .regex(/^[a-zA-Z]+$/)
    .optional(),
  detail: z.string().min(1),
})

/** The fault of an error below `/scim/` (RFC 7644 §3.12). */
function scimFault(status: number, text: string): string | null {
  const result = scimError.safeParse(JSON.parse(text))
  if (!result.success) return `is no error of SCIM: ${z.prettifyError(result.error)}`
  return result.data.status === String(status) ? null : `says ${result.data.status} in an answer of ${status}`
}

/** Members of a body that its schema does not name, such as a column that was exposed by mistake. */
function undocumented(root: Json, schema: Json, value: Json, at: string): string[] {
  if (schema.$ref) return undocumented(root, definition(root, schema.$ref), value, at)
  if (typeof value !== 'object' || value === null) return []
  const forms = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (forms) {
    const found: string[][] = forms.map((form: Json) => undocumented(root, form, value, at))
    return found.sort((a, b) => a.length - b.length)[0] ?? []
  }
  if (Array.isArray(value))
    return schema.items ? value.flatMap((item) => undocumented(root, schema.items, item, `${at}[]`)) : []
  return Object.entries(value).flatMap(([name, item]) => {
    const member = schema.properties?.[name]
    if (member) return undocumented(root, member, item, `${at}.${name}`)
    return schema.properties && !schema.additionalProperties ? [`${at}.${name}`] : []
  })
}

const definition = (root: Json, ref: string): Json =>
  ref === '#'
    ? root
    : ref
        .split('/')
        .slice(1)
        .reduce((node, step) => node[step], root)
