import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'
import { SettingError } from './forms.ts'

const url = z.url({ protocol: /^https?$/ })
const words = z.string().min(1).max(500)

const endpoints = z
  .strictObject({ authorization: url, token: url, userinfo: url, jwks: url, emails: url })
  .partial()
  .default({})

const common = {
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and dashes, 32 at most'),
  client_id: words,
  issuer: url.optional(),
  endpoints,
}
const named = (name: string) => z.string().min(1).max(60).default(name)
const secret = { client_secret: words }

const provider = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('google'), name: named('Google'), ...common, ...secret }),
  z.strictObject({ kind: z.literal('github'), name: named('GitHub'), ...common, ...secret }),
  z.strictObject({
    kind: z.literal('microsoft'),
    name: named('Microsoft'),
    ...common,
    ...secret,
    tenants: z
      .array(z.union([z.guid(), z.literal('consumers')]))
      .min(1)
      .optional(),
  }),
  z.strictObject({
    kind: z.literal('apple'),
    name: named('Apple'),
    ...common,
    team_id: words,
    key_id: words,
    private_key: z.string().refine(isAppleKey, 'must be the text of the .p8 file: a key of P-256 as PEM'),
  }),
  z.strictObject({
    kind: z.literal('oidc'),
    name: z.string().min(1).max(60),
    ...common,
    ...secret,
    issuer: url,
    trust_email: z.boolean().default(false),
  }),
])

const providers = z.array(provider).max(20)

/** A provider with which the people of all tenants sign in. */
export type SocialProvider = z.output<typeof provider>

/** Reads `SOCIAL_PROVIDERS`. A fault names the entry and the member, and never a value: it can be a secret. */
export function socialProviders(text: string): readonly SocialProvider[] {
  const read = providers.safeParse(jsonOf(text))
  if (!read.success)
    throw new SettingError(
      `has faults: ${read.error.issues.map(({ path, message }) => `${pathOf(path)} ${message}`).join('; ')}`,
    )
  const ids = read.data.map(({ id }) => id)
  const twice = ids.find((id, at) => ids.indexOf(id) !== at)
  if (twice !== undefined) throw new SettingError(`has two providers with the id ${twice}: give each its own`)
  return read.data
}

function isAppleKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}

const pathOf = (path: readonly PropertyKey[]) =>
  path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new SettingError(
      'must be a JSON list: [{"id":"google","kind":"google","client_id":"…","client_secret":"…"}]',
    )
  }
}
