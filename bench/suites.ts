import type { Account, Load, Stage } from './stage.ts'

/** What is measured: whose CPU, under which load; `over` names the suite whose rate this one is divided by. */
export interface Suite {
  name: string
  about: string
  server: 'api' | 'bare'
  over?: string
  load(stage: Stage): Omit<Load, 'seconds'>
}

const json = { 'content-type': 'application/json' }
const credentials = ({ email, password }: Account) => JSON.stringify({ email, password })

export const suites: Suite[] = [
  {
    name: 'me',
    about: 'GET /users/me/: token, session, membership, decision, rows under RLS',
    server: 'api',
    load: ({ url, accounts }) => ({
      url,
      method: 'GET',
      path: '/api/v1/users/me/',
      accounts: accounts.map(({ access }) => ({ headers: { authorization: `Bearer ${access}` }, body: '' })),
    }),
  },
  {
    name: 'refresh',
    about: 'POST /auth/refresh/: rotation and commit, each token once',
    server: 'api',
    load: ({ url, accounts }) => ({
      url,
      method: 'POST',
      path: '/api/v1/auth/refresh/',
      accounts: accounts.map(({ refresh }) => ({ headers: json, body: JSON.stringify({ refresh }) })),
      follows: true,
    }),
  },
  {
    name: 'verify',
    about: 'argon2id alone: a bare endpoint with the same library, parameters and bound',
    server: 'bare',
    load: ({ bareUrl, accounts }) => ({
      url: bareUrl,
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
    load: ({ url, accounts }) => ({
      url,
      method: 'POST',
      path: '/api/v1/auth/login/',
      accounts: accounts.map((account) => ({ headers: json, body: credentials(account) })),
    }),
  },
]
