import { unavailable } from '../../../errors.ts'

/** 503: a tenant's Rego module gave no answer in time, so that nothing can be said. */
export const moduleLate = () =>
  unavailable('policy_timeout', 'The module of a policy was not ready in time. Ask again.', 1)
