import { batchBody, evaluationBody, opaBatch, opaQuestion } from './evaluation.ts'
import { callerOf } from './recordings.ts'
import type { Account, Load, ServerName } from './stage.ts'

/** A measurement: a server under a load. `over`: the suite by whose rate this suite's rate is divided. */
export interface Suite {
  name: string
  about: string
  server: ServerName
  over?: string
  /** Its requests use tokens up. */
  spends?: boolean
  load(accounts: Account[]): Omit<Load, 'seconds' | 'url'>
}

const json = { 'content-type': 'application/json' }
const credentials = ({ email, password }: Account) => JSON.stringify({ email, password })

const readMe = (accounts: Account[]) =>
  ({
    method: 'GET',
    path: '/api/v1/users/me/',
    accounts: accounts.map(({ access }) => ({ headers: { authorization: `Bearer ${access}` }, body: '' })),
  }) as const

const readMeWithKey = (accounts: Account[]) => ({
  ...readMe(accounts),
  accounts: accounts.map(({ key }) => ({ headers: { authorization: `Bearer ${key}` }, body: '' })),
})

const bearer = ({ access }: Account) => ({ authorization: `Bearer ${access}` })

const readMembers = (accounts: Account[]) => ({
  method: 'GET' as const,
  path: '/',
  accounts: accounts.map((account) => ({
    headers: bearer(account),
    body: '',
    path: `/api/v1/tenants/${callerOf(account).tenantId}/members/`,
  })),
})

const rotate = (accounts: Account[]) => ({
  method: 'POST' as const,
  path: '/api/v1/auth/refresh/',
  accounts: accounts.map(({ refresh }) => ({ headers: json, body: JSON.stringify({ refresh }) })),
  follows: true,
})

const switchTenant = (accounts: Account[]) => ({
  method: 'POST' as const,
  path: '/api/v1/auth/switch-tenant/',
  accounts: accounts.map((account) => ({
    headers: { ...json, ...bearer(account) },
    body: JSON.stringify({ tenant_id: callerOf(account).tenantId }),
  })),
})

/** A request to the service, and the same statements by hand on node:http. */
function besideHand(name: string, about: string, load: Suite['load']): Suite[] {
  return [
    {
      name: `${name}-by-hand`,
      about: `the statements of ${name} on node:http, with jose`,
      server: 'hand',
      load,
    },
    { name, about, server: 'api', over: `${name}-by-hand`, load, spends: name === 'refresh' },
  ]
}

export const suites: Suite[] = [
  {
    name: 'opa',
    about: 'the question of `evaluation` to `opa run --server`: no authentication, no tenants, no log',
    server: 'opa',
    load: (accounts) => {
      const { body } = opaQuestion()
      const path = '/v1/data/authz/decision'
      return { method: 'POST', path, accounts: accounts.map(() => ({ headers: json, body })) }
    },
  },
  {
    name: 'evaluation',
    about: 'POST /access/v1/evaluation: AuthZEN, ten policies in the tenant of each client',
    server: 'api',
    over: 'opa',
    load: (accounts) => ({
      method: 'POST',
      path: '/access/v1/evaluation',
      accounts: accounts.map(({ access }) => ({
        headers: { ...json, authorization: `Bearer ${access}` },
        body: evaluationBody,
      })),
    }),
  },
  ...[20, 1_000].flatMap(batchesOf),
  ...besideHand('me', 'GET /users/me/: token, session, membership, decision, rows under RLS', readMe),
  {
    name: 'me-with-key',
    about: 'the same with an API key instead of an access token',
    server: 'api',
    over: 'me',
    load: readMeWithKey,
  },
  ...besideHand('members', 'GET /tenants/<id>/members/: the same, and a list of one', readMembers),
  ...besideHand('refresh', 'POST /auth/refresh/: rotation and commit, each token once', rotate),
  ...besideHand('switch', 'POST /auth/switch-tenant/: new tokens, an audit row', switchTenant),
  {
    name: 'verify',
    about: 'argon2id only: a minimal endpoint with the same library, parameters and concurrency limit',
    server: 'bare',
    load: (accounts) => ({
      method: 'POST',
      path: '/',
      accounts: accounts.map((account) => ({ headers: json, body: credentials(account) })),
    }),
  },
  {
    name: 'login',
    about: 'POST /auth/login/: password, session, tokens, event',
    server: 'api',
    over: 'verify',
    load: (accounts) => ({
      method: 'POST',
      path: '/api/v1/auth/login/',
      accounts: accounts.map((account) => ({ headers: json, body: credentials(account) })),
    }),
  },
]

/** The same questions in one request of this many. Multiply the rate by the size for decisions per second. */
function batchesOf(size: number): Suite[] {
  return [
    {
      name: `opa-${size}`,
      about: `${size} questions in one request to \`opa run --server\``,
      server: 'opa',
      load: (accounts) => {
        const body = opaBatch(size)
        const path = '/v1/data/batch/decisions'
        return { method: 'POST', path, accounts: accounts.map(() => ({ headers: json, body })) }
      },
    },
    {
      name: `batch-${size}`,
      about: `POST /access/v1/evaluations: ${size} questions in one request`,
      server: 'api',
      over: `opa-${size}`,
      load: (accounts) => ({
        method: 'POST',
        path: '/access/v1/evaluations',
        accounts: accounts.map(({ access }) => ({
          headers: { ...json, authorization: `Bearer ${access}` },
          body: batchBody(size),
        })),
      }),
    },
  ]
}
