import { register, tokenMailedTo } from './people.ts'
import type { Step } from './steps.ts'

/** From no account to a verified address and a token. */
export const signInSteps: readonly Step[] = [
  {
    title: 'Register Ada',
    why: 'A person has one account, with one address, for all tenants. The first tenant is created with the account.',
    take: (walk) => register(walk, 'ada', 'Ada', 'Lovelace'),
  },
  {
    title: 'Read the mail that was sent to her',
    why: 'In development, mail is captured, not sent. In a browser, open /dev/mailbox.',
    async take(walk) {
      walk.facts['ada.link'] = await tokenMailedTo(walk, walk.facts['ada.email'])
    },
  },
  {
    title: 'Verify her address',
    why: 'The token of the link works once.',
    async take(walk) {
      const body = { token: walk.facts['ada.link'] }
      const call = { method: 'POST', path: '/api/v1/auth/email/verify/confirm/', body } as const
      await walk.call(call, { status: 200, body: { message: 'Email verified' } })
      await walk.call(call, { status: 400, body: { code: 'token_invalid' } })
    },
  },
  {
    title: 'Sign in',
    why: 'An access token is valid for 15 minutes. A refresh token is exchanged once, for the next pair of tokens.',
    async take(walk) {
      const body = { email: walk.facts['ada.email'], password: walk.facts['ada.password'] }
      const call = { method: 'POST', path: '/api/v1/auth/login/', body } as const
      const { access } = await walk.call(call, { status: 200 })
      walk.keepToken('ADA', access)
    },
  },
  {
    title: 'Ask who she is',
    why: 'Roles and permissions are read from the database at each request, so a change takes effect at once.',
    async take(walk) {
      const call = { method: 'GET', path: '/api/v1/users/me/', as: 'ADA' } as const
      const body = { email: walk.facts['ada.email'], email_verified: true, roles: ['owner'] }
      const me = await walk.call(call, { status: 200, body })
      walk.facts['ada.home'] = me.current_tenant.id
    },
  },
]
