/** What an attribute can be declared as. */
export const dataTypes = ['string', 'integer', 'number', 'boolean', 'datetime', 'ip', 'array'] as const
export type DataType = (typeof dataTypes)[number]

/** The declared type of each attribute a policy may name, keyed `<category>.<key>`. */
export type AttributeCatalogue = ReadonlyMap<string, { readonly type: DataType }>

export type Scalar = string | number | boolean

/** One comparison, as a policy's author wrote it. */
export interface ConditionLeaf {
  attribute: string
  operator: Operator
  value?: Scalar | Scalar[]
  value_from?: string
}

/** The source tree of a policy's condition. An empty `all` or `none` holds, an empty `any` does not. */
export type Condition = { all: Condition[] } | { any: Condition[] } | { none: Condition[] } | ConditionLeaf

const either = ['exists', 'not_exists'] as const
const equality = ['eq', 'ne'] as const
const order = ['lt', 'lte', 'gt', 'gte', 'between'] as const
const membership = ['in', 'not_in'] as const

/** The operators of each declared type. */
export const operatorsByType = {
  string: [...either, ...equality, ...membership, 'contains', 'starts_with', 'ends_with', 'matches'],
  integer: [...either, ...equality, ...membership, ...order],
  number: [...either, ...equality, ...membership, ...order],
  boolean: [...either, ...equality],
  datetime: [...either, ...equality, ...order],
  ip: [...either, ...equality, 'in_cidr', 'not_in_cidr'],
  array: [...either, 'contains', 'contains_any', 'contains_all', 'subset_of'],
} as const satisfies Record<DataType, readonly string[]>

export type Operator = (typeof operatorsByType)[DataType][number]
