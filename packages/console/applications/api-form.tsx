import type { OAuthResource } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { readAll } from '../members/queries.ts'
import { Button } from '../parts/button.tsx'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { PlainField, TextField } from '../parts/field.tsx'
import { TokenField } from '../parts/token-field.tsx'
import { useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const {
  apis: { form: words },
} = texts

interface Opened {
  body: OAuthResource
  etag: string | null
}

/** The permissions of a form with their words, without the rows that are empty. */
function scopesOf(form: FormData, rows: number): OAuthResource['scopes'] {
  const all = Array.from({ length: rows }, (_, row) => ({
    permission: textOf(form, `scopes.${row}.permission`).trim(),
    description: textOf(form, `scopes.${row}.description`),
  }))
  return all.filter(({ permission, description }) => permission || description)
}

/** Registers an API, or changes `api`. */
export function ApiForm({ api, onClose }: { api?: Opened; onClose: () => void }) {
  const { current_tenant: tenant } = useProfile()
  // The page can read the API anew while the form is open.
  const [opened] = useState(api)
  const known = opened?.body
  const [rows, setRows] = useState(Math.max(known?.scopes.length ?? 0, 1))
  const [clients, setClients] = useState<readonly string[]>(known?.client_ids ?? [])
  const { data } = useQuery({
    queryKey: ['clients', tenant.id, 'all'],
    queryFn: ({ signal }) =>
      readAll((cursor) => call('GET /oauth-clients/', { query: { page_size: 100, cursor }, signal })),
  })
  const save = async (form: FormData) => {
    const body = {
      name: textOf(form, 'name'),
      identifier: textOf(form, 'identifier').trim(),
      scopes: scopesOf(form, rows),
      client_ids: [...clients],
    }
    if (!opened) return call('POST /oauth-resources/', { body })
    const path = { id: opened.body.id }
    return ifUnchanged('GET /oauth-resources/{id}/', path, opened, (unchanged) =>
      call('PATCH /oauth-resources/{id}/', { path, body, ...unchanged }),
    )
  }
  return (
    <EditDialog
      wide
      name="apis"
      words={{ ...texts.form, ...words }}
      done={texts.apis}
      {...{ known, save, onClose }}
    >
      <TextField
        label={words.name}
        hint={words.nameHint}
        name="name"
        maxLength={120}
        defaultValue={known?.name}
        required
        autoFocus
      />
      <TextField
        label={words.identifier}
        hint={words.identifierHint}
        name="identifier"
        maxLength={2000}
        inputMode="url"
        defaultValue={known?.identifier}
        required
      />
      {Array.from({ length: rows }, (_, row) => (
        <div className="columns" key={row}>
          <PlainField
            label={texts.form.number(words.permission, row + 1)}
            hint={row === 0 && words.permissionHint}
            name={`scopes.${row}.permission`}
            maxLength={128}
            defaultValue={known?.scopes[row]?.permission}
          />
          <TextField
            label={texts.form.number(words.words, row + 1)}
            hint={row === 0 && words.wordsHint}
            name={`scopes.${row}.description`}
            maxLength={200}
            defaultValue={known?.scopes[row]?.description}
          />
        </div>
      ))}
      <div>
        <Button kind="quiet" icon="plus" onClick={() => setRows(rows + 1)}>
          {words.more}
        </Button>
      </div>
      <TokenField
        label={words.clients}
        hint={words.clientsHint}
        name="client_ids"
        values={clients}
        suggestions={data?.results.map(({ id, name }) => ({ value: id, text: name })) ?? []}
        onChange={setClients}
      />
    </EditDialog>
  )
}
