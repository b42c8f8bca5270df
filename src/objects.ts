import { authorizationObjects } from './authorization/objects.ts'
import { eventObjects } from './events/objects.ts'
import { identityObjects } from './identity/objects.ts'
import type { ObjectFinders } from './platform/find-object.ts'
import { tenancyObjects } from './tenancy/objects.ts'

/** Finds the objects that evaluation requests ask about, by resource type. */
export const serviceObjects: ObjectFinders = {
  ...tenancyObjects,
  ...identityObjects,
  ...authorizationObjects,
  ...eventObjects,
}
