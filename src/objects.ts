import { authorizationObjects } from './authorization/objects.ts'
import { eventObjects } from './events/objects.ts'
import { identityObjects } from './identity/objects.ts'
import type { ObjectFinders } from './platform/find-object.ts'
import { tenancyObjects } from './tenancy/objects.ts'

/** How the objects of the service are found, for questions about any of them. */
export const serviceObjects: ObjectFinders = {
  ...tenancyObjects,
  ...identityObjects,
  ...authorizationObjects,
  ...eventObjects,
}
