import type { Domain } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call, callVersioned } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { CopyValue } from '../parts/copy.tsx'
import { Facts } from '../parts/facts.tsx'
import { FormCard } from '../parts/form-card.tsx'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { Time } from '../parts/time.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { useSubmit } from '../session/use-submit.ts'
import { DomainForm, type Opened } from './domain-form.tsx'
import { LoansCard } from './loans-card.tsx'
import { StateBadge, stateOf } from './state.tsx'
import { texts } from './texts.ts'

/** A domain: the record that proves it, what it does, and whom it is lent to. */
export function DomainPage() {
  const { id = '' } = useParams({ strict: false })
  const { id: tenant } = useProfile().current_tenant
  const query = useQuery({
    queryKey: ['domains', tenant, 'one', id],
    queryFn: ({ signal }) => callVersioned('GET /domains/{id}/', { path: { id }, signal }),
  })
  if (query.data) return <One opened={query.data} />
  return <LoadingPage query={query} title={texts.title} actions={back} />
}

const back = <BackLink to="/domains">{texts.back}</BackLink>

function One({ opened }: { opened: Opened }) {
  const { body: domain } = opened
  const { facts: words } = texts
  return (
    <Page
      title={domain.domain}
      about={<StateBadge domain={domain} />}
      actions={
        <>
          {back}
          <Actions opened={opened} />
        </>
      }
    >
      <Warning domain={domain} />
      <RecordCard domain={domain} />
      <Card title={words.title}>
        <div className="card-body">
          <Facts
            of={[
              [words.route, texts.routes[domain.route]],
              [words.subdomains, domain.subdomains ? words.with : words.without],
              [words.verified, domain.verified_at && <Time at={domain.verified_at} />],
              [words.created, <Time at={domain.created_at} />],
            ]}
          />
        </div>
      </Card>
      {domain.status === 'verified' && <LoansCard domain={domain} />}
    </Page>
  )
}

const lostAfterMs = 14 * 86_400_000 // as the service has it

/** What happens without the record. */
function Warning({ domain }: { domain: Domain }) {
  const { missing, lost } = texts.notices
  const { missing_since: since } = domain
  if (domain.status === 'lost')
    return (
      <Notice tone="danger" title={lost.title}>
        <p>{lost.about}</p>
      </Notice>
    )
  if (since === null) return null
  const until = new Date(Date.parse(since) + lostAfterMs).toISOString()
  return (
    <Notice tone="warn" title={missing.title}>
      <p>
        {missing.since} <Time at={since} form="day" />. {missing.about} <Time at={until} form="day" />.
      </p>
    </Notice>
  )
}

/** The record to copy, and the button that looks for it. */
function RecordCard({ domain }: { domain: Domain }) {
  const { record: words } = texts
  const { id, record } = domain
  const may = useMay()
  const verify = useSubmit(() =>
    changed('domains', () => call('POST /domains/{id}/verify/', { path: { id } }), words.verified),
  )
  const isDone = stateOf(domain) === 'verified'
  return (
    <FormCard
      title={words.title}
      about={isDone ? words.keep : words.add}
      save={verify}
      go={words.verify}
      fixed={isDone || !may('domain:verify')}
    >
      <Facts
        of={(['type', 'name', 'value'] as const).map((name) => [
          words[name],
          <CopyValue text={record[name]} of={words[name]} />,
        ])}
      />
      {!isDone && !may('domain:verify') && <p className="muted small">{words.owners}</p>}
    </FormCard>
  )
}

function Actions({ opened }: { opened: Opened }) {
  const { id, domain } = opened.body
  const navigate = useNavigate()
  const may = useMay()
  const [asked, setAsked] = useState<'edit' | 'remove' | null>(null)
  const close = () => setAsked(null)
  const remove = async () => {
    if (await changed('domains', () => call('DELETE /domains/{id}/', { path: { id } }), texts.removed))
      await navigate({ to: '/domains' })
  }
  return (
    <>
      {(may('domain:update') || may('domain:delete')) && (
        <Menu trigger={<Button icon="dots" aria-label={texts.actions} />}>
          {may('domain:update') && (
            <MenuItem icon="globe" onClick={() => setAsked('edit')}>
              {texts.edit}
            </MenuItem>
          )}
          {may('domain:delete') && (
            <MenuItem icon="trash" danger onClick={() => setAsked('remove')}>
              {texts.remove}
            </MenuItem>
          )}
        </Menu>
      )}
      {asked === 'edit' && <DomainForm domain={opened} onClose={close} />}
      {asked === 'remove' && <Removal {...{ texts, remove }} name={domain} onClose={close} />}
    </>
  )
}
