import type { Domain } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { ifUnchanged } from '../api/if-unchanged.ts'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { CheckField, PlainField, SelectField } from '../parts/field.tsx'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { form: words, routes } = texts

/** A domain as it was read, with its version. */
export interface Opened {
  body: Domain
  etag: string | null
}

/** Claims a domain, or changes what `domain` does. `onCreated` gets the new one. */
export function DomainForm({
  domain,
  onClose,
  onCreated,
}: {
  domain?: Opened
  onClose: () => void
  onCreated?: (domain: Domain) => void
}) {
  // The page can read the domain anew while the form is open.
  const [opened] = useState(domain)
  const known = opened?.body
  const save = (form: FormData) => {
    const body = {
      route: textOf(form, 'route') as Domain['route'],
      subdomains: form.has('subdomains'),
    }
    if (!opened || !known)
      return call('POST /domains/', { body: { domain: textOf(form, 'domain'), ...body } })
    const path = { id: known.id }
    return ifUnchanged('GET /domains/{id}/', path, opened, (unchanged) =>
      call('PATCH /domains/{id}/', { path, body, ...unchanged }),
    )
  }
  return (
    <EditDialog
      name="domains"
      done={texts}
      {...{ words, known, save, onClose }}
      onSaved={(saved) => !known && onCreated?.(saved)}
    >
      {!known && (
        <PlainField
          label={words.domain}
          hint={words.domainHint}
          name="domain"
          maxLength={253}
          inputMode="url"
          required
          autoFocus
        />
      )}
      <SelectField label={words.route} name="route" defaultValue={known?.route}>
        {Object.entries(routes).map(([route, text]) => (
          <option key={route} value={route}>
            {text}
          </option>
        ))}
      </SelectField>
      <CheckField
        name="subdomains"
        label={words.subdomains}
        hint={words.subdomainsHint}
        defaultChecked={known?.subdomains}
      />
    </EditDialog>
  )
}
