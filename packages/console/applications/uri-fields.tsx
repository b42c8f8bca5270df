import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { PlainField } from '../parts/field.tsx'
import { texts } from './texts.ts'

const { form: words } = texts

/** The URIs of a form, without the empty fields at the end; `least` of them stay, so that the service says what is wrong. */
export function urisOf(form: FormData, name: string, least: number): string[] {
  const uris = [...form].filter(([key]) => key.startsWith(`${name}.`)).map(([, uri]) => String(uri).trim())
  while (uris.length > least && uris.at(-1) === '') uris.pop()
  return uris
}

/** A field for each URI of a list, and for what the service says about it. */
export function UriFields({
  label,
  hint,
  name,
  known,
}: {
  label: string
  hint: string
  name: string
  known: readonly string[]
}) {
  const [rows, setRows] = useState(() => Array.from({ length: Math.max(known.length, 1) }, (_, row) => row))
  return (
    <>
      {rows.map((row, index) => {
        const text = words.number(label, index + 1)
        const remove = () => setRows(rows.filter((one) => one !== row))
        return (
          <PlainField
            key={row}
            label={text}
            hint={index === 0 && hint}
            name={`${name}.${index}`}
            defaultValue={known[row]}
            maxLength={2000}
            inputMode="url"
            aside={
              index > 0 && <Button kind="quiet" icon="close" aria-label={words.less(text)} onClick={remove} />
            }
          />
        )
      })}
      <div>
        <Button
          kind="quiet"
          icon="plus"
          aria-label={`${words.more}: ${label}`}
          onClick={() => setRows([...rows, Math.max(...rows) + 1])}
        >
          {words.more}
        </Button>
      </div>
    </>
  )
}
