import { z } from 'zod'
import { nilUuid } from '../crypto/uuid.ts'
import { readAsSystem, readInTenant } from '../database/executor/read.ts'
import { asSystem } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import { type PageRequest, requestIn } from '../pages/sign-in/brand.ts'
import type { PageDeps } from '../pages/sign-in/calls.ts'
import { type Shown, signedIn, type Visit } from '../pages/sign-in/visit.ts'
import { whyStopped } from './access/decide-access.ts'
import { type ClientKey, isOfManifest, readClientId } from './clients/client-id.ts'
import { redirectHost } from './clients/client-schemas.ts'
import { findUsableClient } from './clients/store.ts'
import { interactionSeconds } from './provider.ts'
import { findModel, putModel } from './store.ts'

const interaction = z.looseObject({
  params: z.looseObject({
    client_id: z.string(),
    redirect_uri: z.string().optional(),
    scope: z.string().default(''),
    resource: z.union([z.string(), z.array(z.string())]).optional(),
    prompt: z.string().optional(),
    organization: z.string().optional(),
    connection: z.string().optional(),
    login_hint: z.string().optional(),
    domain_hint: z.string().optional(),
    max_age: z.union([z.string(), z.number()]).optional(),
  }),
  /** The row of the device that waits, in place of a redirect URI. */
  deviceCode: z.string().optional(),
  prompt: z.looseObject({
    /** `tenantId`: for which tenant the person is asked for consent. */
    details: z.looseObject({ ...whyStopped.partial().shape, tenantId: z.string().optional() }),
  }),
  lastSubmission: z.looseObject({}).optional(),
})

const reason = 'a request of an application names its tenant'

/** The request of an application at this address; null when it is over, or the address is another. */
export async function findWaiting(deps: Pick<Deps, 'db' | 'clock'>, returnTo: string | null) {
  const uid = /^\/oauth\/(?:authorize|device)\/([\w-]{1,64})$/.exec(returnTo ?? '')?.[1]
  const row =
    uid && (await readAsSystem(deps.db, reason, (read) => findModel(read, 'Interaction', uid, deps.clock())))
  const payload = row ? interaction.parse(row.payload) : null
  const key = payload && readClientId(payload.params.client_id)
  const scope = key && { tenantId: key.tenantId, userId: nilUuid }
  const client = scope && (await readInTenant(deps.db, scope, (read) => findUsableClient(read, key)))
  return uid && payload && key && client
    ? { uid, payload, key, client, ...pageRequest(payload, key, client) }
    : null
}

/** What the pages of the sign-in ask of a request. */
function pageRequest(
  { params }: z.output<typeof interaction>,
  { id, tenantId }: ClientKey,
  { name, branding }: Pick<PageRequest, 'name' | 'branding'>,
): PageRequest {
  const { prompt = '', max_age: maxAge, organization, connection } = params
  return {
    name,
    branding,
    tenantId: isOfManifest(id) ? null : tenantId,
    organization,
    connection,
    loginHint: params.login_hint,
    domainHint: params.domain_hint,
    isFresh: maxAge !== undefined || prompt.split(' ').includes('login'),
  }
}

/** The request of an application that a page answers, at the end of `return_to`. Throws 400 when it is over. */
export async function waitingRequest(deps: PageDeps, visit: Visit): Promise<Waiting> {
  // It is the one of findWaiting, which the pages have read for their look.
  const waiting = (await requestIn(deps, visit)) as Waiting | null
  if (!waiting) throw new ApiError(400, 'request_over', visit.texts.consent.gone)
  return waiting
}

type Waiting = NonNullable<Awaited<ReturnType<typeof findWaiting>>>

/** Where a request leads, as a person reads it. */
export const hostOf = ({ payload: { params } }: Waiting, { device }: Visit['texts']): string =>
  params.redirect_uri === undefined ? device.yours : redirectHost(params.redirect_uri)

/** Writes what the person chose into the request, and leads back to it. */
export async function answerRequest(
  deps: PageDeps,
  visit: Visit,
  { uid, payload, key }: Waiting,
  result: object,
): Promise<Shown> {
  const at = deps.clock()
  await asSystem(deps.db, reason, async (tx) =>
    putModel(tx, {
      kind: 'Interaction',
      id: uid,
      client: key,
      payload: { ...payload, result },
      at,
      expiresAt: at + interactionSeconds * 1000,
    }),
  )
  return signedIn(visit)
}

/** The person goes back to the application without what it asked for. */
export const goBack = { error: 'access_denied', error_description: 'The person did not get in' }
