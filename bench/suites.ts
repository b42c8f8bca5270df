import { batchBody, evaluationBody, opaBatch, opaQuestion } from './evaluation.ts'
import type { Account, Load, ServerName } from './stage.ts'

/** A measurement: a server under a load. `over`: the suite by whose rate this suite's rate is divided. */
export interface Suite {
  name: string
  about: string
  server: ServerName
  over?: string
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
  {
    name: 'by-hand',
    about: 'the work of `me`, written by hand on node:http and pg, in one round trip',
    server: 'hand',
    load: readMe,
  },
  {
    name: 'me',
    about: 'GET /users/me/: token, session, membership, decision, rows under RLS',
    server: 'api',
    over: 'by-hand',
    load: readMe,
  },
  {
    name: 'refresh',
    about: 'POST /auth/refresh/: rotation and commit, each token once',
    server: 'api',
    load: (accounts) => ({
      method: 'POST',
      path: '/api/v1/auth/refresh/',
      accounts: accounts.map(({ refresh }) => ({ headers: json, body: JSON.stringify({ refresh }) })),
      follows: true,
    }),
  },
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
