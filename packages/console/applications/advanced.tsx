import type { OAuthClient } from '@bailiwick/client'
import { useState } from 'react'
import { faultOf } from '../api/problem.ts'
import { Button } from '../parts/button.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../parts/field.tsx'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { advanced: words } = texts
type Kind = OAuthClient['kind']
type Method = OAuthClient['token_endpoint_auth_method']

export const keepsSecrets = (kind: Kind) => kind === 'web' || kind === 'machine'
export const usesSecrets = ({ token_endpoint_auth_method: method }: OAuthClient) =>
  method.startsWith('client_secret_')
/** Whether a browser returns to applications of a kind. */
export const returns = (kind: Kind) => kind !== 'device' && kind !== 'machine'

const textOfKeys = (known: OAuthClient | undefined) =>
  known?.jwks ? JSON.stringify(known.jwks, null, 2) : ''

/** What the advanced fields say; nothing while they are closed. */
export function advancedOf(form: FormData, kind: Kind, known?: OAuthClient): Partial<OAuthClient> {
  if (!form.has('advanced')) return {}
  const given = (name: string) => textOf(form, name).trim() || null
  return {
    ...(keepsSecrets(kind) && {
      token_endpoint_auth_method: textOf(form, 'token_endpoint_auth_method') as Method,
      jwks_uri: given('jwks_uri'),
      jwks: keysOf(form, known),
    }),
    ...(kind === 'web' && { require_pkce: form.has('require_pkce') }),
    ...(returns(kind) && { require_par: form.has('require_par') }),
    dpop_bound: form.has('dpop_bound'),
    ...(kind !== 'machine' && {
      id_token_signed_response_alg: textOf(
        form,
        'id_token_signed_response_alg',
      ) as OAuthClient['id_token_signed_response_alg'],
      // Without a word of an editor they are the roles.
      ...((known?.groups || textOf(form, 'groups') !== 'roles') && {
        groups: textOf(form, 'groups') as OAuthClient['groups'],
      }),
      backchannel_logout_uri: given('backchannel_logout_uri'),
    }),
  }
}

/** The keys that were typed. The service writes them in its own form, so what is as it was shown is no change. */
function keysOf(form: FormData, known: OAuthClient | undefined): OAuthClient['jwks'] {
  const text = textOf(form, 'jwks').trim()
  if (text === '') return null
  if (known && text === textOfKeys(known)) return known.jwks
  try {
    return JSON.parse(text)
  } catch {
    throw faultOf('jwks', words.noJson)
  }
}

/** Fields that few applications need, behind a button. */
export function Advanced({ kind, known }: { kind: Kind; known: OAuthClient | undefined }) {
  const [open, setOpen] = useState(false)
  const [method, setMethod] = useState(known?.token_endpoint_auth_method ?? 'client_secret_basic')
  return (
    <>
      <div>
        <Button kind="quiet" icon="chevron" aria-expanded={open} onClick={() => setOpen(!open)}>
          {words.title}
        </Button>
      </div>
      {open && (
        <>
          <input type="hidden" name="advanced" />
          {keepsSecrets(kind) && (
            <SelectField
              label={words.method}
              name="token_endpoint_auth_method"
              value={method}
              onChange={({ target }) => setMethod(target.value as Method)}
            >
              {Object.entries(words.methods).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </SelectField>
          )}
          {keepsSecrets(kind) && method === 'private_key_jwt' && (
            <>
              <TextField
                label={words.jwksUri}
                hint={words.jwksUriHint}
                name="jwks_uri"
                inputMode="url"
                defaultValue={known?.jwks_uri ?? ''}
              />
              <TextArea
                label={words.jwks}
                hint={words.jwksHint}
                name="jwks"
                className="code"
                rows={5}
                spellCheck={false}
                defaultValue={textOfKeys(known)}
              />
            </>
          )}
          {kind !== 'machine' && (
            <>
              <div className="columns">
                <SelectField
                  label={words.algorithm}
                  hint={words.algorithmHint}
                  name="id_token_signed_response_alg"
                  defaultValue={known?.id_token_signed_response_alg}
                >
                  {['RS256', 'ES256', 'EdDSA'].map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </SelectField>
                <SelectField
                  label={words.groups}
                  hint={words.groupsHint}
                  name="groups"
                  defaultValue={known?.groups ?? 'roles'}
                >
                  {Object.entries(words.groupKinds).map(([value, text]) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ))}
                </SelectField>
              </div>
              <TextField
                label={words.backchannel}
                hint={words.backchannelHint}
                name="backchannel_logout_uri"
                inputMode="url"
                defaultValue={known?.backchannel_logout_uri ?? ''}
              />
            </>
          )}
          {kind === 'web' && (
            <CheckField
              name="require_pkce"
              label={words.pkce}
              hint={words.pkceHint}
              defaultChecked={known?.require_pkce}
            />
          )}
          {returns(kind) && (
            <CheckField
              name="require_par"
              label={words.par}
              hint={words.parHint}
              defaultChecked={known?.require_par}
            />
          )}
          <CheckField
            name="dpop_bound"
            label={words.dpop}
            hint={words.dpopHint}
            defaultChecked={known?.dpop_bound}
          />
        </>
      )}
    </>
  )
}
