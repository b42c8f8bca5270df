import type { Action, SystemRole } from './actions.ts'

// The words in which the table of actions (actions.ts) is written.

export const noGrants: Action = {
  roles: [],
  own: [],
  self: false,
  open: false,
  unscoped: false,
  gate: false,
  widen: false,
  needsTenant: true,
  whenInactive: false,
  exempt: 'none',
  tokens: ['access', 'key'],
  confined: true,
}

export const sessionOnly: Partial<Action> = { tokens: ['access'] }
export const keysToo: Partial<Action> = { tokens: ['access', 'key'] }

export const granted = (roles: readonly SystemRole[], more?: Partial<Action>): Action => ({
  ...noGrants,
  roles,
  ...more,
})
// What people do with their own account takes a session, so keys cannot; and one of their own, unless the action says otherwise.
export const selfOnly = (more?: Partial<Action>): Action => ({
  ...noGrants,
  self: true,
  confined: false,
  ...sessionOnly,
  ...more,
})

export const anyRole: readonly SystemRole[] = ['owner', 'admin', 'member', 'auditor']
export const managers: readonly SystemRole[] = ['owner', 'admin']
export const readers: readonly SystemRole[] = ['owner', 'admin', 'auditor']
export const owners: readonly SystemRole[] = ['owner']

export const gate = { gate: true }
export const widen = { widen: true }
export const confined = { confined: true }
export const exempt = { exempt: 'everyone' } as const
export const ownerExempt = { exempt: 'owner' } as const
export const tenantless = { needsTenant: false }
// These belong to signing in, so they accept the temporary token too.
export const signIn: Partial<Action> = { tokens: ['access', 'otp_pending'], ...exempt }
