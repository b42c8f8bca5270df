import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { type Route, route } from '../../request/route.ts'
import { matchedSchema, reasonSchema } from '../decisions/answer-schemas.ts'
import { accessResource } from '../evaluation/evaluate.ts'
import { findMemberAsSubject, findOwnSubject } from '../evaluation/store.ts'
import { listPermissions, often } from './list-permissions.ts'

const noSuchMember = () =>
  notFound('member_id names no member that you can see. It is the id of the membership, not of the user.')

const answer = z
  .object({
    permissions: z.array(
      z.object({
        permission: z.string().meta({
          description: '`invoice:*` stands for the actions on invoices that no policy and no manifest names',
        }),
        permitted: z.enum(often).meta({
          description:
            '`always`: for every object, in every session; `never`: for none; `sometimes`: it depends on what `depends_on` names',
        }),
        approval: z.enum(often).meta({ description: 'Whether what is permitted also needs an approval' }),
        reasons: z.array(reasonSchema).meta({
          description:
            'Of `always`: why it is permitted; of the others: why it is refused, always or in some cases',
        }),
        matched: z
          .array(matchedSchema)
          .meta({ description: 'The policies with a part in this that you can read' }),
        depends_on: z.array(z.string()).meta({
          description:
            'Attributes of the object, the session, the time or the address that decide; without those of members for callers who can only ask about themselves',
        }),
      }),
    ),
    complete: z.boolean().meta({ description: 'false: there are more than these 1,000 permissions' }),
  })
  .meta({ id: 'MemberPermissions' })

const query = z.object({
  member_id: z
    .string()
    .toLowerCase()
    .pipe(z.guid('Give member_id as the id of a member.'))
    .optional()
    .meta({
      description: 'The id of the membership; default: yourself. About others it takes access:evaluate',
      override: { type: 'string', format: 'uuid' },
    }),
})

export const permissionRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/permissions',
    action: 'access:evaluate',
    tag: 'Evaluation',
    summary: 'List what a member may do, by roles and policies',
    description:
      'Every permission that a role can give, and those of applications that policies, manifests and the roles of the member name: whether it is permitted always, in some cases or never, as roles and policies are now. It asks about no object, and writes nothing to the log of decisions. Rules of the installation count as they are at this time, with and without a fresh second factor of the person. Members can ask about themselves.',
    query,
    status: 200,
    refusals: [404],
    answer,
    async load(read, { caller: { tenantId, userId }, query: { member_id } }) {
      if (!member_id) return findOwnSubject(read, tenantId, userId)
      const member = await findMemberAsSubject(read, tenantId, member_id)
      if (!member) throw noSuchMember()
      return member
    },
    resource: accessResource,
    handle: ({ caller }, subject) => listPermissions(deps, caller, subject),
  }),
]
