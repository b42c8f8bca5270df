import { TextField } from '../parts/field.tsx'
import { textOf } from '../session/use-submit.ts'
import type { Draft } from './brand-preview.tsx'
import { texts } from './texts.ts'

const { branding: words } = texts
const members = ['name', 'accent', 'terms_url', 'privacy_url', 'support_email'] as const
const hex = /^#[0-9a-f]{6}$/i

/** What the form has of the branding at `path` of its body; an empty field is null. */
export const draftIn = (form: FormData, path: string) =>
  Object.fromEntries(
    members.map((member) => [member, textOf(form, `${path}.${member}`).trim() || null]),
  ) as Draft

/** The fields of a branding. `placeholders`: what holds where one is empty. */
export function BrandFields({
  path,
  known,
  draft,
  placeholders,
  nameLabel = words.name,
  fixed,
}: {
  /** Where the branding is in the body. */
  path: string
  known: Draft
  /** What is typed. */
  draft: Draft
  placeholders: Draft
  nameLabel?: string
  fixed: boolean
}) {
  const text = (member: (typeof members)[number]) => ({
    label: words[member],
    name: `${path}.${member}`,
    defaultValue: known[member] ?? '',
    placeholder: placeholders[member] ?? '',
    disabled: fixed,
    autoComplete: 'off',
  })
  return (
    <div className="brand-fields">
      <TextField {...text('name')} label={nameLabel} maxLength={64} />
      <TextField
        {...text('accent')}
        hint={words.accentHint}
        maxLength={7}
        spellCheck={false}
        aside={<Swatch of={`${path}.accent`} accent={draft.accent ?? placeholders.accent} disabled={fixed} />}
      />
      <TextField {...text('terms_url')} type="url" />
      <TextField {...text('privacy_url')} type="url" />
      <TextField {...text('support_email')} type="email" />
    </div>
  )
}

/** The browser's own picker of colours, which writes what it picks into the field of its line. */
const Swatch = ({ of, accent, disabled }: { of: string; accent: Draft['accent']; disabled: boolean }) => (
  <input
    type="color"
    className="swatch"
    aria-label={words.pick}
    value={accent && hex.test(accent) ? accent : serviceAccent}
    disabled={disabled}
    onChange={({ currentTarget: { form, value } }) => {
      const text = form?.elements.namedItem(of)
      if (!(text instanceof HTMLInputElement)) return
      // React hears of a value only if it is set as the browser does it.
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(text, value)
      text.dispatchEvent(new Event('input', { bubbles: true }))
    }}
  />
)

const serviceAccent = '#006561'

/** What holds for a tenant that says nothing. */
export const placeholdersOf = (tenantName: string): Draft => ({
  name: tenantName,
  accent: serviceAccent,
  terms_url: 'https://',
  privacy_url: 'https://',
})
