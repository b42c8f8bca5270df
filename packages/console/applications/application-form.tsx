import type { OAuthClient } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { changed } from '../parts/approvable.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { CheckField, RadioFields, TextField } from '../parts/field.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { TokenField } from '../parts/token-field.tsx'
import { useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { AccountField } from './account-field.tsx'
import { Advanced, advancedOf, returns, usesSecrets } from './advanced.tsx'
import { texts } from './texts.ts'
import { UriFields, urisOf } from './uri-fields.tsx'

const { form: words } = texts
const fresh = ['openid', 'profile', 'email', 'offline_access']
type Kind = OAuthClient['kind']
const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** An application as it was read, with its version. */
export interface Opened {
  body: OAuthClient
  etag: string | null
}

/** An application that was just registered, and its secret, which the service does not show again. */
export interface Registered {
  client: OAuthClient
  secret: string | null
}

/** Registers an application, or changes `application`. */
export function ApplicationForm({
  application,
  onClose,
  onRegistered,
}: {
  application?: Opened
  onClose: () => void
  onRegistered?: (registered: Registered) => void
}) {
  const { roles, permissions: held } = useProfile()
  const isOwner = roles.includes('owner')
  // The page can read the application anew while the form is open.
  const [opened] = useState(application)
  const known = opened?.body
  const [kind, setKind] = useState(known?.kind ?? 'web')
  const scopes = known?.scopes ?? fresh
  const [permissions, setPermissions] = useState(() => scopes.filter((one) => !texts.scopes[one]))

  const register = async (form: FormData) => {
    let client: OAuthClient | undefined
    let secret: string | null = null
    const path = () => ({ id: client!.id })
    const make = async () => {
      const kind = textOf(form, 'kind') as Kind
      client ??= await call('POST /oauth-clients/', { body: { ...fieldsOf(form), kind } as never })
      if (usesSecrets(client))
        secret = (await call('POST /oauth-clients/{id}/secrets/', { path: path() })).secret
    }
    await changed('clients', make, texts.created).catch((error) => {
      if (!client) throw error
      sayFault(error) // it is registered, and has no secret yet
    })
    if (client) onRegistered?.({ client, secret })
  }
  const change = async (form: FormData, opened: Opened) => {
    const { body: known } = opened
    const fields = {
      ...fieldsOf(form),
      post_logout_redirect_uris: urisOf(form, 'post_logout_redirect_uris', 0),
      is_active: form.has('is_active'),
      ...(isOwner && kind !== 'machine' && { first_party: form.has('first_party') }),
    }
    const body = Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => !isSame(value, known[name as keyof OAuthClient])),
    )
    const path = { id: known.id }
    const save = () =>
      ifUnchanged('GET /oauth-clients/{id}/', path, opened, (unchanged) =>
        call('PATCH /oauth-clients/{id}/', { path, body, ...unchanged }),
      )
    await changed('clients', save, texts.changed)
  }
  /** Scopes that stay keep their order, because it is no change. */
  const fieldsOf = (form: FormData) => {
    const chosen = [...form.getAll('scopes'), ...permissions]
    return {
      name: textOf(form, 'name'),
      redirect_uris: urisOf(form, 'redirect_uris', 1),
      scopes: [...new Set([...scopes, ...Object.keys(texts.scopes), ...permissions])].filter((one) =>
        chosen.includes(one),
      ),
      ...(kind === 'machine' && { service_account_id: textOf(form, 'service_account_id') || null }),
      ...advancedOf(form, kind, known),
    }
  }
  return (
    <FormDialog
      open
      wide
      onClose={onClose}
      title={known ? words.edit : words.create}
      about={known && words.consents}
      go={known ? words.editGo : words.createGo}
      submit={(form) => (opened ? change(form, opened) : register(form))}
    >
      {!known && (
        <RadioFields<Kind> label={words.kind} name="kind" options={texts.kinds} onChoose={setKind} />
      )}
      <TextField
        label={words.name}
        hint={kind !== 'machine' && words.nameHint}
        name="name"
        maxLength={120}
        defaultValue={known?.name}
        required
      />
      {returns(kind) && (
        <UriFields
          label={words.redirect}
          hint={words.redirectHint}
          name="redirect_uris"
          known={known?.redirect_uris ?? []}
        />
      )}
      {known && returns(kind) && (
        <UriFields
          label={words.logout}
          hint={words.logoutHint}
          name="post_logout_redirect_uris"
          known={known.post_logout_redirect_uris}
        />
      )}
      {kind === 'machine' && <AccountField known={known?.service_account_id} />}
      {kind !== 'machine' && (
        <fieldset className="choices">
          <legend className="field-label">{words.scopes}</legend>
          <div className="columns effects">
            {Object.entries(texts.scopes).map(([scope, [label, hint]]) => (
              <CheckField
                key={scope}
                name="scopes"
                value={scope}
                label={label}
                hint={hint}
                defaultChecked={scopes.includes(scope)}
              />
            ))}
          </div>
        </fieldset>
      )}
      <TokenField
        label={words.permissions}
        hint={words.permissionsHint}
        name="scopes"
        values={permissions}
        suggestions={held.filter((one) => !one.endsWith(':*')).sort()}
        onChange={setPermissions}
      />
      <Advanced kind={kind} known={known} key={kind} />
      {known && (
        <CheckField
          name="is_active"
          label={words.active}
          hint={words.activeHint}
          defaultChecked={known.is_active}
        />
      )}
      {known && kind !== 'machine' && (
        <CheckField
          name="first_party"
          label={words.firstParty}
          hint={`${words.firstPartyHint} ${isOwner ? '' : known.first_party ? words.ownerUris : words.owner}`}
          defaultChecked={known.first_party}
          disabled={!isOwner}
        />
      )}
    </FormDialog>
  )
}
