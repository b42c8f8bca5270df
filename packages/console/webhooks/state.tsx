import type { Webhook } from '@bailiwick/client'
import { Badge } from '../parts/button.tsx'
import { texts } from './texts.ts'

export type State = keyof typeof texts.state

/** What a webhook does now: its owner paused it, the service disabled it, or its last attempt failed. */
export function stateOf({ is_active, status, last_success_at, last_failure_at }: Webhook): State {
  if (!is_active) return 'paused'
  if (status === 'disabled') return 'disabled'
  return last_failure_at !== null && last_failure_at > (last_success_at ?? '') ? 'failing' : 'active'
}

const tones = { active: 'good', paused: undefined, failing: 'warn', disabled: 'danger' } as const

export function StateBadge({ webhook }: { webhook: Webhook }) {
  const state = stateOf(webhook)
  return <Badge tone={tones[state]}>{texts.state[state]}</Badge>
}

/** The host of an address, for texts that have little room. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)
