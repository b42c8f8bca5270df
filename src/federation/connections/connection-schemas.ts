import { z } from 'zod'
import { written } from '../../request/body/known-members.ts'
import { bodyId } from '../../request/body/schemas.ts'
import { nameOf } from '../../tenancy/service-accounts/account-schemas.ts'
import { connectionSchema } from './show-connection.ts'
import { directorySubjects, joinings } from './store.ts'
import { subjectAttribute } from './subject-attribute.ts'

const text = (what: string, max = 2_000) =>
  z
    .string(`Give ${what} as text.`)
    .trim()
    .min(1, `Give ${what}.`)
    .max(max, `${what} can have at most ${max} characters.`)

const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, `Give one of ${values.join(', ')}.`)

const issuer = text('the issuer').refine(
  (uri) => URL.canParse(uri) && !/[?#]/.test(uri),
  'Give the issuer as its discovery document has it: a URL without ? and #.',
)

const scopes = z
  .array(z.string('Give each scope as text.').regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'This is no scope.'))
  .max(20, 'A connection can have at most 20 scopes.')
  .refine((list) => list.includes('openid'), 'Name openid among the scopes.')

const oidcBody = {
  issuer: issuer.meta({ example: 'https://login.nordwind.example' }),
  client_id: text('client_id', 500),
  client_secret: text('client_secret').meta({ description: 'Written only: no answer shows it' }),
  scopes: scopes.default(['openid', 'email', 'profile']),
}

const metadataUrl = text('metadata_url').refine((uri) => URL.canParse(uri), 'Give metadata_url as a URL.')

/** Members that are left out are undefined. */
const samlBody = z
  .object({
    metadata: text('metadata', 256 * 1024)
      .optional()
      .meta({
        description: 'The XML that your identity provider gives. Upload it again when a certificate changes',
      }),
    metadata_url: metadataUrl.nullish().meta({
      description:
        'Where your identity provider publishes it: certificates that change there count by themselves',
    }),
  })
  .refine((body) => !body.metadata !== !body.metadata_url, 'Give either metadata or metadata_url.')
export type SamlBody = z.output<typeof samlBody>

const rule = z.object({
  claim: text('claim', 200),
  value: text('value', 500),
  roles: z
    .array(text('a role', 64), 'Give roles as a list of names or ids.')
    .max(20, 'A rule can give at most 20 roles.')
    .default([]),
  department_id: bodyId.nullable().default(null),
})
export type NewRule = z.output<typeof rule>

const mapping = z
  .array(rule, 'Give mapping as a list.')
  .max(100, 'A connection can have at most 100 rules.')
  .meta({
    description:
      'Who has the value in the claim, alone or in a list, gets the roles, and the department of the first rule that fits. At most the roles that you can give; never owner',
  })

const rest = {
  name: nameOf('connection'),
  subject_attribute: subjectAttribute,
  mapping,
  jit: oneOf(joinings).meta({
    description:
      '`verified_domains`: people with addresses of your verified domains become members at their first sign-in',
  }),
  trusts_mfa: z
    .boolean('Give true or false.')
    .meta({ description: 'A second factor that the provider says it saw counts here, but for owners' }),
  directory_subject: oneOf(directorySubjects).nullable(),
}

const fresh = z.object({
  ...rest,
  mapping: mapping.default([]),
  jit: rest.jit.default('off'),
  trusts_mfa: rest.trusts_mfa.default(false),
  directory_subject: rest.directory_subject.default(null),
})

export const newConnection = written(
  z.discriminatedUnion(
    'kind',
    [
      fresh.extend({
        kind: z.literal('oidc'),
        oidc: z.object(oidcBody),
        subject_attribute: subjectAttribute.default('sub'),
      }),
      fresh.extend({
        kind: z.literal('saml'),
        saml: samlBody,
        subject_attribute: subjectAttribute.default('NameID'),
      }),
    ],
    'Give "oidc" or "saml".',
  ),
  { shownAs: connectionSchema },
)
export type NewConnection = z.output<typeof newConnection>

export const connectionChange = z
  .object({
    ...rest,
    oidc: z.object({ ...oidcBody, scopes }).partial(),
    saml: samlBody,
    status: oneOf(['active', 'disabled']).meta({
      description: '`active`: owners alone, after a sign-in that tried it. `disabled`: it signs in no one',
    }),
  })
  .partial()
export type ConnectionChange = z.output<typeof connectionChange>

/** A body as approvers and auditors see it. */
export const withoutSecret = (body: NewConnection | ConnectionChange) => {
  if (!('oidc' in body && body.oidc)) return body
  const { client_secret: _secret, ...oidc } = body.oidc as { client_secret?: string }
  return { ...body, oidc }
}
