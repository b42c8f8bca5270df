import { isolationSteps } from './isolation-steps.ts'
import { policySteps } from './policy-steps.ts'
import { secondFactorSteps } from './second-factor-steps.ts'
import { signInSteps } from './sign-in-steps.ts'
import { tenantSteps } from './tenant-steps.ts'
import type { Walk } from './walk.ts'

/** One step: its title, one line of explanation, and its calls. */
export interface Step {
  title: string
  why: string
  take(walk: Walk): Promise<void>
}

/** The tour, in order. A new feature adds its steps where a newcomer needs them. */
export const steps: readonly Step[] = [
  ...signInSteps,
  ...secondFactorSteps,
  ...tenantSteps,
  ...policySteps,
  ...isolationSteps,
]
