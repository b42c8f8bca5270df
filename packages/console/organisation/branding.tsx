import type { Problem } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { FormCard } from '../parts/form-card.tsx'
import { Fault } from '../parts/notice.tsx'
import { BrandFields, draftIn, placeholdersOf } from './brand-fields.tsx'
import { BrandPreview, type Draft, localLogo } from './brand-preview.tsx'
import { type Shown, useSave } from './settings.tsx'
import { texts } from './texts.ts'

const { branding: words } = texts
const path = 'settings.branding'

/** How the pages and mails of the organisation look, with a preview of what is typed. */
export function BrandingCard({ fixed, ...read }: Shown) {
  const { logo, ...own } = read.tenant.settings.branding
  const [draft, setDraft] = useState<Draft>(own)
  const save = useSave(read, (form) => ({ settings: { branding: draftIn(form, path) } }), words.done)
  return (
    <FormCard
      title={words.title}
      about={words.about}
      save={save}
      go={words.save}
      fixed={fixed}
      onChange={(form) => setDraft(draftIn(form, path))}
      beside={
        <>
          <Logo {...read} fixed={fixed} />
          <BrandPreview draft={draft} logo={logo} tenantName={read.tenant.name} />
        </>
      }
    >
      <BrandFields
        path={path}
        known={own}
        draft={draft}
        placeholders={placeholdersOf(read.tenant.name)}
        fixed={fixed}
      />
    </FormCard>
  )
}

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
