import { useState } from 'react'
import { writeJson } from '../editor/write-json.ts'
import { TextArea } from '../parts/field.tsx'
import { texts } from './texts.ts'

/** A value that is written as JSON. What is not JSON yet stays in the field, and the value as it was. */
export function JsonField({
  label,
  hint,
  value,
  fault,
  onChange,
}: {
  label: string
  hint: string
  value: unknown
  fault: string | undefined
  onChange: (value: unknown) => void
}) {
  const shown = writeJson(value)
  const [typed, setTyped] = useState<{ text: string; of: string } | null>(null)
  const text = typed && typed.of === shown ? typed.text : shown
  const isJson = parsed(text) !== undefined
  return (
    <TextArea
      label={label}
      hint={hint}
      className="mono"
      rows={3}
      spellCheck={false}
      value={text}
      fault={isJson ? fault : texts.editor.notJson}
      onChange={(event) => {
        const next = parsed(event.target.value)
        setTyped({ text: event.target.value, of: next === undefined ? shown : writeJson(next) })
        if (next !== undefined) onChange(next)
      }}
    />
  )
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
