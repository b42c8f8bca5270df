import * as oidc from 'openid-client'
import type { Client, Service } from '../helpers/service.ts'
import {
  type Application,
  authorize,
  basicOf,
  callback,
  openApplication,
  openBrowser,
  openMachine,
  postForm,
  request,
  tokensFor,
} from '../oauth/relying-party.ts'
import { expect } from '../tenancy/staff.ts'
import type { Tally } from './attack.ts'

/** A tenant with applications, and one live secret of each kind that they have. */
export interface Estate {
  owner: Client
  shop: Application
  /** Without a secret: a browser runs it. */
  page: Application
  tv: Application
  machine: Application
  cookie: string
  /** The Authorization header of the shop. */
  basic: string
  /** Two grants: the secrets of the API are of the second one. */
  secrets: {
    access: string
    refresh: string
    idToken: string
    apiToken: string
    deviceCode: string
    userCode: string
    requestUri: string
    machineToken: string
  }
  resource: { id: string; identifier: string }
  /** The verifier of the code that `newCode` gives. */
  newCode(): Promise<{ code: string; verifier: string }>
}

/** Opens the estate of a new owner. */
export async function openEstate(service: Service): Promise<Estate> {
  const owner = await service.signUp()
  const scopes = ['openid', 'profile', 'email', 'offline_access', 'member:list']
  const more = { first_party: true, scopes, post_logout_redirect_uris: [callback] }
  const shop = await openApplication(service, owner, more)
  const page = await openApplication(service, owner, { ...more, kind: 'spa' })
  const tv = await openApplication(service, owner, { kind: 'device', redirect_uris: [] })
  const machine = await openMachine(service, owner)
  const asMachine = { grant_type: 'client_credentials', scope: 'member:list' }
  const ofMachine = await postForm(service, '/oauth/token', asMachine, basicOf(machine))
  const { browser, tokens } = await tokensFor(service, shop, owner)
  const api = `${service.deps.publicUrl()}/api/v1`
  const forApi = await tokensFor(service, shop, owner, { scope: 'openid member:list', resource: api })
  const device = await oidc.initiateDeviceAuthorization(tv.config, { scope: 'openid' })
  const basic = `Basic ${btoa(`${shop.client.id}:${shop.secret}`)}`
  const pushed = await fetch(`${service.url}/oauth/par`, {
    method: 'POST',
    headers: { Authorization: basic },
    body: new URL((await request(shop)).path, service.url).searchParams,
  })
  const identifier = `https://stock.example.com/${owner.tenantId}`
  const resource = await expect(
    201,
    owner.post('/api/v1/oauth-resources/', {
      identifier,
      name: 'Stock',
      scopes: [{ permission: 'member:list', description: 'List members' }],
    }),
  )
  return {
    owner,
    shop,
    page,
    tv,
    machine,
    basic,
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    secrets: {
      access: tokens.access_token,
      refresh: tokens.refresh_token!,
      idToken: tokens.id_token!,
      apiToken: forApi.tokens.access_token,
      deviceCode: device.device_code,
      userCode: device.user_code,
      requestUri: ((await pushed.json()) as { request_uri: string }).request_uri,
      machineToken: ofMachine.body.access_token,
    },
    resource: { id: resource.id, identifier },
    async newCode() {
      const { path, checks } = await request(shop)
      const { searchParams } = await authorize(openBrowser(service), owner, path)
      return { code: searchParams.get('code')!, verifier: checks.pkceCodeVerifier }
    },
  }
}

/** Addresses that look like the registered one and are others. */
export const otherAddresses = [
  callback.toUpperCase(),
  `${callback}/`,
  `${callback}?x=1`,
  `${callback}#x`,
  `${callback}/../evil`,
  `${callback} `,
  callback.replace('https:', 'http:'),
  callback.replace('/callback', ':443/callback'),
  callback.replace('/callback', ':8443/callback'),
  callback.replace('https://', 'https://user@'),
  callback.replace('https://', 'https://app.example.com:x@evil.example/'),
  callback.replace('callback', '%63allback'),
  callback.replace('callback', 'Callback'),
  callback.replace('app.', 'APP.'),
  callback.replace('.com', '.com.'),
  callback.replace('.com', '.com\\@evil.example'),
  callback.replace('.com', '.com.evil.example'),
  'https://evil.example/callback',
  'javascript:alert(1)',
  '//app.example.com/callback',
]

/** Checks what others asked about and tried to end. It uses the refresh token. */
export async function stillWorks(tally: Tally, service: Service, { secrets, basic }: Estate): Promise<void> {
  const userinfo = await fetch(`${service.url}/oauth/userinfo`, {
    headers: { Authorization: `Bearer ${secrets.access}` },
  })
  tally.check(userinfo.status === 200, 'an access token still works')
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: secrets.refresh })
  const refreshed = await fetch(`${service.url}/oauth/token`, {
    method: 'POST',
    headers: { Authorization: basic },
    body,
  })
  tally.check(refreshed.status === 200, 'a refresh token still works')
}
