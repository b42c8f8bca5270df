import type { Obligation } from '../access/policy-document.ts'
import { insufficientAuthentication } from '../errors.ts'
import type { Standing } from './actor.ts'

/**
 * Carries out `step_up {max_age}`: 401 (RFC 9470 §3) unless this session showed a second factor, `max_age` seconds
 * ago at most where that is given. `now` in ms.
 */
export function assertSteppedUp(
  obligations: readonly Obligation[],
  { acr, secondFactorAt }: Standing['session'],
  now: number,
): void {
  const demands = obligations.filter(({ type }) => type === 'step_up')
  if (demands.length === 0) return
  const maxAge = Math.min(...demands.map(({ properties }) => Number(properties?.max_age ?? Infinity)))
  if (acr === 'aal2' && secondFactorAt !== null && now - secondFactorAt <= maxAge * 1000) return
  throw insufficientAuthentication(
    'aal2',
    Number.isFinite(maxAge) ? maxAge : null,
    'A policy asks for a second factor first: POST /api/v1/auth/otp/verify/.',
  )
}

/** Carries out `mask_fields {fields}`: gives the answer with those fields null; `a.b` is b inside a. */
export function masked(answer: unknown, obligations: readonly Obligation[]): unknown {
  const paths = obligations
    .filter(({ type }) => type === 'mask_fields')
    .flatMap(({ properties }) => (properties?.fields ?? []) as string[])
  return paths.reduce((shown, path) => without(shown, path.split('.')), answer)
}

function without(value: unknown, [key = '', ...rest]: string[]): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return value
  const inner = (value as Record<string, unknown>)[key]
  return { ...value, [key]: rest.length === 0 ? null : without(inner, rest) }
}
