import type { Deps } from '../deps.ts'
import type { Route } from '../request/route.ts'
import { groupRoutes } from './groups/routes.ts'
import { serviceRoutes } from './schema/routes.ts'
import { searchRoutes } from './search-all.ts'
import { userRoutes } from './users/routes.ts'

/** The routes of SCIM. They are no part of the OpenAPI document: `/scim/v2/Schemas` describes them. */
export const scimRoutes = (deps: Deps): Route[] => [
  ...serviceRoutes(deps),
  ...userRoutes(deps),
  ...groupRoutes(deps),
  ...searchRoutes(deps),
]
