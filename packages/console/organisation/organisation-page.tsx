import type { Tenant } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { callVersioned } from '../api/client.ts'
import { Badge } from '../parts/button.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { BrandingCard } from './branding.tsx'
import { Lifecycle } from './lifecycle.tsx'
import { EntryCard, GeneralCard } from './settings.tsx'
import { texts } from './texts.ts'

const tones = { active: 'good', suspended: 'warn', archived: undefined } as const

export interface Read {
  tenant: Tenant
  etag: string | null
}

/** What the form of the branding has: a new logo leaves what is typed there. */
const ownBranding = ({ settings: { branding } }: Tenant) => JSON.stringify({ ...branding, logo: null })

export function OrganisationPage() {
  const { id } = useProfile().current_tenant
  const may = useMay()
  const query = useQuery({
    queryKey: ['tenant', id, 'versioned'],
    queryFn: ({ signal }) => callVersioned('GET /tenants/{id}/', { path: { id }, signal }),
  })
  if (!query.data) return <LoadingPage query={query} title={texts.title} about={texts.about} width="text" />
  const { body: tenant, etag } = query.data
  const mayChange = may('tenant:update')
  return (
    <Page
      title={texts.title}
      about={texts.about}
      width="text"
      actions={<Badge tone={tones[tenant.status]}>{texts.status[tenant.status]}</Badge>}
    >
      {!mayChange && <Notice icon="lock">{texts.readOnly}</Notice>}
      {/* A change elsewhere gives the forms new values. */}
      <GeneralCard key={`general ${tenant.updated_at}`} {...{ tenant, etag }} fixed={!mayChange} />
      <EntryCard key={`entry ${tenant.updated_at}`} {...{ tenant, etag }} fixed={!mayChange} />
      <BrandingCard key={`branding ${ownBranding(tenant)}`} {...{ tenant, etag }} fixed={!mayChange} />
      {may('tenant:suspend') && <Lifecycle tenant={tenant} />}
    </Page>
  )
}
