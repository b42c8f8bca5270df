import type { Attack } from './attack.ts'
import { crossTenant } from './cross-tenant.ts'
import { roleMatrix } from './role-matrix.ts'
import { verbSweep } from './verb-sweep.ts'

/** Every attack, in the order in which they run. */
export const attacks: readonly Attack[] = [crossTenant, roleMatrix, verbSweep]
