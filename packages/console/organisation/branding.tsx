import type { Problem } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { TextField } from '../parts/field.tsx'
import { FormCard } from '../parts/form-card.tsx'
import { Fault } from '../parts/notice.tsx'
import { textOf } from '../session/use-submit.ts'
import { BrandPreview, type Draft, localLogo } from './brand-preview.tsx'
import { type Shown, useSave } from './settings.tsx'
import { texts } from './texts.ts'

const { branding: words } = texts
const members = ['name', 'accent', 'terms_url', 'privacy_url', 'support_email'] as const
const field = (member: (typeof members)[number]) => `settings.branding.${member}`
const hex = /^#[0-9a-f]{6}$/i

/** What the form has; an empty field is null. */
const draftIn = (form: FormData) =>
  Object.fromEntries(members.map((member) => [member, textOf(form, field(member)).trim() || null])) as Draft

/** How the pages and mails of the organisation look, with a preview of what is typed. */
export function BrandingCard({ fixed, ...read }: Shown) {
  const { logo, ...own } = read.tenant.settings.branding
  const [draft, setDraft] = useState<Draft>(own)
  const save = useSave(read, (form) => ({ settings: { branding: draftIn(form) } }), words.done)
  const text = (member: (typeof members)[number]) => ({
    label: words[member],
    name: field(member),
    defaultValue: own[member] ?? '',
    disabled: fixed,
    autoComplete: 'off',
  })
  return (
    <FormCard
      title={words.title}
      about={words.about}
      save={save}
      go={words.save}
      fixed={fixed}
      onChange={(form) => setDraft(draftIn(form))}
      beside={
        <>
          <Logo {...read} fixed={fixed} />
          <BrandPreview draft={draft} logo={logo} tenantName={read.tenant.name} />
        </>
      }
    >
      <div className="brand-fields">
        <TextField {...text('name')} placeholder={read.tenant.name} maxLength={64} />
        <TextField
          {...text('accent')}
          hint={words.accentHint}
          placeholder="#006561"
          maxLength={7}
          spellCheck={false}
          aside={<Swatch accent={draft.accent} disabled={fixed} />}
        />
        <TextField {...text('terms_url')} type="url" placeholder="https://" />
        <TextField {...text('privacy_url')} type="url" placeholder="https://" />
        <TextField {...text('support_email')} type="email" />
      </div>
    </FormCard>
  )
}

/** The browser's own picker of colours, which writes what it picks into the field of its line. */
const Swatch = ({ accent, disabled }: { accent: Draft['accent']; disabled: boolean }) => (
  <input
    type="color"
    className="swatch"
    aria-label={words.pick}
    value={accent && hex.test(accent) ? accent : '#006561'}
    disabled={disabled}
    onChange={({ currentTarget: { form, value } }) => {
      const text = form?.elements.namedItem(field('accent'))
      if (!(text instanceof HTMLInputElement)) return
      // React hears of a value only if it is set as the browser does it.
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(text, value)
      text.dispatchEvent(new Event('input', { bubbles: true }))
    }}
  />
)

function Logo({ tenant, etag, fixed }: Shown) {
  const client = useQueryClient()
  const [problem, setProblem] = useState<Problem | null>(null)
  const [busy, setBusy] = useState(false)
  const { logo } = tenant.settings.branding
  const input = { path: { id: tenant.id }, ...(etag && { ifMatch: etag }) }
  const run = async (change: () => Promise<unknown>, done: string) => {
    setBusy(true)
    setProblem(null)
    await changed('tenant', change, done).catch((error) => setProblem(asProblem(error)))
    await client.invalidateQueries({ queryKey: ['tenant'] })
    setBusy(false)
  }
  const upload = ({ currentTarget }: ChangeEvent<HTMLInputElement>) => {
    const body = currentTarget.files?.[0]
    currentTarget.value = '' // the same file can be chosen again
    if (body) void run(() => call('PUT /tenants/{id}/branding/logo/', { ...input, body }), words.logoDone)
  }
  return (
    <div className="brand-logo">
      <Fault problem={problem} />
      <div className="brand-logo-line">
        <span className="brand-logo-image">
          {logo ? (
            <img src={localLogo(logo)} alt={words.logo} />
          ) : (
            <span className="muted small">{words.noLogo}</span>
          )}
        </span>
        {!fixed && (
          <span className="line">
            <label className="button" data-busy={busy || undefined}>
              {logo ? words.replace : words.upload}
              <input type="file" className="hidden-text" accept="image/png,image/webp" onChange={upload} />
            </label>
            {logo && (
              <Button
                kind="quiet"
                busy={busy}
                onClick={() =>
                  void run(() => call('DELETE /tenants/{id}/branding/logo/', input), words.logoGone)
                }
              >
                {words.remove}
              </Button>
            )}
          </span>
        )}
      </div>
      <p className="field-hint">{words.logoHint}</p>
    </div>
  )
}
