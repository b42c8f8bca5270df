import type { Connection } from '@bailiwick/client'
import { Badge } from '../parts/button.tsx'
import { texts } from './texts.ts'

export type State = keyof typeof texts.states

/** A connection as it was read, with its version. */
export interface Opened {
  body: Connection
  etag: string | null
}

/** How a connection stands: a draft can be `tried`, and the person who activated an active one can have `left`. */
export function stateOf({ status, tested_at: tested, activator_left_at: left }: Connection): State {
  if (status === 'draft' && tested !== null) return 'tried'
  return status === 'active' && left !== null ? 'left' : status
}

const tones = { draft: undefined, tried: 'accent', active: 'good', left: 'warn', disabled: 'warn' } as const

export function StateBadge({ connection }: { connection: Connection }) {
  const state = stateOf(connection)
  return <Badge tone={tones[state]}>{texts.states[state]}</Badge>
}
