import { z } from 'zod'
import { message, name } from './free-text.ts'
import { type Letter, letter } from './letter.ts'

const template = <Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  write: (variables: z.output<z.ZodObject<Shape>>) => Letter,
) => ({ variables: z.strictObject(shape), write })

const hello = (firstName: string) => (firstName ? `Hello ${firstName},` : 'Hello,')

const factor = z.enum(['totp', 'email', 'static'])
const factorNames = {
  totp: 'An authenticator app',
  email: 'Codes sent to this address',
  static: 'A set of recovery codes',
}

const origin = z.object({ how: z.enum(['made', 'changed']), at: z.number() })

const originOf = ({ how, at }: z.output<typeof origin>) =>
  how === 'made'
    ? `an account with this address was made on ${inWords(at)}.`
    : `someone asked on ${inWords(at)} to change the address of an account to this one.`

/** A moment (ms since 1970): 22 November 2026 at 10:15 UTC. */
function inWords(at: number): string {
  const part = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }).format(at)
  return `${part({ dateStyle: 'long' })} at ${part({ timeStyle: 'short' })} UTC`
}

/** Every mail the service sends: its variables, and how they become a letter. */
export const templates = {
  // A mail that waits since the release before has `firstName`, and neither `origin` nor `reject`.
  email_verification: template(
    { link: z.url(), reject: z.url().optional(), origin: origin.optional(), firstName: name.optional() },
    ({ link, reject, origin }) =>
      letter('Confirm your e-mail address', [
        'Hello,',
        ...(origin ? [originOf(origin)] : []),
        'If it was you, confirm that this address is yours by opening this link:',
        { link },
        ...(reject
          ? [
              'If this was not you, open this link, where you can remove your address from the account:',
              { link: reject },
            ]
          : ['If it was not you, you need do nothing.']),
      ]),
  ),
  address_already_registered: template({}, () =>
    letter('You already have an account', [
      'Hello,',
      'somebody, perhaps you, tried to register with this address. It already has an account; nothing was changed.',
      'If it was you, log in as usual, or reset your password if you forgot it. If not, you need do nothing.',
    ]),
  ),
  invitation: template(
    { link: z.url(), tenantName: name, inviter: z.string(), message },
    ({ link, tenantName, inviter, message }) =>
      letter('You are invited to an organisation', [
        'Hello,',
        `${inviter} invites you to “${tenantName}”. Accept by opening this link:`,
        { link },
        ...(message ? [`They write: “${message}”`] : []),
        'If you do not know them, you need do nothing.',
      ]),
  ),
  password_reset: template({ link: z.url(), firstName: name }, ({ link, firstName }) =>
    letter('Reset your password', [
      hello(firstName),
      'somebody, perhaps you, asked to reset your password. Choose another by opening this link, which works once:',
      { link },
      'If it was not you, you need do nothing: your password stays what it is.',
    ]),
  ),
  password_changed: template({ firstName: name }, ({ firstName }) =>
    letter('Your password was changed', [
      hello(firstName),
      'the password of your account was changed just now, and your other sessions were ended.',
      'If it was not you, reset the password at once: that ends every session, also of whoever did this.',
    ]),
  ),
  email_changed: template(
    { firstName: name, newEmail: z.string(), undo: z.url().optional() },
    ({ firstName, newEmail, undo }) =>
      letter('Your e-mail address was changed', [
        hello(firstName),
        `the address of your account is ${newEmail} from now on. Links that were sent to this one do nothing any more.`,
        ...(undo
          ? [
              'Codes for signing in still come to this address for 24 hours.',
              'If it was not you, take the change back by this link, which works for 72 hours and ends all sessions:',
              { link: undo },
              'Then reset your password: whoever changed the address may know the one you have.',
            ]
          : [
              'If it was not you, tell whoever runs this service at once: you cannot reset the password by this address now.',
            ]),
      ]),
  ),
  email_change_rejected: template({ firstName: name, email: z.string() }, ({ firstName, email }) =>
    letter('Your new e-mail address was rejected', [
      hello(firstName),
      `the address of your account was changed to ${email}. A reader of that mailbox answered that they did not ask for it, so your account has this address again. All sessions were ended.`,
      'If you mistyped the new address, log in and change it again.',
      'If you did not change it, reset your password: someone else may know it.',
    ]),
  ),
  email_change_undone: template({ firstName: name, email: z.string() }, ({ firstName, email }) =>
    letter('The change of your e-mail address was taken back', [
      hello(firstName),
      `the address of your account is ${email} again: somebody who reads that mailbox took the change back. All sessions were ended.`,
      'If it was not you, tell whoever runs this service at once.',
    ]),
  ),
  new_sign_in: template({ ip: z.string(), device: z.string(), at: z.string() }, ({ ip, device, at }) =>
    letter('New sign-in to your account', [
      hello(''),
      `somebody signed in to your account at ${at} from the address ${ip}, with ${device || 'an unnamed device'}, which were not seen together before.`,
      'If it was you, you need do nothing. If not, reset your password: that ends every session.',
    ]),
  ),
  second_factor_code: template(
    { code: z.string(), firstName: name, minutes: z.int() },
    ({ code, firstName, minutes }) =>
      letter('Your sign-in code', [
        hello(firstName),
        'this is the code you asked for:',
        { code },
        `It works once, within ${minutes === 1 ? 'a minute' : `${minutes} minutes`}. Nobody of us will ever ask you for it.`,
        'If you did not ask for it, somebody may know your password: change it.',
      ]),
  ),
  second_factor_added: template(
    { device: factor, firstName: name, undo: z.url().optional() },
    ({ device, firstName, undo }) =>
      letter('A second factor was added to your account', [
        hello(firstName),
        `${factorNames[device]} can be used to sign in to your account from now on.`,
        ...(undo
          ? [
              'It was added with your password alone, so it does not count as a second factor for 24 hours. If it was not you, remove it by this link, which also ends all sessions:',
              { link: undo },
              'Then reset your password: whoever added it knows the one you have.',
            ]
          : ['If it was not you, change your password and remove it.']),
      ]),
  ),
  second_factors_reset: template({ firstName: name }, ({ firstName }) =>
    letter('Your second factors were removed', [
      hello(firstName),
      'an operator of this service removed all second factors of your account, and ended all sessions. Log in with your password, and add a second factor again.',
      'If you did not ask for it, reset your password, and tell whoever runs this service at once.',
    ]),
  ),
  second_factor_removed: template({ device: factor, firstName: name }, ({ device, firstName }) =>
    letter('A second factor was removed from your account', [
      hello(firstName),
      `${factorNames[device]} can no longer be used to sign in to your account.`,
      'If it was not you, change your password and add a second factor again.',
    ]),
  ),
  approval_requested: template(
    {
      requester: z.string(),
      action: z.string(),
      tenantName: name,
      link: z.url(),
      expiresAt: z.string(),
    },
    ({ requester, action, tenantName, link, expiresAt }) =>
      letter('Somebody waits for your approval', [
        'Hello,',
        `${requester} asks for an approval in “${tenantName}”: ${action}. You are one of those who may decide it:`,
        { link },
        `It can be approved or rejected until ${expiresAt}. Look at what is asked before you approve it.`,
      ]),
  ),
  approval_decided: template(
    {
      outcome: z.enum(['approved', 'rejected', 'cancelled']),
      action: z.string(),
      tenantName: name,
      link: z.url(),
    },
    ({ outcome, action, tenantName, link }) =>
      letter(`Your request was ${outcome}`, [
        'Hello,',
        `your request in “${tenantName}” (${action}) was ${outcome}:`,
        { link },
        outcome === 'approved'
          ? 'Repeat the call, exactly as it was, with the header Approval-Request and the id of the request. It works once.'
          : 'Nothing was changed.',
      ]),
  ),
  // A mail that waits since the release before has neither `addedBy` nor `link`.
  added_to_tenant: template(
    { tenantName: name, addedBy: z.string().optional(), link: z.url().optional() },
    ({ tenantName, addedBy, link }) =>
      letter('You were added to an organisation', [
        'Hello,',
        `${addedBy ?? 'Somebody'} made you a member of “${tenantName}”. Log in as usual and switch to it.`,
        ...(link
          ? [
              'If you do not know them, or do not want to belong to it, leave it by opening this link:',
              { link },
            ]
          : []),
      ]),
  ),
}

export type TemplateName = keyof typeof templates
export type Variables<Name extends TemplateName> = z.output<(typeof templates)[Name]['variables']>

/** Writes a letter; throws when there is no such template or the variables are not its own. */
export function writeLetter(name: string, variables: unknown): Letter {
  const known = Object.hasOwn(templates, name) ? templates[name as TemplateName] : undefined
  if (!known) throw new Error(`There is no mail template ${name}`)
  return (known.write as (values: unknown) => Letter)(known.variables.parse(variables))
}
