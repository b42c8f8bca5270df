import { randomBytes, randomUUID } from 'node:crypto'
import { clientIdOf, readClientId } from '../../src/oauth/clients/client-id.ts'
import type { Service } from '../helpers/service.ts'
import { callback } from '../oauth/relying-party.ts'
import { expect } from '../tenancy/staff.ts'
import { type Estate, openEstate, stillWorks } from './applications.ts'
import type { Attack, Tally } from './attack.ts'
import { nameOf, routesOf } from './route-addresses.ts'

// What belongs to the applications of another tenant must look as if it did not exist: each of its ids and secrets is answered as
// an unknown one, byte for byte.

export const openidForeign: Attack = {
  name: 'openid-foreign',
  about: 'clients, grants, codes, tokens and resources of another tenant',
  async run(stage, tally) {
    const service = await stage.fresh({ workers: false, env: { RATE_LIMIT_ENABLED: 'false' } })
    const [own, theirs] = [await openEstate(service), await openEstate(service)]
    await idsAtRoutes(tally, service, own, theirs)
    for (let round = 0; round < stage.pick(1, 2, 5); round++)
      await secretsAtEndpoints(tally, service, own, theirs)
    for (const estate of [own, theirs]) await stillWorks(tally, service, estate)
  },
}

const uuids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|bwa_\w+/g

async function idsAtRoutes(tally: Tally, service: Service, own: Estate, theirs: Estate) {
  const list = async (path: string): Promise<string[]> =>
    (await expect(200, theirs.owner.get(path))).results.map(({ id }: { id: string }) => id)
  const clients = await list('/api/v1/oauth-clients/')
  const rows = clients.map((id) => readClientId(id)!.id)
  const ids = [
    ...clients,
    ...rows,
    ...rows.map((id) => clientIdOf({ tenantId: own.owner.tenantId, id })),
    ...(await list('/api/v1/oauth-grants/')),
    ...(await list('/api/v1/users/me/authorizations/')),
    ...(await list(`/api/v1/oauth-clients/${theirs.shop.client.id}/secrets/`)),
    theirs.resource.id,
    theirs.owner.id,
    theirs.owner.tenantId,
  ]
  const routes = routesOf(service).filter(({ path }) => /oauth-|authorizations/.test(path))
  const bodies = [{}, { name: 'Theirs', is_active: false, client_ids: [theirs.shop.client.id] }]
  for (const { method, path } of routes) {
    const at = (id: string) => `${path.replace(':id', id).replace(':sid', id)}/`
    const places = path.includes(':')
      ? [at]
      : method === 'GET'
        ? ['client_id', 'user_id', 'search', 'cursor'].map((name) => (id: string) => `${path}/?${name}=${id}`)
        : []
    for (const place of places)
      for (const body of method === 'GET' || method === 'DELETE' ? [undefined] : bodies) {
        const ask = async (id: string) => {
          const { status, body: said } = await service.call(method, place(id), {
            token: own.owner.access,
            body,
          })
          return `${status} ${JSON.stringify(said)
            .replaceAll(uuids, '<id>')
            .replace(/"instance":"[^"]*"/, '')}`
        }
        const unknown = [
          await ask(randomUUID()),
          await ask(clientIdOf({ tenantId: randomUUID(), id: randomUUID() })),
        ]
        for (const id of ids) {
          const said = await ask(id)
          const isSame = unknown.includes(said)
          tally.count(
            `${nameOf({ method, path })} with ${id}`,
            isSame ? null : `${said.slice(0, 200)}, not ${unknown}`,
          )
        }
      }
  }
}

/** A value that looks like another one, and was never given. */
const strange = (value: string) =>
  value.startsWith('urn:')
    ? `urn:ietf:params:oauth:request_uri:${randomBytes(32).toString('base64url')}`
    : value.includes('.')
      ? `${value.slice(0, -20)}${randomBytes(15).toString('base64url')}`
      : randomBytes(Math.ceil(value.length * 0.75))
          .toString('base64url')
          .slice(0, value.length)

