import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ObjectFinders } from '../../platform/find-object.ts'
import { type Route, resourceRoute } from '../../platform/http/route.ts'
import type { ObjectListers } from '../../platform/list-objects.ts'
import { accessResource } from '../evaluation/evaluate.ts'
import { loadActionSearch, searchActions } from './search-actions.ts'
import { actionSearch, resourceSearch, subjectSearch } from './search-question.ts'
import { loadResourceSearch, searchResources } from './search-resources.ts'
import { loadSubjectSearch, searchSubjects } from './search-subjects.ts'

const entity = z.object({ type: z.string(), id: z.string() })

const pageOfResults = <T extends z.ZodType>(result: T) =>
  z.object({
    results: z.array(result),
    page: z.object({
      next_token: z.string().meta({ description: 'For the next page; empty at the end' }),
      count: z.int().meta({ description: 'Results in this answer; it can be fewer than `limit`' }),
    }),
    context: z.object({ policy_revision: z.int() }),
  })

const tag = 'Evaluation'
const paging =
  'Continue with `page.token` until `page.next_token` is empty; a page can be shorter than its limit. A token belongs to the caller, the question and the revision of the policies: after a change of policies it is 400, `outdated`.'

export const searchRoutes = (deps: Deps, objects: ObjectFinders, lists: ObjectListers): Route[] => [
  resourceRoute({
    method: 'POST',
    path: '/access/v1/search/subject',
    action: 'access:evaluate',
    tag,
    summary: 'Search for the subjects that are permitted to do something',
    description: `AuthZEN 1.0. Of type \`user\`: all members. Of a type of your application: the \`candidates\` that you name, and the ids that policies name. ${paging}`,
    body: subjectSearch,
    status: 200,
    answer: pageOfResults(entity),
    load: ({ caller, body }) => loadSubjectSearch(deps, objects, caller, body),
    resource: () => accessResource(null),
    handle: (loaded, { caller, body }) => searchSubjects(deps, caller, loaded, body),
  }),
  resourceRoute({
    method: 'POST',
    path: '/access/v1/search/resource',
    action: 'access:evaluate',
    tag,
    summary: 'Search for the resources on which a subject is permitted to do something',
    description: `AuthZEN 1.0. Of a type of this service: the objects of the tenant. Of a type of your application: the \`candidates\` that you name, and the ids that policies name. ${paging}`,
    body: resourceSearch,
    status: 200,
    answer: pageOfResults(entity),
    load: ({ caller, body }) => loadResourceSearch(deps, caller, body),
    resource: ({ questions: [asked] }) => accessResource(asked?.known),
    handle: (loaded, { caller, body }) => searchResources(deps, lists, caller, loaded, body),
  }),
  resourceRoute({
    method: 'POST',
    path: '/access/v1/search/action',
    action: 'access:evaluate',
    tag,
    summary: 'Search for the actions that a subject is permitted to do on a resource',
    description: `AuthZEN 1.0. The actions of this service on the type, and those of your application that policies or roles name. ${paging}`,
    body: actionSearch,
    status: 200,
    answer: pageOfResults(z.object({ name: z.string() })),
    load: ({ caller, body }) => loadActionSearch(deps, objects, caller, body),
    resource: ({ known }) => accessResource(known),
    handle: (loaded, { caller, body }) => searchActions(deps, caller, loaded, body),
  }),
]
