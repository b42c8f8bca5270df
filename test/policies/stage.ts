import { builtInAttributes } from '../../src/policy-engine/catalogue/built-in-attributes.ts'
import { compilePolicy } from '../../src/policy-engine/compile/compile-policy.ts'
import type { SlicePolicy } from '../../src/policy-engine/compile/compiled-policy.ts'
import type { DataType } from '../../src/policy-engine/compile/conditions.ts'
import type { Departments } from '../../src/policy-engine/compile/departments.ts'
import type { PolicyDocument, PolicySource } from '../../src/policy-engine/compile/policy-document.ts'
import { buildSlice } from '../../src/policy-engine/compile/slice.ts'
import type { ApplicationQuery, SentAttributes } from '../../src/policy-engine/evaluate/query.ts'

export const now = Date.UTC(2026, 6, 6, 10, 30)
export const person = '018f0000-0000-7000-8000-0000000000a1'
export const department = '018f0000-0000-7000-8000-0000000000d1'

export type Written = Partial<PolicySource> & Pick<PolicySource, 'effect'>
export type Built = SlicePolicy & { document: PolicyDocument }

/** Compiled policies, by default on `doc:read`, with the built-in attributes and these. The id of a role is its name. */
export function built(policies: readonly Written[], attributes: Record<string, DataType> = {}): Built[] {
  const own = Object.entries(attributes).map(([name, type]) => [name, { type }] as const)
  const catalogue = new Map<string, { type: DataType }>([...builtInAttributes, ...own])
  return policies.map((written, index) => {
    const source = { ...plain, ...written }
    const result = compilePolicy(source, { attributes: catalogue, role: (name) => name })
    if ('faults' in result) throw new Error(JSON.stringify([source, result.faults]))
    const { policy: compiled, document } = result
    return { id: `p${index}`, version: 1, name: `P${index}`, priority: 0, compiled, document }
  })
}

const plain: Omit<PolicySource, 'effect'> = {
  resource_types: [],
  actions: ['doc:read'],
  valid_from: null,
  valid_until: null,
  subjects: undefined,
  conditions: undefined,
  approval: undefined,
  obligations: undefined,
}

/** An application's question about a member with the role `reader`, with the attributes that it sends. */
export function question(
  policies: readonly SlicePolicy[],
  sent: SentAttributes = {},
  departments: Departments | null = null,
): ApplicationQuery {
  const membership = {
    id: 'm',
    status: 'active' as const,
    systemRoles: [],
    roleIds: ['reader'],
    permissions: [],
    departmentId: department,
    joinedAt: now - 86_400_000,
  }
  return {
    application: true,
    requestId: 'request',
    now,
    phase: 'resource',
    subject: {
      type: 'user',
      id: person,
      email: 'ann@example.com',
      emailVerified: true,
      tenantId: 'tenant',
      membership,
      session: null,
    },
    tenant: { id: 'tenant', status: 'active', requireMfa: false },
    action: 'doc:read',
    resource: { type: 'doc', id: 'd1', tenantId: 'tenant', ownerId: null },
    environment: { ip: '::ffff:10.1.2.3', userAgent: 'curl' },
    slice: buildSlice('tenant', 1, policies, departments),
    sent,
  }
}