async function secretsAtEndpoints(tally: Tally, service: Service, own: Estate, theirs: Estate) {
  const { code, verifier } = await theirs.newCode()
  const secrets = {
    ...theirs.secrets,
    code,
    secret: theirs.shop.secret,
    resource: theirs.resource.identifier,
  }
  const callers: Record<string, [headers: Record<string, string>, fields: Record<string, string>]> = {
    shop: [{ Authorization: own.basic }, {}],
    page: [{}, { client_id: own.page.client.id }],
    tv: [{}, { client_id: own.tv.client.id }],
  }
  const asked = {
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid',
    client_id: own.shop.client.id,
  }
  const device = 'urn:ietf:params:oauth:grant-type:device_code'
  const refresh = { grant_type: 'refresh_token', refresh_token: own.secrets.refresh }
  type Form = [path: string, fields: (value: string) => Record<string, string>]
  const forms: Form[] = [
    [
      '/oauth/token',
      (code) => ({ grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier }),
    ],
    ['/oauth/token', (refresh_token) => ({ grant_type: 'refresh_token', refresh_token })],
    ['/oauth/token', (refresh_token) => ({ grant_type: 'refresh_token', refresh_token, scope: 'openid' })],
    ['/oauth/token', (device_code) => ({ grant_type: device, device_code })],
    ['/oauth/token', (device_code) => ({ grant_type: device, scope: 'openid', device_code })],
    ['/oauth/token', (resource) => ({ ...refresh, refresh_token: strange(own.secrets.refresh), resource })],
    ['/oauth/token', (resource) => ({ grant_type: 'client_credentials', resource })],
    ['/oauth/introspect', (token) => ({ token })],
    ['/oauth/introspect', (token) => ({ token, token_type_hint: 'refresh_token' })],
    ['/oauth/introspect', (token) => ({ token, token_type_hint: 'access_token' })],
    ['/oauth/revoke', (token) => ({ token })],
    ['/oauth/revoke', (token) => ({ token, token_type_hint: 'refresh_token' })],
    ['/oauth/par', (request_uri) => ({ ...asked, request_uri })],
    ['/oauth/par', (resource) => ({ ...asked, resource })],
    ['/oauth/par', (organization) => ({ ...asked, organization })],
    ['/oauth/par', (id_token_hint) => ({ ...asked, id_token_hint })],
    ['/oauth/device_authorization', (resource) => ({ scope: 'openid', resource })],
  ]
  const pages: Form[] = [
    ['/oauth/authorize', (request_uri) => ({ client_id: own.shop.client.id, request_uri })],
    ['/oauth/authorize', (organization) => ({ ...asked, organization })],
    ['/oauth/authorize', (id_token_hint) => ({ ...asked, id_token_hint, prompt: 'none' })],
    ['/oauth/authorize', (resource) => ({ ...asked, resource })],
    ['/oauth/logout', (id_token_hint) => ({ id_token_hint, client_id: own.shop.client.id })],
    ['/oauth/logout', (after) => ({ after })],
  ]
  const compare = async (what: string, value: string, ask: (value: string) => Promise<Response>) => {
    const said = async (value: string) => {
      const answer = await ask(value)
      const text = `${answer.status} ${answer.headers.get('location')} ${await answer.text()}`
      return text
        .replaceAll(encodeURIComponent(value), '<asked>')
        .replaceAll(value, '<asked>')
        .replace(/[\w-]{43,}/g, '<unique>')
        .replace(uuids, '<id>')
        .replace(/nonce-[^']*/g, '')
    }
    const [foreign, unknown] = [await said(value), await said(strange(value))]
    tally.count(what, foreign === unknown ? null : `${foreign.slice(-900)}, not ${unknown.slice(-900)}`)
  }
  for (const [kind, value] of Object.entries(secrets)) {
    for (const [name, [headers, more]] of Object.entries(callers))
      for (const [path, fields] of forms)
        await compare(`${name}: ${kind} at ${path} as ${Object.keys(fields('')).at(-1)}`, value, (value) =>
          fetch(service.url + path, {
            method: 'POST',
            headers,
            body: new URLSearchParams({ ...fields(value), ...more }),
          }),
        )
    for (const [path, fields] of pages)
      for (const Cookie of ['', own.cookie])
        await compare(`${kind} at ${path} as ${Object.keys(fields('')).at(-1)}`, value, (value) =>
          fetch(`${service.url}${path}?${new URLSearchParams(fields(value))}`, {
            headers: { Cookie },
            redirect: 'manual',
          }),
        )
    for (const path of ['/oauth/userinfo', '/api/v1/users/me/'])
      if (!['access', 'apiToken', 'machineToken'].includes(kind))
        await compare(`${kind} at ${path}`, value, (value) =>
          fetch(service.url + path, { headers: { Authorization: `Bearer ${value}` } }),
        )
  }
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: callback,
    code_verifier: verifier,
  })
  const exchanged = await fetch(`${service.url}/oauth/token`, {
    method: 'POST',
    headers: { Authorization: theirs.basic },
    body,
  })
  tally.check(exchanged.status === 200, `a code that others tried still works (${await exchanged.text()})`)
}
