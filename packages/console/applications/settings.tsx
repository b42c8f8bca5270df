import type { OAuthClient } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { issuer, signingAlgorithms } from '../api/client.ts'
import { CopyButton, CopyValue } from '../parts/copy.tsx'
import { Facts } from '../parts/facts.tsx'
import { SelectField } from '../parts/field.tsx'
import { Notice } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { useAccounts } from './account-field.tsx'
import { usesSecrets } from './advanced.tsx'
import type { Registered } from './application-form.tsx'
import { redirectUriFor, snippets } from './snippets.ts'
import { texts } from './texts.ts'

const values = (of: string, all: readonly string[]) =>
  all.length > 0 && all.map((text) => <CopyValue key={text} {...{ text, of }} />)

/** What signs the ID tokens of a client: the service may not offer what the client would have (discovery says so). */
function useAlgorithm({ id_token_signed_response_alg: wanted }: OAuthClient): string {
  const { data: offered = [] } = useQuery({
    queryKey: ['discovery'],
    queryFn: ({ signal }) => signingAlgorithms(signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return offered.includes(wanted) ? wanted : (offered[0] ?? wanted)
}

/** What an application is configured with, each with a button that copies it. */
export function SettingsCard({ client, secret }: Registered) {
  const { settings: words } = texts
  const algorithm = useAlgorithm(client)
  const isMachine = client.kind === 'machine'
  const account = useAccounts().data?.results.find(({ id }) => id === client.service_account_id)
  const one = (label: string, text: string) => [label, <CopyValue text={text} of={label} />] as const
  return (
    <Card title={words.title} about={words.about}>
      <div className="card-body">
        <Facts
          of={[
            one(words.issuer, issuer),
            one(words.discovery, `${issuer}/.well-known/openid-configuration`),
            one(words.id, client.id),
            [words.secret, secret && <CopyValue text={secret} of={words.secret} />],
            [words.redirect, values(words.redirect, client.redirect_uris)],
            [words.logout, values(words.logout, client.post_logout_redirect_uris)],
            one(words.scopes, client.scopes.join(' ')),
            [words.method, <code>{client.token_endpoint_auth_method}</code>],
            [
              words.keys,
              client.jwks
                ? words.keyCount(client.jwks.keys.length)
                : client.jwks_uri && <bdi>{client.jwks_uri}</bdi>,
            ],
            [words.backchannel, client.backchannel_logout_uri && <bdi>{client.backchannel_logout_uri}</bdi>],
            [words.algorithm, !isMachine && <code>{algorithm}</code>],
            [words.groups, client.groups && texts.advanced.groupKinds[client.groups]],
            [texts.form.kind, texts.kinds[client.kind].name],
            [
              words.account,
              account && (
                <Link to="/service-accounts/$id" params={{ id: account.id }}>
                  <bdi>{account.name}</bdi>
                </Link>
              ),
            ],
            [words.created, <Time at={client.created_at} />],
            [words.used, client.last_used_at ? <Time at={client.last_used_at} /> : texts.never],
          ]}
        />
      </div>
    </Card>
  )
}

/** The configuration of a library or product, with the settings of an application. */
export function SnippetCard({ client, secret }: Registered) {
  const { snippets: words } = texts
  const algorithm = useAlgorithm(client)
  // Those for web applications are about secrets.
  const fitting = snippets.filter(
    ({ kind }) => kind === client.kind && (kind !== 'web' || usesSecrets(client)),
  )
  const usual = fitting.find((one) => one.callback !== null && redirectUriFor(one, client).isKnown)
  const [name, setName] = useState((usual ?? fitting[0])?.name)
  const snippet = fitting.find((one) => one.name === name)
  if (!snippet) return null
  const { redirectUri, isKnown } = redirectUriFor(snippet, client)
  const files = snippet.files({
    issuer,
    clientId: client.id,
    secret: secret ?? words.secret,
    redirectUri,
    scope: client.scopes.join(' '),
    algorithm,
    authentication: client.token_endpoint_auth_method,
  })
  return (
    <Card
      title={words.title}
      about={usesSecrets(client) && !secret ? `${words.about} ${words.place}` : words.about}
    >
      <div className="card-body snippets">
        <SelectField label={words.choose} value={name} onChange={({ target }) => setName(target.value)}>
          {fitting.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </SelectField>
        {!isKnown && (
          <Notice tone="warn">
            <p>
              {words.missing} <code>{redirectUri}</code>
            </p>
          </Notice>
        )}
        {Object.entries(files).map(([file, text]) => (
          <figure key={file}>
            <figcaption>
              <code>{file}</code>
              <CopyButton text={text} of={file} />
            </figcaption>
            <pre className="json">{text}</pre>
          </figure>
        ))}
      </div>
    </Card>
  )
}
