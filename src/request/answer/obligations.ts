import { type ApiError, insufficientAuthentication } from '../../errors.ts'
import type { Obligation } from '../../policy-engine/compile/policy-document.ts'
import type { AuthContext } from '../caller.ts'

type Session = AuthContext['session']

/**
 * A step-up that policies require before they permit. `maxAge` is in seconds (null: any age). `possible` is false when
 * this session can never meet it.
 */
export interface StepUp {
  acr: 'aal1' | 'aal2'
  maxAge: number | null
  possible: boolean
}

/** The part of a value that may be shown, or the step-up that the session needs for it. */
export type Applied = { shown: unknown } | { due: StepUp }

/**
 * Applies the obligations of an allowing decision to an object or to a row of a list: `step_up` withholds the value,
 * `mask_fields` sets fields to null. `now` is in ms since 1970.
 */
export function applyObligations(
  { obligations }: { readonly obligations: readonly Obligation[] },
  session: Session,
  now: number,
  value: unknown,
): Applied {
  const due = stepUpDue(obligations, session, now)
  return due ? { due } : { shown: withNulls(value, maskedFields(obligations)) }
}

/** The `step_up` that this session does not meet at `now` (ms), or null. Of several, the strictest values count. */
export function stepUpDue(obligations: readonly Obligation[], session: Session, now: number): StepUp | null {
  const demands = obligations
    .filter(({ type }) => type === 'step_up')
    .map(({ properties }) => properties ?? {})
  if (demands.length === 0) return null
  const ages = demands.flatMap(({ max_age }) => (max_age === undefined ? [] : [Number(max_age)]))
  const maxAge = ages.length === 0 ? null : Math.min(...ages)
  const acr = demands.every((demand) => demand.acr === 'aal1') ? 'aal1' : 'aal2'
  const at = authenticatedAt(session, acr)
  if (at !== null && (maxAge === null || now - at <= maxAge * 1000)) return null
  return { acr, maxAge, possible: session.attainableAcr === 'aal2' || session.attainableAcr === acr }
}

/** When the session last met the class (ms since 1970), or null. */
function authenticatedAt({ acr, authTime, secondFactorAt }: Session, asked: StepUp['acr']): number | null {
  if (asked === 'aal1') return Math.max(authTime, secondFactorAt ?? authTime)
  return acr === 'aal2' ? secondFactorAt : null
}

/** 401 (RFC 9470 §3) for a step-up that the caller can meet. */
export const stepUpRequired = ({ acr, maxAge }: StepUp): ApiError =>
  insufficientAuthentication(
    acr,
    maxAge,
    acr === 'aal2'
      ? 'A policy requires a second factor: POST /api/v1/auth/otp/verify/.'
      : 'A policy requires a more recent sign-in: POST /api/v1/auth/login/.',
  )

/** The paths of all fields that `mask_fields` names; `a.b` is field b of a. */
export const maskedFields = (obligations: readonly Obligation[]): string[] =>
  obligations
    .filter(({ type }) => type === 'mask_fields')
    .flatMap(({ properties }) => (properties?.fields ?? []) as string[])

const withNulls = (value: unknown, paths: readonly string[]): unknown =>
  paths.reduce((shown, path) => withNull(shown, path.split('.')), value)

/** Sets the field at `path` to null; in a list, that of each item. */
function withNull(value: unknown, path: string[]): unknown {
  const [key = '', ...rest] = path
  if (Array.isArray(value)) return value.map((item) => withNull(item, path))
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return value
  const inner = (value as Record<string, unknown>)[key]
  return { ...value, [key]: rest.length === 0 ? null : withNull(inner, rest) }
}
