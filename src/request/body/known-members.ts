import type { ZodType } from 'zod'

/** What a schema does not say of itself. */
interface Written {
  /** A policy: members that it does not know are refused with this code, also in what it contains. */
  refuses?: 'policy_invalid'
  /** For a schema of any value, which is validated later: the form that its author has to keep. */
  as?: ZodType
  /** How answers show it, if not as that of the route does: clients can send back what they have read. */
  shownAs?: ZodType
}

const writings = new WeakMap<ZodType, Written>()

/** The same schema, with what it does not say of itself. `meta` and the like make another one, without it. */
export function written<S extends ZodType>(schema: S, about: Written): S {
  writings.set(schema, about)
  return schema
}

/** The names that a schema knows, at every depth. */
export interface Known {
  refuses: Written['refuses']
  shownAs: Known | null
  /** Of the entries of a list. */
  entries: Known | null
  /** Of the values of an object whose members have any name. */
  values: Known | null
  /** The forms of an object: several for a union, none for what is no object, or has members of any name. */
  readonly forms: readonly KnownObject[]
}

export interface KnownObject {
  members: ReadonlyMap<string, Known>
  /** Members that have one value in this form, such as a `type`. */
  constants: readonly [name: string, value: unknown][]
}

const found = new WeakMap<ZodType, Known>()

/** The names that a schema knows. */
export function knownIn(schema: ZodType): Known {
  const before = found.get(schema)
  if (before) return before
  const { refuses, as, shownAs } = writings.get(schema) ?? {}
  const own: KnownObject[] = []
  // A schema can contain itself, so the forms of its parts are complete only after all of them were read.
  const parts: Known[] = []
  let forms: KnownObject[] | undefined
  const known: Known = {
    refuses,
    shownAs: shownAs ? knownIn(shownAs) : null,
    entries: null,
    values: null,
    get forms() {
      forms ??= [...own, ...parts.flatMap((part) => part.forms)]
      return forms
    },
  }
  found.set(schema, known)
  const def = (as ?? schema)._zod.def as Definition
  if (def.type === 'object' && !def.catchall) own.push(objectOf(def.shape))
  if (def.type === 'array') known.entries = knownIn(def.element)
  if (def.type === 'record') known.values = knownIn(def.valueType)
  for (const part of partsOf(def).map(knownIn)) {
    parts.push(part)
    known.refuses ??= part.refuses
    known.shownAs ??= part.shownAs
    known.entries ??= part.entries
    known.values ??= part.values
  }
  return known
}

interface Definition {
  type: string
  shape: Record<string, ZodType>
  catchall?: ZodType
  element: ZodType
  valueType: ZodType
  options?: ZodType[]
  innerType?: ZodType
  in?: ZodType
  out: ZodType
}

/** The schemas that this one wraps, or unites. What is transformed first has the form of the output. */
function partsOf({ options, innerType, in: first, out }: Definition): ZodType[] {
  if (first) return [first._zod.def.type === 'transform' ? out : first]
  return options ?? (innerType ? [innerType] : [])
}

const objectOf = (shape: Record<string, ZodType>): KnownObject => ({
  members: new Map(Object.entries(shape).map(([name, schema]) => [name, knownIn(schema)])),
  constants: Object.entries(shape).flatMap(([name, schema]) => {
    const { type, values } = schema._zod.def as unknown as { type: string; values: unknown[] }
    return type === 'literal' && values.length === 1 ? [[name, values[0]] as [string, unknown]] : []
  }),
})
