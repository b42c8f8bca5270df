import type { Connection } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { CheckField, PasswordField, PlainField, RadioFields, TextArea, TextField } from '../parts/field.tsx'
import { TokenField } from '../parts/token-field.tsx'
import { textOf } from '../session/use-submit.ts'
import type { Opened } from './state.tsx'
import { texts } from './texts.ts'

const { form: words } = texts
type Kind = Connection['kind']
const subjects: Record<Kind, string> = { oidc: 'sub', saml: 'NameID' }
const plain = { autoCapitalize: 'none', autoComplete: 'off', spellCheck: false } as const

/** What a form says of the provider. What stays as it is, is left out: metadata would be read again. */
function providerIn(form: FormData, scopes: readonly string[], known: Connection | undefined) {
  const text = (name: string) => textOf(form, name).trim()
  if (form.has('oidc.issuer')) {
    const secret = text('oidc.client_secret')
    const oidc = { issuer: text('oidc.issuer'), client_id: text('oidc.client_id'), scopes }
    return { oidc: known && !secret ? oidc : { ...oidc, client_secret: secret } }
  }
  const [metadata, url] = [text('saml.metadata'), text('saml.metadata_url')]
  const before = (known?.kind === 'saml' && known.saml.metadata_url) || ''
  if (known && !metadata && url === before) return {}
  const isOther = url !== before
  return {
    saml: { ...(metadata && { metadata }), ...(url && (isOther || !metadata) && { metadata_url: url }) },
  }
}

/** Sets a connection up, or changes `connection`. `onCreated` gets the new one. */
export function ConnectionForm({
  connection,
  onClose,
  onCreated,
}: {
  connection?: Opened
  onClose: () => void
  onCreated?: (connection: Connection) => void
}) {
  // The page can read the connection anew while the form is open.
  const [opened] = useState(connection)
  const known = opened?.body
  const [kind, setKind] = useState<Kind>(known?.kind ?? 'oidc')
  const oidc = known?.kind === 'oidc' ? known.oidc : undefined
  const [scopes, setScopes] = useState<readonly string[]>(oidc?.scopes ?? ['openid', 'email', 'profile'])
  const save = (form: FormData) => {
    const body = {
      name: textOf(form, 'name'),
      ...providerIn(form, scopes, known),
      subject_attribute: textOf(form, 'subject_attribute'),
      jit: form.has('jit') ? 'verified_domains' : 'off',
      trusts_mfa: form.has('trusts_mfa'),
    }
    if (!opened) return call('POST /connections/', { body: { ...body, kind } as never })
    const path = { id: opened.body.id }
    return ifUnchanged('GET /connections/{id}/', path, opened, (unchanged) =>
      call('PATCH /connections/{id}/', { path, body: body as never, ...unchanged }),
    )
  }
  return (
    <EditDialog
      wide
      name="connections"
      done={texts}
      {...{ words, known, save, onClose }}
      about={known && isTried(known) && texts.returns}
      onSaved={(saved) => !known && onCreated?.(saved)}
    >
      {!known && (
        <RadioFields<Kind> label={words.kind} name="kind" options={texts.kinds} onChoose={setKind} />
      )}
      <TextField
        label={words.name}
        hint={words.nameHint}
        name="name"
        maxLength={120}
        defaultValue={known?.name}
        required
      />
      {kind === 'oidc' ? (
        <>
          <PlainField
            label={words.issuer}
            hint={words.issuerHint}
            name="oidc.issuer"
            inputMode="url"
            maxLength={2000}
            defaultValue={oidc?.issuer}
            required
          />
          <div className="columns">
            <PlainField
              label={words.client}
              name="oidc.client_id"
              maxLength={500}
              defaultValue={oidc?.client_id}
              required
            />
            <PasswordField
              label={words.secret}
              hint={known ? words.secretKept : words.secretHint}
              name="oidc.client_secret"
              autoComplete="off"
              maxLength={2000}
            />
          </div>
          <TokenField label={words.scopes} name="oidc.scopes" values={scopes} onChange={setScopes} />
        </>
      ) : (
        <>
          <PlainField
            label={words.metadataUrl}
            hint={words.metadataUrlHint}
            name="saml.metadata_url"
            inputMode="url"
            maxLength={2000}
            defaultValue={(known?.kind === 'saml' && known.saml.metadata_url) || ''}
          />
          <TextArea
            label={words.metadata}
            hint={words.metadataHint}
            name="saml.metadata"
            rows={4}
            className="mono"
            {...plain}
          />
        </>
      )}
      <PlainField
        key={kind}
        label={words.subject}
        hint={words.subjectHint[kind]}
        name="subject_attribute"
        maxLength={200}
        defaultValue={known?.subject_attribute ?? subjects[kind]}
        required
      />
      <CheckField
        name="jit"
        label={words.jit}
        hint={words.jitHint}
        defaultChecked={known?.jit === 'verified_domains'}
      />
      <CheckField
        name="trusts_mfa"
        label={words.mfa}
        hint={words.mfaHint}
        defaultChecked={known?.trusts_mfa}
      />
    </EditDialog>
  )
}

/** Whether a change can undo a try, or an activation. */
export const isTried = ({ status, tested_at: tested }: Connection) => status !== 'draft' || tested !== null
