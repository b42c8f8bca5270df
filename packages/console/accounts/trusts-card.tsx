import type { Trust } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { faultOf } from '../api/problem.ts'
import { changed } from '../parts/approvable.ts'
import { Badges, Button } from '../parts/button.tsx'
import { confirmed, withPassword } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { PlainField, SelectField, TextArea } from '../parts/field.tsx'
import { List } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { Time } from '../parts/time.tsx'
import { TokenField } from '../parts/token-field.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { trusts: words } = texts

/** Whose JWTs a service account trusts in place of a key. */
export function TrustsCard({ account }: { account: string }) {
  const { id: tenant } = useProfile().current_tenant
  const may = useMay()
  const [isMaking, setMaking] = useState(false)
  const [ending, setEnding] = useState<Trust | null>(null)
  const query = useQuery({
    queryKey: ['accounts', tenant, 'trusts', account],
    queryFn: ({ signal }) =>
      call('GET /service-accounts/{id}/trusts/', { path: { id: account }, query: { page_size: 20 }, signal }),
  })
  const end = (tid: string) =>
    changed(
      'accounts',
      () => call('DELETE /service-accounts/{id}/trusts/{tid}/', { path: { id: account, tid } }),
      words.removed,
    )
  return (
    <Card
      title={words.title}
      about={words.about}
      actions={
        may('oauth_client:create') && (
          <Button icon="plus" onClick={() => setMaking(true)}>
            {words.create}
          </Button>
        )
      }
    >
      {query.data?.results.length !== 0 && (
        <List
          query={query}
          columns={words.columns}
          row={(trust) => (
            <tr>
              <td>
                <code>{trust.claims.sub}</code>
                <div className="muted small">{trust.issuer}</div>
              </td>
              <td data-title={words.columns[1]}>
                <Badges of={trust.scopes} />
              </td>
              <td className="muted" data-title={words.columns[2]}>
                {trust.last_used_at ? <Time at={trust.last_used_at} /> : texts.never}
              </td>
              <td className="end">
                {may('oauth_client:delete') && (
                  <Button
                    kind="quiet"
                    icon="trash"
                    aria-label={words.endOf(trust.claims.sub ?? '')}
                    onClick={() => setEnding(trust)}
                  />
                )}
              </td>
            </tr>
          )}
        />
      )}
      {isMaking && <TrustForm account={account} onClose={() => setMaking(false)} />}
      {ending && (
        <Removal
          texts={words}
          name={ending.claims.sub ?? ''}
          remove={() => end(ending.id)}
          onClose={() => setEnding(null)}
        />
      )}
    </Card>
  )
}

type Platform = keyof typeof words.platforms

/** Asks for the platform, the workload there, and what it may do. */
function TrustForm({ account, onClose }: { account: string; onClose: () => void }) {
  const { permissions } = useProfile()
  const [platform, setPlatform] = useState<Platform>('github')
  const [scopes, setScopes] = useState<string[]>([])
  const { issuer, sub } = words.platforms[platform]
  const make = (form: FormData) => {
    const jwks = textOf(form, 'jwks').trim()
    const body = {
      issuer: textOf(form, 'issuer').trim(),
      claims: { sub: textOf(form, 'claims.sub').trim() },
      scopes,
      ...(jwks && { jwks: jsonOf(jwks) }),
    }
    const path = { id: account }
    const run = (password?: string) =>
      call('POST /service-accounts/{id}/trusts/', { path, body: withPassword(body, password) })
    return changed('accounts', () => confirmed(run, { takesPassword: true }), words.created)
  }
  return (
    <FormDialog
      open
      {...words.making}
      onClose={onClose}
      go={words.create}
      submit={async (form) => make(form)}
    >
      <SelectField
        label={words.platform}
        value={platform}
        onChange={({ target }) => setPlatform(target.value as Platform)}
      >
        {Object.entries(words.platforms).map(([name, { label }]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </SelectField>
      <PlainField
        key={issuer}
        label={words.issuer}
        name="issuer"
        defaultValue={issuer}
        required
        inputMode="url"
      />
      <PlainField
        label={words.sub}
        hint={
          <>
            {words.subHint} <code>{sub}</code>
          </>
        }
        name="claims.sub"
        className="mono"
        required
      />
      {platform === 'kubernetes' && (
        <TextArea label={words.jwks} hint={words.jwksHint} name="jwks" rows={3} className="mono" />
      )}
      <TokenField
        label={words.scopes}
        hint={words.scopesHint}
        name="scopes"
        values={scopes}
        suggestions={[...permissions].sort()}
        onChange={setScopes}
      />
    </FormDialog>
  )
}

/** The keys that a text has. Refuses another text than JSON, at its field. */
function jsonOf(text: string): NonNullable<Trust['jwks']> {
  try {
    return JSON.parse(text)
  } catch {
    throw faultOf('jwks', words.noJson)
  }
}
