import { generateSync } from 'otplib'
import { toString as drawQr } from 'qrcode'
import type { Step } from './steps.ts'
import type { Walk } from './walk.ts'

/** The code that the authenticator app shows. It uses the service's clock, which can differ from that of this machine. */
const codeOf = (walk: Walk) =>
  generateSync({ secret: walk.facts['ada.totp']!, epoch: Math.floor(walk.serviceTime() / 1000) })

/** A second factor: set up and used, and recovery codes for a lost phone. */
export const secondFactorSteps: readonly Step[] = [
  {
    title: 'Set up an authenticator app',
    why: 'You can scan the picture. The secret is shown once, and has no effect until it is confirmed.',
    async take(walk) {
      const call = { method: 'POST', path: '/api/v1/auth/otp/totp/setup/', as: 'ADA' } as const
      const { secret, provisioning_uri: uri } = await walk.call(call, { status: 200 })
      walk.facts['ada.totp'] = secret
      walk.show(await drawQr(uri, { type: 'terminal', small: true, errorCorrectionLevel: 'L' }))
    },
  },
  {
    title: 'Confirm it, and get recovery codes',
    why: 'The first code turns the second factor on. Recovery codes are shown once; the service stores only hashes.',
    async take(walk) {
      const confirm = { method: 'POST', path: '/api/v1/auth/otp/totp/confirm/', as: 'ADA' } as const
      const body = { code: codeOf(walk) }
      await walk.call({ ...confirm, body }, { status: 200, body: { confirmed: true } })
      const generate = { method: 'POST', path: '/api/v1/auth/otp/static/generate/', as: 'ADA' } as const
      await walk.call(generate, { status: 200, body: { count: 10 } })
    },
  },
  {
    title: 'Sign in with both factors',
    why: 'The password alone gives a temporary token, which is good only for this check. The code gives the pair of tokens.',
    async take(walk) {
      const password = { email: walk.facts['ada.email'], password: walk.facts['ada.password'] }
      const login = { method: 'POST', path: '/api/v1/auth/login/', body: password } as const
      const asked = await walk.call(login, { status: 200, body: { otp_required: true } })
      walk.keepToken('HALFWAY', asked.temporary_token)
      const body = { code: codeOf(walk) }
      const verify = { method: 'POST', path: '/api/v1/auth/otp/verify/', as: 'HALFWAY', body } as const
      const { access } = await walk.call(verify, {
        status: 200,
        body: { verified: true, device_type: 'totp' },
      })
      walk.keepToken('ADA', access)
    },
  },
]
