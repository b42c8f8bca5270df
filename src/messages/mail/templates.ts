import { z } from 'zod'
import { addressTemplates } from './address-templates.ts'
import { approvalTemplates } from './approval-templates.ts'
import { message, name, reason } from './free-text.ts'
import { keyTemplates } from './key-templates.ts'
import { type Letter, letter } from './letter.ts'
import { sessionTemplates } from './session-templates.ts'
import { hello, notice, template } from './template.ts'

const factor = z.enum(['passkey', 'totp', 'email', 'static'])
const factorNames = {
  passkey: 'A passkey',
  totp: 'An authenticator app',
  email: 'Codes sent to this address',
  static: 'A set of recovery codes',
}

type Paragraphs = Parameters<typeof letter>[1]

const factorAdded = (
  { device, firstName }: { device: keyof typeof factorNames; firstName: string },
  ifNotYou: Paragraphs,
) =>
  letter('A second factor was added to your account', [
    hello(firstName),
    `${factorNames[device]} can now be used to sign in to your account.`,
    ...ifNotYou,
  ])

const factorIsYours: Paragraphs = ['If it was not you, change your password and remove it.']

const undoFactor = (link: string): Paragraphs => [
  'It was added with your password only, so it does not count as a second factor for 24 hours. If it was not you, open this link within that time to remove it. That also ends all sessions:',
  { link },
  'Then reset your password, because someone else knows it. Later, reset it first, and then remove the factor in your account.',
]

const origin = z.object({ how: z.enum(['made', 'changed']), at: z.number() })

const originOf = ({ how, at }: z.output<typeof origin>) =>
  how === 'made'
    ? `An account with this address was created on ${inWords(at)}.`
    : `On ${inWords(at)}, someone asked to change the address of an account to this one.`

/** A moment (ms since 1970): 22 November 2026 at 10:15 UTC. */
function inWords(at: number): string {
  const part = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }).format(at)
  return `${part({ dateStyle: 'long' })} at ${part({ timeStyle: 'short' })} UTC`
}

