import type { Connection } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { callVersioned } from '../api/client.ts'
import { CopyValue } from '../parts/copy.tsx'
import { Facts } from '../parts/facts.tsx'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { useProfile } from '../session/session.ts'
import { useConnectionActions } from './connection-actions.tsx'
import { RulesCard } from './rules-card.tsx'
import { SignInsCard } from './sign-ins-card.tsx'
import { type Opened, StateBadge, stateOf } from './state.tsx'
import { texts } from './texts.ts'

/** A connection: how it stands, what to register at the provider, its settings and rules. */
export function ConnectionPage() {
  const { id = '' } = useParams({ strict: false })
  const { id: tenant } = useProfile().current_tenant
  const query = useQuery({
    queryKey: ['connections', tenant, 'one', id],
    queryFn: ({ signal }) => callVersioned('GET /connections/{id}/', { path: { id }, signal }),
  })
  if (query.data) return <One opened={query.data} />
  return <LoadingPage query={query} title={texts.title} actions={back} />
}

const back = <BackLink to="/connections">{texts.back}</BackLink>

function One({ opened }: { opened: Opened }) {
  const { body: connection } = opened
  const { menu, test, activate, dialogs } = useConnectionActions(opened)
  const state = stateOf(connection)
  const words = state !== 'active' && texts.notices[state]
  const { fault } = texts.notices
  return (
    <Page
      title={connection.name}
      about={<StateBadge connection={connection} />}
      actions={
        <>
          {back}
          {state === 'active' && test}
          {menu}
        </>
      }
    >
      {words && (
        <Notice
          {...(connection.status === 'draft' ? { icon: 'play' as const } : { tone: 'warn' as const })}
          title={words.title}
        >
          <p>{words.about}</p>
          <div className="line notice-action">
            {test}
            {state !== 'draft' && activate}
          </div>
        </Notice>
      )}
      {connection.kind === 'saml' && connection.saml.fault && (
        <Notice tone="warn" title={fault.title}>
          <p>
            {connection.saml.fault} {fault.about}
          </p>
        </Notice>
      )}
      <ToRegister connection={connection} />
      <Card title={texts.facts.title}>
        <div className="card-body">
          <Settings connection={connection} />
        </div>
      </Card>
      <RulesCard opened={opened} />
      {connection.activated_at && <SignInsCard connection={connection} />}
      {dialogs}
    </Page>
  )
}

/** What the administrator of the provider copies. */
function ToRegister({ connection }: { connection: Connection }) {
  const { copied: words } = texts
  const rows: [label: string, text: string][] =
    connection.kind === 'oidc'
      ? [[words.redirect, connection.oidc.redirect_uri]]
      : [
          [words.metadata, connection.saml.service_provider.entity_id],
          [words.acs, connection.saml.service_provider.acs_url],
        ]
  return (
    <Card title={words.title} about={words[connection.kind]}>
      <div className="card-body">
        <Facts of={rows.map(([label, text]) => [label, <CopyValue text={text} of={label} />])} />
      </div>
    </Card>
  )
}

function Settings({ connection }: { connection: Connection }) {
  const { facts: words } = texts
  const timeOf = (at: string | null) => (at ? <Time at={at} /> : words.never)
  return (
    <Facts
      of={[
        ...providerOf(connection),
        [words.subject, <code>{connection.subject_attribute}</code>],
        [words.jit, connection.jit === 'off' ? words.stays : words.joins],
        [words.mfa, connection.trusts_mfa ? words.trusted : words.untrusted],
        [words.tested, timeOf(connection.tested_at)],
        [words.activated, timeOf(connection.activated_at)],
      ]}
    />
  )
}

function providerOf(connection: Connection): Parameters<typeof Facts>[0]['of'] {
  const { facts: words } = texts
  if (connection.kind === 'oidc') {
    const { issuer, client_id: client, scopes } = connection.oidc
    return [
      [words.issuer, <code>{issuer}</code>],
      [words.client, <code>{client}</code>],
      [words.scopes, <code>{scopes.join(' ')}</code>],
    ]
  }
  const {
    entity_id: entity,
    sign_in_url: signIn,
    metadata_url: url,
    read_at: read,
    certificates,
  } = connection.saml
  return [
    [words.entity, <code>{entity}</code>],
    [words.signIn, <code>{signIn}</code>],
    [words.metadataUrl, url ? <code>{url}</code> : words.uploaded],
    [words.read, <Time at={read} />],
    [
      words.certificates,
      certificates.map(({ sha256, ends_at: end }) => (
        <p key={sha256} title={sha256}>
          {Date.parse(end) < Date.now() ? words.ended : words.ends} <Time at={end} form="day" />
        </p>
      )),
    ],
  ]
}
