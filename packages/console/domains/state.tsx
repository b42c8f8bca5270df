import type { Domain } from '@bailiwick/client'
import { Badge } from '../parts/button.tsx'
import { texts } from './texts.ts'

export type State = 'pending' | 'verified' | 'missing' | 'lost'

/** How a domain stands: a verified one whose record is away is `missing` until it is lost. */
export const stateOf = ({ status, missing_since: since }: Domain): State =>
  status === 'verified' && since !== null ? 'missing' : status

const tones = { pending: undefined, verified: 'good', missing: 'warn', lost: 'danger' } as const

export function StateBadge({ domain }: { domain: Domain }) {
  const state = stateOf(domain)
  return <Badge tone={tones[state]}>{texts.states[state]}</Badge>
}
