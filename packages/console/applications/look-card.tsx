import type { OAuthClient, Tenant } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, callVersioned } from '../api/client.ts'
import { BrandFields, draftIn, placeholdersOf } from '../organisation/brand-fields.tsx'
import { BrandPreview, type Draft } from '../organisation/brand-preview.tsx'
import { changed } from '../parts/approvable.ts'
import { FormCard } from '../parts/form-card.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { useSubmit } from '../session/use-submit.ts'
import type { Opened } from './application-form.tsx'
import { texts } from './texts.ts'

const { look: words } = texts
const path = 'branding'

/** What is said, without what is empty. */
const saidIn = (draft: Draft) =>
  Object.fromEntries(Object.entries(draft).filter(([, value]) => value)) as NonNullable<
    OAuthClient['branding']
  >

/** What the pages of the organisation look like, over which an application says more. None for a person who may not read it. */
function useTenantLook(): Partial<Tenant['settings']['branding']> {
  const { id } = useProfile().current_tenant
  const { data } = useQuery({
    queryKey: ['tenant', id, 'versioned'],
    queryFn: ({ signal }) => callVersioned('GET /tenants/{id}/', { path: { id }, signal }),
    enabled: useMay()('tenant:read'),
  })
  return data?.body.settings.branding ?? {}
}

/** How the pages look while an application asks a person to sign in, with a preview of what is typed. */
export function LookCard({ opened: { body: client, etag } }: { opened: Opened }) {
  const fixed = !useMay()('oauth_client:update')
  const { logo = null, ...tenant } = useTenantLook()
  const known = client.branding ?? {}
  const [draft, setDraft] = useState<Draft>(known)
  const save = useSubmit(async (form) => {
    const said = saidIn(draftIn(form, path))
    const body = { branding: Object.keys(said).length > 0 ? said : null }
    const input = { path: { id: client.id }, body, ...(etag && { ifMatch: etag }) }
    await changed('clients', () => call('PATCH /oauth-clients/{id}/', input), words.done)
  })
  const name = tenant.name ?? client.name
  return (
    <FormCard
      title={words.title}
      about={words.about}
      save={save}
      go={words.save}
      fixed={fixed}
      onChange={(form) => setDraft(draftIn(form, path))}
      beside={
        <BrandPreview
          draft={{ ...tenant, ...saidIn(draft) }}
          logo={draft.name ? null : logo}
          tenantName={name}
          hasMail={false}
        />
      }
    >
      <BrandFields
        path={path}
        known={known}
        draft={draft}
        placeholders={{ ...placeholdersOf(name), ...tenant }}
        nameLabel={words.name}
        fixed={fixed}
      />
    </FormCard>
  )
}
