import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders } from '../../lists/find-object.ts'
import type { ObjectListers } from '../../lists/list-objects.ts'
import type { Bearer } from '../../request/caller.ts'
import { type Route, route } from '../../request/route.ts'
import { accessResource } from '../evaluation/evaluate.ts'
import { findEntities, knownSubject } from '../evaluation/load-evaluations.ts'
import { findActionSearch, searchActions } from './search-actions.ts'
import { searchResources, withoutResource } from './search-resources.ts'
import { actionSearch, resourceSearch, subjectSearch } from './search-schemas.ts'
import { findSearchedObject, searchSubjects } from './search-subjects.ts'
import { subjectIdFor, withShownNames } from './shown-names.ts'

const entity = z.object({ type: z.string(), id: z.string() })

const pageOfResults = <T extends z.ZodType>(result: T) =>
  z.object({
    page: z.object({
      next_token: z.string().meta({ description: 'For the next page; empty at the end' }),
      count: z.int().meta({ description: 'Results in this answer; it can be fewer than `limit`' }),
    }),
    results: z.array(result),
    context: z.object({ policy_revision: z.int() }),
  })

const tag = 'Evaluation'
const paging =
  'Continue with `page.token` until `page.next_token` is empty; a page can be shorter than its limit. A token belongs to the caller, the question and the revision of the policies: after a change of policies it is 400, `outdated`.'

export const searchRoutes = (deps: Deps, objects: ObjectFinders, lists: ObjectListers): Route[] => {
  const scopeOf = ({ tenantId, userId }: Bearer) => ({ tenantId, userId, now: deps.clock() })
  return [
    route({
      method: 'POST',
      path: '/access/v1/search/subject',
      action: 'access:evaluate',
      tag,
      summary: 'Search for the subjects that are permitted to do something',
      description: `AuthZEN 1.0. Of type \`user\`: all members, named as the setting \`subject_id\` of the tenant says. Of a type of your application: the \`candidates\` that you name, and the ids that policies name. ${paging}`,
      body: subjectSearch,
      status: 200,
      answer: pageOfResults(entity),
      load: async (read, { caller, body }) => {
        const [{ object }, subjectId] = await Promise.all([
          findSearchedObject(read, objects, scopeOf(caller), body),
          subjectIdFor(read, caller.tenantId, body.subject.type),
        ])
        return { object, subjectId }
      },
      resource: () => accessResource(null),
      handle: async ({ caller, body }, { object, subjectId }) =>
        withShownNames(deps, caller, subjectId, await searchSubjects(deps, caller, object, body)),
    }),
    route({
      method: 'POST',
      path: '/access/v1/search/resource',
      action: 'access:evaluate',
      tag,
      summary: 'Search for the resources on which a subject is permitted to do something',
      description: `AuthZEN 1.0. Of a type of this service: the objects of the tenant. Of a type of your application: the \`candidates\` that you name, and the ids that policies name. ${paging}`,
      body: resourceSearch,
      status: 200,
      answer: pageOfResults(entity),
      load: async (read, { caller, body }) => {
        const [entities, subjectId] = await Promise.all([
          findEntities(read, {}, scopeOf(caller), [withoutResource(body)]),
          subjectIdFor(read, caller.tenantId, body.resource.type),
        ])
        return { entities, subjectId }
      },
      resource: ({ entities }, { caller, body }) => accessResource(knownSubject(entities, caller, body)),
      handle: async ({ caller, body }, { entities, subjectId }) =>
        withShownNames(deps, caller, subjectId, await searchResources(deps, lists, caller, entities, body)),
    }),
    route({
      method: 'POST',
      path: '/access/v1/search/action',
      action: 'access:evaluate',
      tag,
      summary: 'Search for the actions that a subject is permitted to do on a resource',
      description: `AuthZEN 1.0. The actions of this service on the type, and those of your application that policies or roles name. \`name\` is the verb of an action of the type, \`properties.permission\` the whole action. ${paging}`,
      body: actionSearch,
      status: 200,
      answer: pageOfResults(
        z.object({
          name: z.string().meta({ description: 'The verb of an action of the type, else `resource:verb`' }),
          properties: z.object({
            permission: z.string().meta({ description: 'The action in full, as roles and policies name it' }),
          }),
        }),
      ),
      load: (read, { caller, body }) => findActionSearch(read, objects, scopeOf(caller), body),
      resource: ({ entities }, { caller, body }) => accessResource(knownSubject(entities, caller, body)),
      handle: ({ caller, body }, found) => searchActions(deps, caller, found, body),
    }),
  ]
}
