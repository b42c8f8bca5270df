import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { type Route, route } from '../../request/route.ts'
import { type ActivityDay, countActivity } from './store.ts'

/** The description of `complete` names it too. */
const limit = 20_000

const activity = z
  .object({
    days: z
      .array(
        z.object({
          date: z.iso.date(),
          joined: z.int().meta({ description: 'People who became members and still are' }),
          sign_ins: z.int(),
          failed_sign_ins: z.int(),
          denials: z.int().meta({ description: 'Requests that were denied; questions do not count' }),
        }),
      )
      .meta({ description: 'The last seven days of the time zone of the tenant, the oldest first' }),
    complete: z.boolean().meta({
      description:
        'false: there was more than the 20,000 newest events, denials or members that were counted',
    }),
  })
  .meta({ id: 'Activity' })

const showActivity = (days: readonly ActivityDay[]): z.output<typeof activity> => ({
  days: days.map(({ scanned: _scanned, ...day }) => day),
  complete: days.every(({ scanned }) => scanned < limit),
})

export const activityRoutes = (deps: Pick<Deps, 'clock'>): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/activity',
    action: 'audit:list',
    tag: 'Audit log',
    summary: 'Count sign-ins, denials and new members of the last seven days',
    status: 200,
    answer: activity,
    scansRows: true,
    load: (read, { caller }) => countActivity(read, caller.tenantId, { now: deps.clock(), limit }),
    handle: (_input, days) => showActivity(days),
  }),
]
