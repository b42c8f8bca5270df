import { authorizationLists, authorizationObjects } from '../authorization/objects.ts'
import { directoryLists, directoryObjects } from '../directory/objects.ts'
import { eventLists, eventObjects } from '../events/objects.ts'
import { federationLists, federationObjects } from '../federation/objects.ts'
import { identityLists, identityObjects } from '../identity/objects.ts'
import type { ObjectFinders } from '../lists/find-object.ts'
import type { ObjectListers } from '../lists/list-objects.ts'
import { oauthLists, oauthObjects } from '../oauth/objects.ts'
import { tenancyLists, tenancyObjects } from '../tenancy/objects.ts'

/** Finds the objects that evaluation requests ask about, by resource type. */
export const serviceObjects: ObjectFinders = {
  ...tenancyObjects,
  ...identityObjects,
  ...authorizationObjects,
  ...eventObjects,
  ...oauthObjects,
  ...federationObjects,
  ...directoryObjects,
}

/** Lists the objects that searches go through, by resource type. */
export const serviceLists: ObjectListers = {
  ...tenancyLists,
  ...identityLists,
  ...authorizationLists,
  ...eventLists,
  ...oauthLists,
  ...federationLists,
  ...directoryLists,
}
