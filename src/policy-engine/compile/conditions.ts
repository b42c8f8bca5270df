/** The types of attributes. */
export const dataTypes = ['string', 'integer', 'number', 'boolean', 'datetime', 'ip', 'array'] as const
export type DataType = (typeof dataTypes)[number]

/** The declared type of each attribute that a policy can name, keyed `<category>.<key>`. */
export type AttributeCatalogue = ReadonlyMap<
  string,
  { readonly type: DataType /** null or absent: any value */; readonly allowed?: readonly Scalar[] | null }
>

export type Scalar = string | number | boolean

/** One comparison as the author of a policy wrote it. */
export interface ConditionLeaf {
  attribute: string
  operator: Operator
  value?: Scalar | Scalar[]
  value_from?: string
}

/** A condition as written. An empty `all` or `none` is true, an empty `any` is false. */
export type Condition = { all: Condition[] } | { any: Condition[] } | { none: Condition[] } | ConditionLeaf

const either = ['exists', 'not_exists'] as const
const equality = ['eq', 'ne'] as const
const order = ['lt', 'lte', 'gt', 'gte', 'between'] as const
const membership = ['in', 'not_in'] as const

/** The operators of each declared type. */
export const operatorsByType = {
  string: [
    ...either,
    ...equality,
    ...membership,
    'contains',
    'starts_with',
    'ends_with',
    'matches',
    'in_department',
  ],
  integer: [...either, ...equality, ...membership, ...order],
  number: [...either, ...equality, ...membership, ...order],
  boolean: [...either, ...equality],
  datetime: [...either, ...equality, ...order],
  ip: [...either, ...equality, 'in_cidr', 'not_in_cidr'],
  array: [...either, 'contains', 'contains_any', 'contains_all', 'subset_of'],
} as const satisfies Record<DataType, readonly string[]>

type Operator = (typeof operatorsByType)[DataType][number]
