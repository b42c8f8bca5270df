import { type ReactNode, useEffect, useRef, useState } from 'react'
import { SearchField } from './field.tsx'
import type { Filters } from './filters.ts'
import { Icon } from './icon.tsx'
import { texts } from './texts.ts'

/** A filter of a list: a text, which is applied when the keyboard rests, a choice, or a day. `name` is its name in the address. */
export type Filter = { name: string; label: string } & (
  | { kind?: 'search' | 'text' | 'day' }
  /** Each value with its text. Without a value, all match. */
  | { kind: 'choice'; options: readonly (readonly [value: string, text: string])[] }
  /** A value that another page set: it is shown while it is set, and can be removed. */
  | { kind: 'set'; show: (value: string) => ReactNode }
)

/** A filter by one of a few values: `options` has the text of each. */
export const choice = (name: string, label: string, options: Readonly<Record<string, string>>): Filter => ({
  name,
  label,
  kind: 'choice',
  options: Object.entries(options),
})

/** The filters of a list. They follow the address, also where something else than their field changed it. */
export function Toolbar({
  fields,
  filters,
  change,
  inCard,
}: {
  fields: readonly Filter[]
  filters: Filters
  change: (filters: Filters) => void
  inCard?: boolean
}) {
  return (
    <div className={inCard ? 'toolbar card-toolbar' : 'toolbar'}>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={filters[field.name] ?? ''}
          apply={(value) => change({ [field.name]: value })}
        />
      ))}
    </div>
  )
}

interface Applied {
  field: Filter
  value: string
  apply: (value: string | undefined) => void
}

function Field({ field, value, apply }: Applied) {
  const { label } = field
  if (field.kind === 'choice')
    return (
      <select
        className="input"
        aria-label={label}
        value={value}
        onChange={(event) => apply(event.target.value)}
      >
        <option value="">{label}</option>
        {field.options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    )
  if (field.kind === 'day')
    return (
      <input
        type="date"
        className="input"
        aria-label={label}
        title={label}
        value={value}
        onChange={(event) => apply(event.target.value)}
      />
    )
  if (field.kind === 'set')
    return value ? (
      <span className="token">
        {label} {field.show(value)}
        <button type="button" aria-label={texts.removeValue(label)} onClick={() => apply(undefined)}>
          <Icon name="close" size={12} />
        </button>
      </span>
    ) : null
  return <TypedField {...{ field, value, apply }} />
}

/** A text that follows the keyboard at once, and is applied when it rests. */
function TypedField({ field: { kind = 'search', label }, value, apply }: Applied) {
  const [typed, setTyped] = useState(value)
  const told = useRef(value)
  useEffect(() => {
    if (value !== told.current) {
      told.current = value
      setTyped(value)
    }
  }, [value])
  useEffect(() => {
    if (typed === told.current) return
    const timer = setTimeout(() => {
      told.current = typed
      apply(typed)
    }, 250)
    return () => clearTimeout(timer)
  })
  const shown = {
    value: typed,
    onChange: (event: { target: { value: string } }) => setTyped(event.target.value),
  }
  return kind === 'search' ? (
    <SearchField label={label} {...shown} />
  ) : (
    <input className="input" aria-label={label} placeholder={label} {...shown} />
  )
}
