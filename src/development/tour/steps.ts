import { isolationSteps } from './isolation-steps.ts'
import { policySteps } from './policy-steps.ts'
import { secondFactorSteps } from './second-factor-steps.ts'
import { signInSteps } from './sign-in-steps.ts'
import { tenantSteps } from './tenant-steps.ts'
import type { Walk } from './walk.ts'

/** One step: its title, one line of why, and the calls it makes. */
export interface Step {
  title: string
  why: string
  take(walk: Walk): Promise<void>
}

/** The tour in order. A feature adds its steps where a newcomer would want them. */
export const steps: readonly Step[] = [
  ...signInSteps,
  ...secondFactorSteps,
  ...tenantSteps,
  ...policySteps,
  ...isolationSteps,
]
