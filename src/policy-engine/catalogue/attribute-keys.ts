const key = '[A-Za-z][A-Za-z0-9_]{0,62}'

/** The form of the key of an attribute. Keys are compared exactly; of a category, no two differ by case alone. */
export const attributeKey = new RegExp(`^${key}$`)
export const attributeKeySentence = 'A key has 1 to 63 of a-z, A-Z, 0-9 and _, and begins with a letter.'

/** The form of the name of an attribute: `<category>.<key>`. */
export const attributeName = new RegExp(`^(subject|resource|action|environment)\\.${key}$`)

// Objects of programs have these, so a program could take one of them for a value.
const reserved: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype), 'prototype'])

/** Whether a key, or the key in the name of an attribute, cannot be used. */
export const isReservedKey = (name: string): boolean => reserved.has(name.slice(name.indexOf('.') + 1))
export const reservedKeySentence = 'This key is reserved. Choose another one.'

/** Keys, or names of attributes, that differ by case alone become equal. The tenant can define only one of them. */
export const withoutCase = (name: string): string => name.toLowerCase()
