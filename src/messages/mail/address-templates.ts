import { z } from 'zod'
import { name } from './free-text.ts'
import { letter } from './letter.ts'
import { hello, notice, template } from './template.ts'

/** Mails about the address of an account: its first proof, its change, and the end of a change. */
export const addressTemplates = {
  account_cleared: notice(
    // `byOperator` is missing in mails that the release before queued.
    {
      firstName: name,
      hasPassword: z.boolean(),
      byOperator: z.boolean().optional(),
      tenants: z.array(name),
      others: z.int(),
    },
    ({ firstName, hasPassword, byOperator, tenants, others }) =>
      letter('Your account starts anew', [
        hello(firstName),
        `This address was confirmed for the first time, by ${byOperator ? 'the operator of this service, who set a new password' : `a link to ${hasPassword ? 'reset the password' : 'log in'}`}. Someone else could have used the account before, so its ${hasPassword ? '' : 'password, '}second factors, API keys and sessions were removed${byOperator ? '' : ', and it has a new organisation of its own'}.`,
        ...(tenants.length > 0
          ? [
              `Since before, the account is also a member of ${tenants.map((tenant) => `“${tenant}”`).join(', ')}${others > 0 ? ` and ${others} more` : ''}. A login opens these only if you choose them. Leave those that you do not know.`,
            ]
          : []),
        hasPassword
          ? `If you did not ${byOperator ? 'ask for' : 'choose'} a new password, reset it at once.`
          : 'To log in with a password, reset it.',
      ]),
  ),
  // A mail queued by the release before: now this is `account_cleared`.
  password_cleared: notice({ firstName: name }, ({ firstName }) =>
    letter('Your account has no password', [
      hello(firstName),
      'You confirmed this address by a link to log in. Someone else could have created the account before, so its password, second factors and sessions were removed.',
      'To log in with a password, reset it.',
    ]),
  ),
  email_changed: template(
    ['address-change'],
    { firstName: name, newEmail: z.string(), undo: z.url().optional() },
    ({ firstName, newEmail, undo }) =>
      letter('Your e-mail address was changed', [
        hello(firstName),
        `The address of your account is now ${newEmail}. Links that were sent to this address no longer work.`,
        ...(undo
          ? [
              'For 24 hours, sign-in codes still come to this address.',
              'If it was not you, open this link to undo the change. It works for 72 hours and ends all sessions:',
              { link: undo },
              'Then reset your password, because someone else may know it.',
            ]
          : [
              'If it was not you, contact the operator of this service at once. You can no longer reset your password with this address.',
            ]),
      ]),
  ),
  email_change_rejected: notice({ firstName: name, email: z.string() }, ({ firstName, email }) =>
    letter('Your new e-mail address was rejected', [
      hello(firstName),
      `The address of your account was changed to ${email}. A reader of that mailbox answered that they did not ask for it, so your account has this address again. All sessions were ended.`,
      'If you mistyped the new address, log in and change it again.',
      'If you did not change it, reset your password: someone else may know it.',
    ]),
  ),
  // A mail queued by the release before has neither `newEmail` nor `tenants`.
  email_change_undone: notice(
    {
      firstName: name,
      email: z.string(),
      newEmail: z.string().default(''),
      tenants: z.array(z.object({ name, slug: z.string() })).default([]),
    },
    ({ firstName, email, newEmail, tenants }) =>
      letter('The change of your e-mail address was undone', [
        hello(firstName),
        `The address of your account is ${email} again. A reader of that mailbox undid the change. All sessions were ended, and what the account got since the change was removed: memberships, second factors and API keys.`,
        ...tenants.map(
          (tenant) =>
            `The account was the last owner of “${tenant.name}”, so this organisation is archived. An operator of this service makes this address its owner by: npm run cli -- admin:create --email ${newEmail} --tenant ${tenant.slug} --yes. Then log in to it, and activate it.`,
        ),
        'If it was not you, contact the operator of this service at once.',
      ]),
  ),
}
