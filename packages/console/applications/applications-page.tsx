import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { call } from '../api/client.ts'
import { Badge, Button } from '../parts/button.tsx'
import { useFilters } from '../parts/filters.ts'
import { OpenLink } from '../parts/links.tsx'
import { ListPage } from '../parts/list.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session/session.ts'
import { usesSecrets } from './advanced.tsx'
import { ApisPage } from './apis-page.tsx'
import { ApplicationForm, type Registered } from './application-form.tsx'
import { SettingsCard, SnippetCard } from './settings.tsx'
import { texts } from './texts.ts'

export function ApplicationsPage() {
  const may = useMay()
  const [{ tab = 'applications' }, change] = useFilters()
  const head = may('oauth_resource:list') && (
    <Tabs
      label={texts.views}
      tabs={texts.tabs}
      shown={tab as keyof typeof texts.tabs}
      onChange={(next) => change({ tab: next === 'apis' ? next : undefined })}
    />
  )
  return head && tab === 'apis' ? <ApisPage head={head} /> : <Applications head={head} />
}

function Applications({ head }: { head: ReactNode }) {
  const may = useMay()
  const [registering, setRegistering] = useState(false)
  const [registered, setRegistered] = useState<Registered | null>(null)
  if (registered) return <RegisteredPage {...registered} />
  return (
    <ListPage
      {...texts}
      head={head}
      name="clients"
      actions={
        may('oauth_client:create') && (
          <Button kind="primary" icon="plus" onClick={() => setRegistering(true)}>
            {texts.create}
          </Button>
        )
      }
      empty={{ icon: 'grid', ...texts.empty }}
      read={({ cursor }, signal) =>
        call('GET /oauth-clients/', { query: { page_size: 25, ordering: '-created_at', cursor }, signal })
      }
      row={({ id, name, kind, is_active: active, first_party: firstParty, last_used_at: used }) => (
        <tr>
          <td>
            <Link className="row-button" to="/applications/$id" params={{ id }}>
              <bdi>{name}</bdi>
            </Link>
          </td>
          <td className="muted">{texts.kinds[kind].name}</td>
          <td>
            <StateBadges active={active} firstParty={firstParty} />
          </td>
          <td className="muted" data-title={texts.columns[3]}>
            {used ? <Time at={used} /> : texts.never}
          </td>
          <td className="end">
            <OpenLink to="/applications/$id" params={{ id }} label={texts.open(name)} />
          </td>
        </tr>
      )}
    >
      {registering && <ApplicationForm onClose={() => setRegistering(false)} onRegistered={setRegistered} />}
    </ListPage>
  )
}

export const StateBadges = ({ active, firstParty }: { active: boolean; firstParty: boolean }) => (
  <span className="line">
    <Badge tone={active ? 'good' : 'warn'}>{active ? texts.active : texts.off}</Badge>
    {firstParty && <Badge tone="accent">{texts.firstParty}</Badge>}
  </span>
)

/** The settings of an application that was just registered, with its secret. */
function RegisteredPage({ client, secret }: Registered) {
  const { registered: words } = texts
  const navigate = useNavigate()
  const lacks = usesSecrets(client) && !secret
  return (
    <Page
      title={words.title(client.name)}
      about={words.about}
      actions={
        <Button
          kind="primary"
          onClick={() => void navigate({ to: '/applications/$id', params: { id: client.id } })}
        >
          {secret ? words.done : words.goOn}
        </Button>
      }
    >
      {(secret || lacks) && (
        <Notice tone="warn" icon="key" title={secret ? words.secret : words.noSecret}>
          <p>{secret ? words.secretAbout : words.noSecretAbout}</p>
        </Notice>
      )}
      <SettingsCard client={client} secret={secret} />
      <SnippetCard client={client} secret={secret} />
    </Page>
  )
}
