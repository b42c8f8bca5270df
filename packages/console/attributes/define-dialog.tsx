import { useState } from 'react'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { SelectField, TextArea, TextField } from '../parts/field.tsx'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

const { dialog: words } = texts

/** The allowed values of the field, one per line, in the type of the attribute. */
function valuesIn(text: string, type: string): unknown[] | null {
  const lines = text.split('\n').flatMap((line) => line.trim() || [])
  if (lines.length === 0) return null
  if (type === 'boolean')
    return lines.map((line) => (line === 'true' ? true : line === 'false' ? false : line))
  const isNumber = type === 'integer' || type === 'number'
  return lines.map((line) => (isNumber && Number.isFinite(Number(line)) ? Number(line) : line))
}

export function DefineDialog({ onClose }: { onClose: () => void }) {
  const [type, setType] = useState('string')
  const submit = async (form: FormData) => {
    const name = textOf(form, 'display_name').trim()
    const body = {
      key: textOf(form, 'key').trim(),
      ...(name && { display_name: name }),
      category: textOf(form, 'category'),
      data_type: type,
      allowed_values: valuesIn(textOf(form, 'allowed_values'), type),
      is_required: form.has('is_required'),
      description: textOf(form, 'description'),
    }
    await changed(
      'attributes',
      () => call('POST /attribute-definitions/', { body: body as never }),
      texts.created,
    )
  }
  return (
    <FormDialog
      open
      wide
      onClose={onClose}
      title={words.title}
      about={words.about}
      go={words.go}
      submit={submit}
    >
      <div className="columns">
        <SelectField label={words.category} name="category">
          {Object.entries(texts.categories).map(([category, name]) => (
            <option key={category} value={category}>
              {name}
            </option>
          ))}
        </SelectField>
        <TextField
          label={words.key}
          hint={words.keyHint}
          name="key"
          className="mono"
          maxLength={63}
          required
          autoFocus
        />
        <SelectField
          label={words.type}
          name="data_type"
          value={type}
          onChange={(event) => setType(event.target.value)}
        >
          {Object.entries(texts.types).map(([one, name]) => (
            <option key={one} value={one}>
              {name}
            </option>
          ))}
        </SelectField>
        <TextField label={words.name} name="display_name" maxLength={120} />
      </div>
      <TextArea label={words.values} hint={words.valuesHint} name="allowed_values" rows={3} />
      <TextArea label={words.description} name="description" rows={2} maxLength={2000} />
      <label className="line">
        <input type="checkbox" className="check" name="is_required" />
        {words.isRequired}
      </label>
    </FormDialog>
  )
}
