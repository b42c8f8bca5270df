import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Brand, serviceAccent } from '../../messages/mail/brand.ts'
import { emailAddress } from '../../messages/mail/email-address.ts'
import { name as freeText, oneLine } from '../../messages/mail/free-text.ts'
import { written } from '../../request/body/known-members.ts'
import { contrastOf, withContrast } from '../../text/contrast.ts'
import { imageTypes, sizeOfImage } from './read-image.ts'

const white = '#ffffff'
const minContrast = 4.5

const accent = z
  .string('Give the colour as text.')
  .regex(/^#[0-9a-f]{6}$/i, { error: 'Give the colour as #rrggbb, such as #1d4ed8.', abort: true })
  .toLowerCase()
  .superRefine((colour, context) => {
    const contrast = contrastOf(colour, white)
    if (contrast >= minContrast) return
    const fit = withContrast(colour, { ground: white, min: minContrast, become: 'darker' })
    context.addIssue({
      code: 'custom',
      message: `White text on this colour has a contrast of ${contrast.toFixed(1)} to 1, and needs ${minContrast} to 1. Choose a darker one, such as ${fit}.`,
    })
  })

const webPage = z
  .url({ protocol: /^https$/, error: 'Give an address that begins with https://.' })
  .max(500, 'An address can have at most 500 characters.')
  .refine((url) => new URL(url).username === '', 'The address must not contain a user name.')

const name = z
  .string('Give the name as text.')
  .transform(oneLine)
  .refine((text) => text.length > 0 && [...text].length <= 64, 'A name has 1 to 64 characters.')

/** What a tenant's pages and mails look like, in an answer. */
export const brandingSchema = z.object({
  name: z.string().optional().meta({ description: 'Without it, the name of the tenant' }),
  accent: z.string().optional().meta({ description: 'At least 4.5 to 1 against white', example: '#1d4ed8' }),
  terms_url: z.url().optional(),
  privacy_url: z.url().optional(),
  support_email: z.string().optional(),
  logo: z.url().nullable().meta({ description: 'Read-only: PUT tenants/{id}/branding/logo/' }),
})

/** The same as a change has it: null takes a member away. */
export const brandingChange = written(
  z.object(
    {
      name: name.nullable().optional(),
      accent: accent.nullable().optional(),
      terms_url: webPage.nullable().optional(),
      privacy_url: webPage.nullable().optional(),
      support_email: emailAddress.nullable().optional(),
    },
    'Give the branding as an object.',
  ),
  { shownAs: brandingSchema },
)

/** The same as an application has it, as a whole. It has no logo. */
export const brandingOfClient = z
  .object({ name, accent, terms_url: webPage, privacy_url: webPage, support_email: emailAddress })
  .partial()

/** The same as it is stored. */
export const brandingRow = z.object({
  name: z.string().optional(),
  accent: z.string().optional(),
  terms_url: z.string().optional(),
  privacy_url: z.string().optional(),
  support_email: z.string().optional(),
})
export type BrandingRow = z.infer<typeof brandingRow>

/** The branding after a change, which is merged member by member. */
export const changedBranding = (before: BrandingRow, change: z.output<typeof brandingChange>): BrandingRow =>
  brandingRow.parse(
    Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null)),
  )

/** A logo, as the settings of its tenant name it: a part of its address, and its size in pixels. */
export const logoRow = z.object({ file: z.string(), width: z.number(), height: z.number() })
export type LogoRow = z.infer<typeof logoRow>

const maxSide = 1_024

/** The longest logo, in bytes. */
export const logoBytes = 64 * 1024

/** The body of an upload. */
export const logoBody = z.object({
  logo: z
    .object(
      { media_type: z.enum(imageTypes), content: z.string() },
      'Send the image as the body: PNG or WebP.',
    )
    .superRefine(({ media_type, content }, context) => {
      const size = sizeOfImage(media_type, Buffer.from(content, 'base64'))
      const fault = !size
        ? `This is not a whole, still image of the type ${media_type}.`
        : Math.min(size.width, size.height) < 1 || Math.max(size.width, size.height) > maxSide
          ? `The image has ${size.width} × ${size.height} pixels. Send one of at most ${maxSide} × ${maxSide}.`
          : null
      if (fault) context.addIssue({ code: 'custom', message: fault })
    }),
})
export type LogoBody = z.output<typeof logoBody>

/** An upload as a row: the name contains a digest of the content, so that caches can keep it forever. */
export function logoOf({ logo }: LogoBody): LogoRow & { content: Buffer } {
  const content = Buffer.from(logo.content, 'base64')
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 32)
  const file = `${digest}.${logo.media_type === 'image/png' ? 'png' : 'webp'}`
  return { file, content, ...sizeOfImage(logo.media_type, content)! }
}

/** The path below the service of a tenant's logo. */
export const logoPath = (tenantId: string, file: string): string => `/sign-in/look/logo/${tenantId}/${file}`

/** The brand of a tenant; null if it has none, so that its pages and mails are those of the service. */
export function brandOf(
  { id, name, branding, logo }: { id: string; name: string; branding: BrandingRow; logo: LogoRow | null },
  publicUrl: string,
): Brand | null {
  if (!logo && Object.keys(branding).length === 0) return null
  return {
    name: branding.name ?? freeText.parse(name),
    logo: logo && { url: `${publicUrl}${logoPath(id, logo.file)}`, width: logo.width, height: logo.height },
    accent: branding.accent ?? serviceAccent,
    links: linksOf(branding),
  }
}

/** The brand of an application's pages: what it says, over what its tenant says. */
export function brandOver(
  below: Brand | null,
  { name, branding }: { name: string; branding: BrandingRow },
): Brand {
  const links = linksOf(branding)
  const isOther = ({ to }: Brand['links'][number]) => links.every((own) => own.to !== to)
  return {
    name: branding.name ?? below?.name ?? freeText.parse(name),
    // A page shows the logo in place of the name.
    logo: branding.name === undefined ? (below?.logo ?? null) : null,
    accent: branding.accent ?? below?.accent ?? serviceAccent,
    links: [...links, ...(below?.links ?? []).filter(isOther)],
  }
}

function linksOf({
  terms_url: terms,
  privacy_url: privacy,
  support_email: support,
}: BrandingRow): Brand['links'] {
  // RFC 6068: an unescaped `?` would begin headers of the mail.
  const mailto = support && `mailto:${encodeURIComponent(support).replace('%40', '@')}`
  const links = { terms, privacy, support: mailto }
  return (['terms', 'privacy', 'support'] as const).flatMap((to) =>
    links[to] ? [{ to, url: links[to] }] : [],
  )
}
