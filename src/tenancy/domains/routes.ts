import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { pathId } from '../../request/path-id.ts'
import { type LoadTarget, type Route, route, type Target } from '../../request/route.ts'
import { assertFree, createDomain } from './create-domain.ts'
import { removeDomain } from './delete-domain.ts'
import {
  domainChange,
  domainResource,
  domainSchema,
  loanSchema,
  newDomain,
  newLoan,
  showDomain,
} from './domain-schemas.ts'
import { assertBorrower, endLoan, lendDomain } from './lend-domain.ts'
import { countDomains, domainList, findDomain, listDomains, lockDomain } from './store.ts'
import { updateDomain } from './update-domain.ts'
import { assertRecord, verifyDomain } from './verify-domain.ts'

const tag = 'Domains'
const all = '/api/v1/domains'
const one = `${all}/:id`
const loans = `${one}/loans`

const domains = (deps: Deps) =>
  listing(deps, {
    path: all,
    list: domainList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listDomains(read, tenantId, page), countDomains(read, tenantId, page)),
    show: showDomain,
  })

const keyOf = ({ caller, params }: LoadTarget | Target) => ({
  tenantId: caller.tenantId,
  id: pathId(params.id),
})
const loadDomain = (read: Read, target: LoadTarget) => findDomain(read, keyOf(target))
const lockedDomain = (tx: Tx, target: Target) => lockDomain(tx, keyOf(target))

export const domainRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'domain:list',
    readAction: 'domain:read',
    tag,
    summary: 'List the domains of your tenant',
    status: 200,
    answer: pageOf(domainSchema),
    ...domains(deps),
  }),
  route({
    method: 'POST',
    path: all,
    action: 'domain:create',
    tag,
    summary: 'Claim a domain of e-mail addresses',
    description:
      'Add the `record` of the answer to the DNS, and [verify](#tag/Domains) the domain. A claim hinders no other tenant; 409 `domain_taken` if one has verified it. A domain in which anybody can have an address, such as `gmail.com` or `co.uk`, is refused.',
    body: newDomain,
    status: 201,
    answer: domainSchema,
    refusals: [409],
    prepare: ({ caller, body }) => assertFree(deps, caller, body),
    act: async (tx, { caller, body }) => showDomain(await createDomain(tx, deps, caller, body)),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'domain:read',
    tag,
    summary: 'Read a domain',
    status: 200,
    answer: domainSchema,
    versioned: true,
    load: loadDomain,
    resource: domainResource,
    handle: (_input, row) => new Versioned(row.version, showDomain(row)),
  }),
  route({
    method: 'PATCH',
    path: one,
    action: 'domain:update',
    tag,
    summary: 'Change what a domain does',
    body: domainChange,
    status: 200,
    answer: domainSchema,
    versioned: true,
    load: lockedDomain,
    resource: domainResource,
    act: async (tx, input, row) => showDomain(await updateDomain(tx, deps, input.caller, row, input)),
  }),
  route({
    method: 'DELETE',
    path: one,
    action: 'domain:delete',
    tag,
    summary: 'Give a domain up',
    description: 'Its loans end, and other tenants can verify it.',
    status: 204,
    answer: null,
    versioned: true,
    load: lockedDomain,
    resource: domainResource,
    act: (tx, { caller, ifMatch }, row) => removeDomain(tx, deps, caller, row, ifMatch),
  }),
  route({
    method: 'POST',
    path: `${one}/verify`,
    action: 'domain:verify',
    tag,
    summary: 'Verify a domain by its record in the DNS',
    description:
      '409 `invalid_state` without the record, and `domain_taken` if another tenant was first. The record is looked for daily from then on: leave it there. Without it for 14 days, the domain is `lost`.',
    status: 200,
    answer: domainSchema,
    refusals: [409],
    load: lockedDomain,
    resource: domainResource,
    prepare: (_input, row) => assertRecord(deps, row),
    act: async (tx, { caller }, row) => showDomain(await verifyDomain(tx, deps, caller, row)),
  }),
  route({
    method: 'GET',
    path: loans,
    action: 'domain:read',
    tag,
    summary: 'List the tenants that a domain is lent to',
    status: 200,
    answer: z.object({ results: z.array(loanSchema) }),
    load: loadDomain,
    resource: domainResource,
    handle: (_input, { lent_to }) => ({ results: lent_to.map((tenant) => ({ tenant })) }),
  }),
  route({
    method: 'POST',
    path: loans,
    action: 'domain:update',
    tag,
    summary: 'Lend a domain to another tenant',
    description:
      'Sign-ins with its addresses can go on at the connections of that tenant, too. It does not become the owner, and your domain stays yours.',
    body: newLoan,
    status: 201,
    answer: loanSchema,
    refusals: [409],
    load: lockedDomain,
    resource: domainResource,
    prepare: ({ caller, body }) => assertBorrower(deps, caller, body.tenant),
    act: async (tx, { caller, body }, row) => {
      await lendDomain(tx, deps, caller, row, body.tenant)
      return body
    },
  }),
  route({
    method: 'DELETE',
    path: `${loans}/:tenant`,
    action: 'domain:update',
    tag,
    summary: 'End the loan of a domain',
    status: 204,
    answer: null,
    load: lockedDomain,
    resource: domainResource,
    act: (tx, { caller, params }, row) => endLoan(tx, deps, caller, row, pathId(params.tenant)),
  }),
]
