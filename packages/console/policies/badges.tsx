import type { Policy } from '@bailiwick/client'
import { Badge } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import type { Effect } from './document.ts'
import { texts } from './texts.ts'

const looks = {
  allow: { tone: 'good', icon: 'check' },
  deny: { tone: 'danger', icon: 'close' },
  require_approval: { tone: 'warn', icon: 'approve' },
} as const

/** An effect, told apart by word and sign, not by colour alone. */
export function EffectBadge({
  effect,
  words = texts.effects,
}: {
  effect: Effect
  words?: Record<Effect, string>
}) {
  const { tone, icon } = looks[effect]
  return (
    <Badge tone={tone}>
      <Icon name={icon} size={12} />
      {words[effect]}
    </Badge>
  )
}

/** Whether a policy decides: enforced, only recorded, or off. */
export function StateBadge({ policy }: { policy: Pick<Policy, 'is_active' | 'mode' | 'module_off_at'> }) {
  if (!policy.is_active) return <Badge>{texts.off}</Badge>
  if (policy.module_off_at) return <Badge tone="danger">{texts.moduleOff}</Badge>
  return policy.mode === 'shadow' ? (
    <Badge tone="warn">{texts.modes.shadow}</Badge>
  ) : (
    <Badge tone="good">{texts.enforced}</Badge>
  )
}