/** Every mail of the service: its variables, and the function that writes it. */
export const templates = {
  // A mail queued by the release before has `firstName`, but neither `origin` nor `reject`.
  email_verification: template(
    ['verification', 'address-change'],
    { link: z.url(), reject: z.url().optional(), origin: origin.optional(), firstName: name.optional() },
    ({ link, reject, origin }) =>
      letter('Confirm your e-mail address', [
        'Hello,',
        ...(origin ? [originOf(origin)] : []),
        'If it was you, open this link to confirm that this address is yours:',
        { link },
        ...(reject
          ? ['If it was not you, open this link to remove your address from the account:', { link: reject }]
          : ['If it was not you, you do not need to do anything.']),
      ]),
  ),
  address_already_registered: notice({}, () =>
    letter('You already have an account', [
      'Hello,',
      'Someone tried to register with this address. It already has an account, and nothing was changed.',
      'If it was you, log in as usual, or reset your password if you forgot it. If not, you do not need to do anything.',
    ]),
  ),
  invitation: template(
    ['invitation'],
    { link: z.url(), tenantName: name, inviter: z.string(), message },
    ({ link, tenantName, inviter, message }) =>
      letter('You are invited to an organisation', [
        'Hello,',
        `${inviter} invites you to “${tenantName}”. Open this link to accept:`,
        { link },
        ...(message ? [`Their message: “${message}”`] : []),
        'If you do not know them, you do not need to do anything.',
      ]),
  ),
  magic_link: template(
    ['magic-link'],
    { link: z.url(), firstName: name, minutes: z.int() },
    ({ link, firstName, minutes }) =>
      letter('Log in to your account', [
        hello(firstName),
        `Someone asked to log in with this address. If it was you, open this link in the browser in which you asked. It works once, within ${minutes} minutes:`,
        { link },
        'If it was not you, you do not need to do anything. Do not forward this mail.',
      ]),
  ),
  password_reset: template(['reset'], { link: z.url(), firstName: name }, ({ link, firstName }) =>
    letter('Reset your password', [
      hello(firstName),
      'Someone asked to reset your password. If it was you, open this link to choose a new one. It works once:',
      { link },
      'If it was not you, you do not need to do anything. Your password stays the same.',
    ]),
  ),
  ...sessionTemplates,
  second_factor_code: template(
    ['code'],
    { code: z.string(), firstName: name, minutes: z.int() },
    ({ code, firstName, minutes }) =>
      letter('Your sign-in code', [
        hello(firstName),
        'This is the code that you asked for:',
        { code },
        `It works once, within ${minutes === 1 ? 'one minute' : `${minutes} minutes`}. We will never ask you for this code.`,
        'If you did not ask for it, someone may know your password. Change it.',
      ]),
  ),
  // A mail queued by the release before can have `undo`: now this is `young_factor_added`.
  second_factor_added: notice(
    { device: factor, firstName: name, undo: z.url().optional() },
    ({ undo, ...added }) => factorAdded(added, undo ? undoFactor(undo) : factorIsYours),
  ),
  young_factor_added: template(
    ['factor'],
    { device: factor, firstName: name, undo: z.url() },
    ({ undo, ...added }) => factorAdded(added, undoFactor(undo)),
  ),
  second_factors_locked: notice({ minutes: z.int() }, ({ minutes }) =>
    letter('Your second factors are paused', [
      hello(''),
      `Too many wrong codes were given for your account, so for ${minutes} minutes no second factor is accepted, not even a right one.`,
      'If it was not you, someone may know your password: reset it.',
    ]),
  ),
  second_factors_reset: notice({ firstName: name }, ({ firstName }) =>
    letter('Your second factors were removed', [
      hello(firstName),
      'An operator of this service removed all second factors of your account and ended all sessions. Log in with your password and add a second factor again.',
      'If you did not ask for this, reset your password and contact the operator of this service at once.',
    ]),
  ),
  second_factor_removed: notice({ device: factor, firstName: name }, ({ device, firstName }) =>
    letter('A second factor was removed from your account', [
      hello(firstName),
      `${factorNames[device]} can no longer be used to sign in to your account.`,
      'If it was not you, change your password and add a second factor again.',
    ]),
  ),
  passkey_renamed: notice({ before: name, after: name, firstName: name }, ({ before, after, firstName }) =>
    letter('A passkey of your account was renamed', [
      hello(firstName),
      `The passkey “${before}” of your account is now called “${after}”.`,
      'If it was not you, reset your password and remove the passkeys that you do not know.',
    ]),
  ),
  ...addressTemplates,
  ...keyTemplates,
  ...approvalTemplates,
  impersonated: notice(
    { firstName: name, tenantName: name, actor: z.string(), reason },
    ({ firstName, tenantName, actor, reason }) =>
      letter('Someone acted as you in an organisation', [
        hello(firstName),
        `${actor} of “${tenantName}” can act as you there for 15 minutes. The reason they gave: “${reason}”`,
        'They cannot change your account, password, second factors or sessions. The audit log names both of you in everything they do.',
        'If you did not expect this, ask them, or another owner of the organisation.',
      ]),
  ),
  // A mail queued by the release before has neither `addedBy` nor `link`.
  added_to_tenant: template(
    ['invitation'],
    { tenantName: name, addedBy: z.string().optional(), link: z.url().optional() },
    ({ tenantName, addedBy, link }) =>
      letter('You were added to an organisation', [
        'Hello,',
        `${addedBy ?? 'An administrator'} made you a member of “${tenantName}”. Log in as usual and switch to it.`,
        ...(link
          ? ['If you do not know them, or do not want to be a member, open this link to leave:', { link }]
          : []),
      ]),
  ),
}

export type TemplateName = keyof typeof templates
/** The templates that `notice` made. */
export type NoticeName = {
  [Name in TemplateName]: (typeof templates)[Name]['queue'] extends 'notices' ? Name : never
}[TemplateName]
export type Variables<Name extends TemplateName> = z.output<(typeof templates)[Name]['variables']>

const templateNamed = (name: string) => {
  if (!Object.hasOwn(templates, name)) throw new Error(`There is no mail template ${name}`)
  return templates[name as TemplateName]
}

/** Writes a mail. Throws for an unknown template, and for variables that do not match it. */
export function writeLetter(name: string, variables: unknown): Letter {
  const known = templateNamed(name)
  return (known.write as (values: unknown) => Letter)(known.variables.parse(variables))
}

/** How many mails of a template one address gets in an hour; null for mails that are counted before they are queued. */
export function hourlyLimitOf(name: string): number | null {
  const known = templateNamed(name)
  return known.queue === 'notices' ? known.perHour : null
}

/** Writes the mail about `notSent` notices that had the subject of `letter`. */
export const summaryOf = ({ subject }: Letter, notSent: number): Letter =>
  letter(`${notSent} more: ${subject}`, [
    'Hello,',
    `In one hour, ${notSent} more mails “${subject}” were due to this address. They were not sent, because an address gets only a few of a kind in an hour.`,
    'Log in to see what happened. If it was not you, reset your password.',
  ])
