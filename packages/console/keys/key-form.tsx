import { useState } from 'react'
import { faultOf } from '../api/problem.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { SelectField, TextField } from '../parts/field.tsx'
import { TokenField } from '../parts/token-field.tsx'
import { useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import type { NewKey } from './key-calls.ts'
import { texts } from './texts.ts'

const { form: words } = texts
const day = 86_400

/** Asks for the name, lifetime and permissions of a new key. */
export function KeyForm({
  onClose,
  create,
}: {
  onClose: () => void
  create: (body: NewKey) => Promise<unknown>
}) {
  const { permissions } = useProfile()
  const [isLimited, setLimited] = useState(false)
  const [scopes, setScopes] = useState<string[]>([])
  const wholes = [...new Set(permissions.map((one) => `${one.split(':')[0]}:*`))]
  const submit = (form: FormData) => {
    if (isLimited && scopes.length === 0) throw faultOf('scopes', words.noScope)
    return create({
      name: textOf(form, 'name'),
      expires_in: Number(textOf(form, 'expires_in')),
      scopes: isLimited ? scopes : null,
    })
  }
  return (
    <FormDialog
      open
      onClose={onClose}
      title={words.title}
      go={words.go}
      submit={async (form) => submit(form)}
    >
      <TextField label={words.name} hint={words.nameHint} name="name" maxLength={120} required autoFocus />
      <SelectField label={words.expires} name="expires_in" defaultValue={90 * day}>
        {[7, 30, 90, 365].map((days) => (
          <option key={days} value={days * day}>
            {words.days(days)}
          </option>
        ))}
      </SelectField>
      <fieldset className="choices">
        <legend className="field-label">{words.may}</legend>
        {[false, true].map((limited) => (
          <label className="choice" key={words.some + limited}>
            <input
              type="radio"
              name="may"
              checked={isLimited === limited}
              onChange={() => setLimited(limited)}
            />
            <span>
              <strong>{limited ? words.some : words.all}</strong>
              <span className="muted small">{limited ? words.someAbout : words.allAbout}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {isLimited && (
        <TokenField
          label={words.scopes}
          hint={words.scopesHint}
          values={scopes}
          suggestions={[...permissions, ...wholes].sort()}
          onChange={setScopes}
          name="scopes"
        />
      )}
    </FormDialog>
  )
}
