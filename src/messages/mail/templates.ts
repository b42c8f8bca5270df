import { z } from 'zod'
import type { Texts } from '../../languages/en.ts'
import type { MailText, Reader } from '../../languages/mail-text.ts'
import { addressTemplates } from './address-templates.ts'
import { approvalTemplates } from './approval-templates.ts'
import { message, name, reason } from './free-text.ts'
import { keyTemplates } from './key-templates.ts'
import { type Letter, letter, type Stationery } from './letter.ts'
import { sessionTemplates } from './session-templates.ts'
import { moment, notice, template } from './template.ts'

const factor = z.enum(['passkey', 'totp', 'email', 'static'])
const origin = z.object({ how: z.enum(['made', 'changed']), at: z.number() })
const minutes = z.int()

/** Every mail of the service by name, with the form of its variables. Its text has the same name in src/languages. */
export const templates = {
  // Mails that an earlier release queued have `firstName`, but neither `origin`, `reject` nor `minutes`.
  email_verification: template(['verification', 'address-change'], {
    link: z.url(),
    reject: z.url().optional(),
    origin: origin.optional(),
    minutes: minutes.optional(),
    firstName: name.optional(),
  }),
  // The link is for an account that never proved the address.
  address_already_registered: notice({ link: z.url().optional(), minutes: minutes.optional() }),
  invitation: template(['invitation'], {
    link: z.url(),
    tenantName: name,
    inviter: z.string(),
    message,
    expiresAt: z.number().optional(), // missing in mails that an earlier release queued
  }),
  // Mails that an earlier release queued have neither `addedBy` nor `link`.
  added_to_tenant: template(['invitation'], {
    tenantName: name,
    addedBy: z.string().optional(),
    link: z.url().optional(),
  }),
  magic_link: template(['magic-link'], { link: z.url(), firstName: name, minutes }),
  provider_sign_in: template(['provider'], {
    link: z.url(),
    firstName: name,
    provider: name,
    account: name,
    minutes,
  }),
  password_reset: template(['reset'], {
    link: z.url(),
    firstName: name,
    minutes: minutes.optional(), // missing in mails that an earlier release queued
  }),
  ...sessionTemplates,
  second_factor_code: template(['code'], { code: z.string(), firstName: name, minutes }),
  // A mail that an earlier release queued can have `undo`: now this is `young_factor_added`.
  second_factor_added: notice({ device: factor, firstName: name, undo: z.url().optional() }),
  young_factor_added: template(['factor'], { device: factor, firstName: name, undo: z.url() }),
  identity_linked: notice({ firstName: name, provider: name, undo: z.url() }),
  identity_unlinked: notice({ firstName: name, provider: name }),
  second_factors_locked: notice({ minutes }),
  second_factors_reset: notice({ firstName: name }),
  second_factor_removed: notice({ device: factor, firstName: name }),
  passkey_renamed: notice({ before: name, after: name, firstName: name }),
  ...addressTemplates,
  ...keyTemplates,
  ...approvalTemplates,
  domain_missing: notice({ tenantName: name, domain: z.string(), record: z.string(), until: moment }),
  domain_lost: notice({ tenantName: name, domain: z.string(), record: z.string() }),
  connection_certificate_ends: notice({ tenantName: name, connection: name, endsAt: moment }),
  connection_activator_left: notice({ tenantName: name, connection: name }),
  glass_broken: notice({ tenantName: name, owner: z.string(), ip: z.string(), at: moment }),
  impersonated: notice({ firstName: name, tenantName: name, actor: z.string(), reason }),
}

export type TemplateName = keyof typeof templates
/** The templates that `notice` made. */
export type NoticeName = {
  [Name in TemplateName]: (typeof templates)[Name]['queue'] extends 'notices' ? Name : never
}[TemplateName]
export type Variables<Name extends TemplateName> = z.output<(typeof templates)[Name]['variables']>

const templateNamed = (name: string): TemplateName => {
  if (!Object.hasOwn(templates, name)) throw new Error(`There is no mail template ${name}`)
  return name as TemplateName
}

/** Each template has its text, which takes its variables: the compiler checks it. */
type Writers = { [Name in TemplateName]: (variables: Variables<Name>, reader: Reader) => MailText }
const writersIn = (texts: Texts): Writers => texts.mails.letters

/** What every mail can have: a name to greet, and what {@link letter} shows apart. */
interface Shown {
  firstName?: string
  link?: string
  code?: string
  undo?: string
  reject?: string
}

/** Writes a mail. Throws for an unknown template, and for variables that do not match it. */
export function writeLetter(name: string, values: unknown, stationery: Stationery): Letter {
  const known = templateNamed(name)
  const variables = templates[known].variables.parse(values)
  const write = writersIn(stationery.texts)[known] as (variables: unknown, reader: Reader) => MailText
  const text = write(variables, stationery)
  const { firstName, link, code, undo, reject } = variables as Shown
  return letter(stationery, { ...text, firstName, link, code, undoLink: undo ?? reject ?? link })
}

/** How many mails of a template one address gets in an hour; null for mails that are counted before they are queued. */
export function hourlyLimitOf(name: string): number | null {
  const known = templates[templateNamed(name)]
  return known.queue === 'notices' ? known.perHour : null
}

/**
 * Whether a mail is about one tenant, and comes in its name. Mails about an account come in the name of the service: a tenant does not
 * speak for the accounts of its members, and that of a stranger could be the first that an account belongs to.
 */
export const isOfTenant = (name: string): boolean =>
  'tenantName' in templates[templateNamed(name)].variables.shape

/** Writes the mail about `notSent` notices that had the subject of `first`. */
export const summaryOf = (stationery: Stationery, { subject }: Letter, notSent: number): Letter =>
  letter(stationery, stationery.texts.mails.summary(subject, notSent))
