import type { Mutation } from './mutation.ts'
import { applicationsMutations } from './mutations/applications.ts'
import { factorsMutations } from './mutations/factors.ts'
import { federationMutations } from './mutations/federation.ts'
import { impersonationsMutations } from './mutations/impersonations.ts'
import { requestsMutations } from './mutations/requests.ts'
import { sessionsMutations } from './mutations/sessions.ts'
import { tenantsMutations } from './mutations/tenants.ts'

/** Every mistake that an attack has to find. One whose text is gone from the code needs a new text here. */
export const mutations: readonly Mutation[] = [
  ...sessionsMutations,
  ...factorsMutations,
  ...impersonationsMutations,
  ...tenantsMutations,
  ...requestsMutations,
  ...applicationsMutations,
  ...federationMutations,
]
