import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { KnownSubject } from '../evaluation/store.ts'

/** Of these categories, what is known before anyone asks: the time counts as now. */
const known: ReadonlySet<string> = new Set(['resource.type', 'action.name', 'environment.time'])

/** What a person changes by signing in again. */
export const ofSession = ['subject.acr', 'subject.auth_age'] as const
export const isOfSession = (name: string): boolean => (ofSession as readonly string[]).includes(name)

/**
 * Whether an attribute of a member has its value without a request: not the resource, the session, the hour and the address,
 * nor what an application can send where the member has no value.
 */
export function knownAttributes({ membership }: KnownSubject, isOfApplication: boolean) {
  const has = (name: string) => (membership.attributes?.[name.slice('subject.'.length)] ?? null) !== null
  return (name: string): boolean => {
    if (!name.startsWith('subject.')) return known.has(name)
    if (isOfSession(name)) return false
    return builtInAttributes.has(name) || !isOfApplication || has(name)
  }
}
