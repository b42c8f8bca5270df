import type { Deps } from '../../deps.ts'
import { message } from '../../request/body/schemas.ts'
import { mailedLink } from '../../request/mailed-link.ts'
import { type Route, route } from '../../request/route.ts'
import { undoEmailChange } from '../users/undo-email-change.ts'
import { confirmVerification } from './confirm-verification.ts'
import { rejectVerification } from './reject-verification.ts'
import { sendVerification } from './send-verification.ts'

export const emailVerificationRoutes = (deps: Deps): Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/auth/email/verify/send',
    action: 'email_verification:send',
    tag: 'E-mail verification',
    summary: 'Mail yourself a verification link',
    status: 200,
    answer: message('Verification email sent'),
    handle: ({ caller }) => sendVerification(deps, caller),
  }),
  route({
    path: '/api/v1/auth/email/verify/confirm',
    tag: 'E-mail verification',
    summary: 'Verify an address with the token from the mail',
    ...mailedLink('Email verified', (requestInfo, token) => confirmVerification(deps, requestInfo, token)),
  }),
  route({
    path: '/api/v1/auth/email/verify/reject',
    tag: 'E-mail verification',
    summary: 'Say “This was not me” with the token from the mail',
    description:
      'The account loses the address. It gets its earlier address back; an account that had no other address is deleted.',
    ...mailedLink('Address removed from the account', (requestInfo, token) =>
      rejectVerification(deps, requestInfo, token),
    ),
  }),
  route({
    path: '/api/v1/auth/email/undo',
    tag: 'E-mail verification',
    summary: 'Undo a change of your address with the token mailed to the old address',
    description:
      'Ends all sessions and removes what the account got since the change: memberships, keys, second factors, and a password chosen since; and second factors that do not count yet. Works also after the new address was verified. Reset the password next.',
    ...mailedLink('E-mail address restored', (requestInfo, token) =>
      undoEmailChange(deps, requestInfo, token),
    ),
  }),
]
