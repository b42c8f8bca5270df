import type { Attack } from './attack.ts'
import { canaries } from './canaries.ts'
import { consolePages } from './console-pages.ts'
import { credentialKinds } from './credential-kinds.ts'
import { crossSite } from './cross-site.ts'
import { crossTenant } from './cross-tenant.ts'
import { expiry } from './expiry.ts'
import { extraFields } from './extra-fields.ts'
import { guessing } from './guessing.ts'
import { hostileProvider } from './hostile-provider.ts'
import { impersonations } from './impersonations.ts'
import { jwtMatrix } from './jwt-matrix.ts'
import { keys } from './keys.ts'
import { linking } from './linking.ts'
import { malformed } from './malformed.ts'
import { openidEnds } from './openid-ends.ts'
import { openidForeign } from './openid-foreign.ts'
import { openidFuzz } from './openid-fuzz.ts'
import { privileges } from './privileges.ts'
import { races } from './races.ts'
import { roleMatrix } from './role-matrix.ts'
import { rows } from './rows.ts'
import { samlForgeries } from './saml-forgeries.ts'
import { secondFactors } from './second-factors.ts'
import { signInPages } from './sign-in-pages.ts'
import { stateMachines } from './state-machines.ts'
import { timing, timingOfPages } from './timing.ts'
import { verbSweep } from './verb-sweep.ts'

/** Every attack, in the order in which they run. */
export const attacks: readonly Attack[] = [
  crossTenant,
  rows,
  roleMatrix,
  privileges,
  verbSweep,
  jwtMatrix,
  credentialKinds,
  keys,
  impersonations,
  crossSite,
  signInPages,
  secondFactors,
  expiry,
  races,
  guessing,
  timing,
  timingOfPages,
  extraFields,
  canaries,
  consolePages,
  stateMachines,
  malformed,
  openidEnds,
  openidForeign,
  openidFuzz,
  linking,
  hostileProvider,
  samlForgeries,
]
