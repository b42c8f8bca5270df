import { type ActionName, actionNames, actions, type SystemRole, systemRoles } from '../catalogue/actions.ts'
import { emptySlice } from '../compile/slice.ts'
import type { AccessEngine } from '../evaluate/engine.ts'
import type { DecisionQuery } from '../evaluate/query.ts'

const now = Date.UTC(2026, 0, 1)

/** A valid query: an active member acts on an object of their tenant. */
export function roleQuery(action: ActionName, roles: SystemRole[], ownerId: string | null): DecisionQuery {
  const membership = {
    id: 'membership',
    status: 'active' as const,
    systemRoles: roles,
    roleIds: [],
    permissions: [],
    departmentId: null,
    joinedAt: now,
  }
  const session = {
    id: 'session',
    acr: 'aal1' as const,
    amr: ['pwd'],
    authTime: now,
    token: 'access' as const,
  }
  const email = 'ann@example.com'
  return {
    requestId: 'request',
    now,
    phase: ownerId === null ? 'route' : 'resource',
    subject: { type: 'user', id: 'me', email, emailVerified: true, tenantId: 'tenant', membership, session },
    tenant: { id: 'tenant', status: 'active', requireMfa: false },
    action,
    resource: { type: action.split(':')[0] as string, id: null, tenantId: 'tenant', ownerId },
    environment: { ip: null, userAgent: null },
    slice: emptySlice('tenant', 1),
  }
}

/**
 * What each system role can do, as a Markdown table of the engine's decisions, for reviews of diffs. `x` means any
 * object, `own` only the member's own. The last role column is a member without a system role.
 */
export function roleTable(engine: AccessEngine): string {
  const head = [
    'action',
    ...systemRoles,
    'no system role',
    'gate',
    'widen',
    'no tenant',
    'inactive',
    'otp token',
    'key',
  ]
  const rows = actionNames.map((name) => `| ${[name, ...marks(engine, name), ...flags(name)].join(' | ')} |`)
  const intro = [
    '# Role × action',
    '',
    'Generated from the decisions of the built policies. Do not edit by hand.',
    '',
  ]
  return [...intro, `| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows, ''].join('\n')
}

function marks(engine: AccessEngine, name: ActionName): string[] {
  const columns: SystemRole[][] = [...systemRoles.map((role) => [role]), []]
  return columns.map((roles) => {
    const allowed = (owner: string | null) => engine.decide(roleQuery(name, roles, owner)).effect === 'allow'
    const [route, own, foreign] = [allowed(null), allowed('me'), allowed('someone else')]
    if (!route && (own || foreign)) throw new Error(`${name}: the route refuses what the resource allows`)
    if (foreign) return 'x'
    return own ? 'own' : ''
  })
}

function flags(name: ActionName): string[] {
  const { gate, widen, needsTenant, whenInactive, tokens } = actions[name]
  const accepts = { temporary: tokens.includes('otp_pending'), key: tokens.includes('key') }
  return [gate, widen, !needsTenant, whenInactive, accepts.temporary, accepts.key].map((on) =>
    on ? 'x' : '',
  )
}
