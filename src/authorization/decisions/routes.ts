import { z } from 'zod'
import { decisionKinds } from '../../database/decision-kind.ts'
import type { Deps } from '../../deps.ts'
import { uncountedPageOf } from '../../lists/lists.ts'
import { timestamp } from '../../request/body/schemas.ts'
import { type Route, route } from '../../request/route.ts'
import {
  effectSchema,
  hintsShape,
  matchedSchema,
  obligationSchema,
  reasonSchema,
  shadowSchema,
} from './answer-schemas.ts'
import { explainDecision } from './explain-decision.ts'
import { loadDecision, pageOfDecisions, readableDecision, readsAll, showDecision } from './read-decisions.ts'
import { decisionList } from './store.ts'
import { unmetSchema } from './unmet-policies.ts'

const decisionSchema = z
  .object({
    id: z.uuid(),
    kind: z.enum(decisionKinds).meta({ description: 'See the filter of the list' }),
    effect: effectSchema,
    action: z.string(),
    resource: z.object({ type: z.string(), id: z.string().nullable() }),
    subject: z.object({ id: z.string(), email: z.string().nullable() }),
    reasons: z.array(reasonSchema),
    matched: z.array(matchedSchema).meta({
      description: 'The policies that contributed; empty for callers who cannot read all decisions',
    }),
    shadow: z.array(shadowSchema).meta({
      description: 'Policies in shadow mode that would have had a part; empty for the same callers',
    }),
    obligations: z.array(obligationSchema),
    policy_revision: z.int(),
    request_id: z.string(),
    at: timestamp,
  })
  .meta({ id: 'Decision' })

const explained = decisionSchema
  .extend({
    ...hintsShape,
    explanation: z.array(z.string()).meta({ description: 'Why, in sentences' }),
    trace: z.array(z.unknown()).meta({
      description:
        'The condition of each matched policy, with the values that it was compared with. Policies that you cannot read are left out, and those that compare what you cannot read of the member or the registered resource',
    }),
    unmet_policies: z.array(unmetSchema).meta({
      description:
        'Of a denial by roles: allow policies for the action that are in force now and do not apply; 10 at most. Empty for callers who cannot read all decisions',
    }),
  })
  .meta({ id: 'ExplainedDecision' })

const tag = 'Decisions'
const one = '/api/v1/decisions/:id'

export const decisionRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/decisions',
    action: 'decision:list',
    readAction: 'decision:read',
    fromReplica: true,
    tag,
    summary: 'List decisions, newest first',
    description:
      'Denials and changes are kept, up to `LIMIT_DECISIONS_PER_DAY`, and a sample of allowed reads. Members see the decisions about themselves. Questions are left out unless `kind` asks for them.',
    query: decisionList.query,
    status: 200,
    answer: uncountedPageOf(decisionSchema),
    handle: ({ caller, query }) => pageOfDecisions(deps, caller, query),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'decision:read',
    tag,
    summary: 'Read a decision',
    status: 200,
    answer: decisionSchema,
    load: loadDecision,
    resource: readableDecision,
    handle: ({ caller }, row) => showDecision(row, readsAll(caller), caller.userId),
  }),
  route({
    method: 'GET',
    path: `${one}/explain`,
    action: 'decision:explain',
    readAction: 'decision:read',
    tag,
    summary: 'Explain a decision',
    status: 200,
    answer: explained,
    load: loadDecision,
    resource: readableDecision,
    handle: ({ caller }, row) => explainDecision(deps, caller, { row, whole: readsAll(caller) }),
  }),
]
