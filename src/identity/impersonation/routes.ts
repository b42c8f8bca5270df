import { z } from 'zod'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { written } from '../../request/body/known-members.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route } from '../../request/route.ts'
import { memberResource } from '../../tenancy/members/member-schemas.ts'
import { findMember } from '../../tenancy/members/store.ts'
import { handOut } from '../sign-in/outcome.ts'
import { impersonate } from './impersonate.ts'

const reason = z
  .string('Give the reason as text.')
  .trim()
  .min(10, 'Give the reason in at least 10 characters. The member reads it.')
  .max(500, 'Give the reason in 500 characters at most.')

export const impersonationRoutes = (deps: Deps): Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/tenants/:id/members/:mid/impersonate',
    action: 'member:impersonate',
    scope: 'inside',
    tag: 'Members',
    summary: 'Act as a member for 15 minutes',
    description:
      'For support. The member is mailed the reason, and each audit row and event names both. The token permits nothing that you lack, and no changes of account, factors, sessions or keys. It ends with your session. Needs a second factor in the last 10 minutes.',
    // `expires_in` cannot be chosen.
    body: written(z.object({ reason }), { shownAs: z.object({}) }),
    status: 200,
    answer: z
      .object({ access: z.string(), expires_in: z.int().meta({ description: 'Seconds' }) })
      .meta({ id: 'Impersonation' }),
    refusals: [409],
    secret: true,
    load: async (tx, { caller, params }) => {
      await lockTenant(tx, caller.tenantId)
      return findMember(tx, caller.tenantId, pathId(params.mid))
    },
    resource: memberResource,
    act: async (tx, { caller, body }, member) =>
      handOut(await impersonate(tx, deps, caller, member, body.reason)),
  }),
]
