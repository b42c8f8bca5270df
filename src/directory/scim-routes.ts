import type { Deps } from '../deps.ts'
import type { Route } from '../request/route.ts'
import { serviceRoutes } from './schema/routes.ts'
import { userRoutes } from './users/routes.ts'

/** The routes of SCIM. They are no part of the OpenAPI document: `/scim/v2/Schemas` describes them. */
export const scimRoutes = (deps: Deps): Route[] => [...serviceRoutes(deps), ...userRoutes(deps)]
