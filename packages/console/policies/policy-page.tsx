import type { Policy } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFilters } from '../parts/filters.ts'
import { Icon } from '../parts/icon.tsx'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { useMay } from '../session/session.ts'
import { EffectBadge, StateBadge } from './badges.tsx'
import { DocumentTab } from './document-tab.tsx'
import { PolicyMenu } from './policy-menu.tsx'
import { reloadPolicies, usePolicy } from './queries.ts'
import { ShadowTab } from './shadow-tab.tsx'
import { TestsTab } from './tests-tab.tsx'
import { texts } from './texts.ts'
import { VersionsTab } from './versions-tab.tsx'

const { page: words } = texts
type Tab = keyof typeof words.tabs

/** One policy, or a new one at `/policies/new`. */
export function PolicyPage() {
  const { id = '' } = useParams({ strict: false })
  return id === 'new' ? <NewPolicy /> : <StoredPolicy key={id} id={id} />
}

const back = <BackLink to="/policies">{words.back}</BackLink>

function NewPolicy() {
  return (
    <Page title={words.newTitle} actions={back}>
      <DocumentTab policy={null} etag={null} />
    </Page>
  )
}

function StoredPolicy({ id }: { id: string }) {
  const query = usePolicy(id)
  if (query.data) return <Loaded policy={query.data.body} etag={query.data.etag} />
  return <LoadingPage query={query} rows={8} title={texts.title} actions={back} />
}

function Loaded({ policy, etag }: { policy: Policy; etag: string | null }) {
  const { id, name, effect, version, managed_by } = policy
  const client = useQueryClient()
  const navigate = useNavigate()
  const may = useMay()
  const [{ tab = 'document' }, change] = useFilters()
  const bodies: Record<Tab, ReactNode> = {
    document: <DocumentTab policy={policy} etag={etag} />,
    tests: <TestsTab policy={policy} />,
    shadow: <ShadowTab policy={policy} />,
    versions: <VersionsTab policy={policy} />,
  }
  const shown = (tab in bodies ? tab : 'document') as Tab
  const remark = managed_by ? words.managed(managed_by) : may('policy:update') ? null : words.readOnly
  return (
    <Page
      title={name}
      about={
        <span className="line">
          <EffectBadge effect={effect} />
          <StateBadge policy={policy} />
          <span>{texts.version(version)}</span>
        </span>
      }
      actions={
        <>
          {back}
          {may('policy:test') && (
            <Link className="button" to="/playground" search={{ policy: id } as never}>
              <Icon name="play" />
              {texts.tryOut}
            </Link>
          )}
          <PolicyMenu
            policy={policy}
            onChanged={() => void reloadPolicies(client)}
            onRemoved={() => void navigate({ to: '/policies' })}
          />
        </>
      }
    >
      {remark && (
        <Notice icon="lock">
          <p>{remark}</p>
        </Notice>
      )}
      {policy.module_off_at && (
        <Notice tone="danger" title={words.moduleOff.title}>
          <p>{words.moduleOff.about}</p>
        </Notice>
      )}
      <Tabs
        label={name}
        tabs={words.tabs}
        shown={shown}
        onChange={(one) => change({ tab: one === 'document' ? undefined : one })}
      />
      {bodies[shown]}
    </Page>
  )
}
