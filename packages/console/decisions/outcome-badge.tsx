import type { Decision } from '@bailiwick/client'
import { EffectBadge } from '../policies/badges.tsx'
import { texts } from './texts.ts'

/** The outcome of a decision; of a question, what the outcome would be. */
export const OutcomeBadge = ({ kind, effect }: Pick<Decision, 'kind' | 'effect'>) => (
  <EffectBadge effect={effect} words={kind === 'request' ? texts.outcomes : texts.ofQuestions} />
)
