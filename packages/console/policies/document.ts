import type { Policy, PolicyVersion } from '@bailiwick/client'
import { writeJson } from '../editor/write-json.ts'

export type Effect = Policy['effect']

/** A policy as its author writes it: without the members that have their default. */
export type Document = Record<string, unknown>

/** The members of a policy with their defaults, in the order in which they are written. */
const members: [name: string, standard: unknown][] = [
  ['name', undefined],
  ['description', ''],
  ['kind', 'json'],
  ['effect', undefined],
  ['actions', undefined],
  ['resource_types', []],
  ['subjects', {}],
  ['conditions', null],
  ['module', null],
  ['approval', {}],
  ['obligations', []],
  ['mode', 'enforce'],
  ['priority', 0],
  ['valid_from', null],
  ['valid_until', null],
  ['is_active', true],
]

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** A stored condition with the members of each comparison in the order in which people write them. */
function inOrder(condition: unknown): unknown {
  if (Array.isArray(condition)) return condition.map(inOrder)
  if (typeof condition !== 'object' || condition === null) return condition
  const { attribute, operator, ...rest } = condition as Document
  if (attribute !== undefined) return { attribute, operator, ...rest }
  return Object.fromEntries(Object.entries(condition).map(([kind, parts]) => [kind, inOrder(parts)]))
}

/** The document of a stored policy or version. */
export function documentOf(policy: Policy | PolicyVersion): Document {
  const { subjects } = policy
  const named = Object.fromEntries(Object.entries(subjects).filter(([, ids]) => ids.length > 0))
  const all: Document = {
    ...policy,
    subjects: named,
    conditions: inOrder(policy.conditions),
    approval: policy.effect === 'require_approval' ? policy.approval : {},
  }
  const shown = members.filter(([name, standard]) => !same(all[name], standard))
  return Object.fromEntries(shown.map(([name]) => [name, all[name]]))
}

/** A document as the body of a write: a member that was deleted gets its default again. */
export function bodyOf(document: Document): Document {
  const defaults = Object.fromEntries(members.filter(([, standard]) => standard !== undefined))
  return { ...defaults, ...document }
}

export const textOf = (document: Document): string => writeJson(document)

/** The document in a text; null if it is no JSON object. */
export function documentIn(text: string): Document | null {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** Sets a member of a document; its default removes it. The order of the members stays. */
export function withMember(document: Document, name: string, value: unknown): Document {
  const standard = members.find(([known]) => known === name)?.[1]
  const changed = { ...document, [name]: value }
  const order = [...new Set([...members.map(([known]) => known), ...Object.keys(changed)])]
  const kept = order.filter((one) => one in changed && !(one === name && same(value, standard)))
  return Object.fromEntries(kept.map((one) => [one, changed[one]]))
}

export const isRego = (document: Document | null): boolean => document?.kind === 'rego'

export const newDocument: Document = { name: '', effect: 'deny', actions: [] }

/** Whether a policy can be checked or tried. A new one, which has no id, has to differ from {@link newDocument}. */
export const isBegun = (id: string | null, document: Document | null): document is Document =>
  document !== null && (id !== null || !same(document, newDocument))

export const listOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
export const objectOf = (value: unknown): Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Document) : {}
