import { useState } from 'react'
import { call, prefix } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { CopyValue } from '../parts/copy.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { SelectField } from '../parts/field.tsx'
import { Card } from '../parts/page.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { connect: words } = texts
type Kind = keyof typeof words.kinds
const kinds = Object.keys(words.kinds) as Kind[]
const year = 365 * 86_400
const role = 'Directory'

/** Entra asks for the standard's form of PATCH by a flag in the address. */
const addressFor = (kind: Kind) =>
  `${location.origin}${prefix}/scim/v2${kind === 'Entra' ? '/?aadOptscim062020' : ''}`

/** What to enter in a directory, and the key for it. */
export function ConnectCard() {
  const may = useMay()
  const { id: tenant } = useProfile().current_tenant
  const [asking, setAsking] = useState(false)
  const [made, setMade] = useState<{ key: string; kind: Kind } | null>(null)
  const make = async (form: FormData) => {
    const kind = textOf(form, 'kind') as Kind
    await changed(
      'accounts',
      async () => {
        await call('POST /tenants/{id}/roles/', {
          path: { id: tenant },
          body: { name: role, permissions: ['scim:provision'] },
        }).catch((error) => {
          if (asProblem(error).code !== 'name_taken') throw error
        })
        const { id } = await call('POST /service-accounts/', { body: { name: kind, roles: [role] } })
        const { key } = await call('POST /service-accounts/{id}/keys/', {
          path: { id },
          body: { name: kind, expires_in: year, scopes: ['scim:provision'] },
        })
        setMade({ key, kind })
      },
      words.made,
    )
  }
  return (
    <Card
      title={words.title}
      about={words.about}
      actions={
        may('scim:provision') && (
          <Button icon="plus" onClick={() => setAsking(true)}>
            {words.create}
          </Button>
        )
      }
      foot={words.accounts}
    >
      <Facts
        of={kinds.map((kind) => [
          words.kinds[kind],
          <span key={kind}>
            <CopyValue text={addressFor(kind)} of={words.kinds[kind]} />
            <span className="muted small block">{words.where[kind]}</span>
          </span>,
        ])}
      />
      {asking && (
        <FormDialog
          open
          onClose={() => setAsking(false)}
          title={words.create}
          about={words.createAbout}
          go={words.createGo}
          submit={make}
        >
          <SelectField label={words.directory} name="kind">
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                {words.kinds[kind]}
              </option>
            ))}
          </SelectField>
        </FormDialog>
      )}
      {made && (
        <SecretDialog
          title={words.secretTitle}
          about={words.secretAbout}
          secret={made.key}
          onDone={() => setMade(null)}
        >
          <Facts of={[[words.url, <CopyValue key="url" text={addressFor(made.kind)} of={words.url} />]]} />
        </SecretDialog>
      )}
    </Card>
  )
}
