import type { Draft } from './policy-body.ts'
import type { PolicyRow, Rules } from './store.ts'

/** A stored policy in the form in which one is written. */
export function draftOf({ rules, ...row }: PolicyRow): Draft & Rules {
  const { name, description, kind, effect, actions, resource_types, mode, priority } = row
  const { valid_from, valid_until, is_active } = row
  return {
    name,
    description,
    kind,
    effect,
    actions,
    resource_types,
    mode,
    priority,
    valid_from,
    valid_until,
    is_active,
    ...rules,
  }
}
