import { useId, useState } from 'react'
import { Icon } from './icon.tsx'
import { useFault } from './refused.tsx'
import { texts } from './texts.ts'

/** A list of texts: each is added with Enter or a comma, and removed by its button or with Backspace. */
export function TokenField({
  label,
  hint,
  name,
  fault: own,
  values,
  suggestions = [],
  disabled,
  onChange,
}: {
  label: string
  hint?: string
  fault?: string | undefined
  /** Its name in the API, by which a refusal of the form is about it. */
  name?: string
  values: readonly string[]
  suggestions?: readonly (string | { value: string; text: string })[]
  disabled?: boolean
  onChange: (values: string[]) => void
}) {
  const id = useId()
  const fault = useFault(name, own)
  const [typed, setTyped] = useState('')
  const options = suggestions.map((one) => (typeof one === 'string' ? { value: one, text: one } : one))
  const add = (text: string) => {
    const added = text.split(/[\s,]+/).filter((one) => one !== '' && !values.includes(one))
    if (added.length > 0) onChange([...values, ...added])
    setTyped('')
  }
  const nameOf = (value: string) => options.find((one) => one.value === value)?.text ?? value
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      <div className="tokens">
        {values.map((value) => (
          <span className="token" key={value}>
            <bdi>{nameOf(value)}</bdi>
            {!disabled && (
              <button
                type="button"
                aria-label={texts.removeValue(nameOf(value))}
                onClick={() => onChange(values.filter((one) => one !== value))}
              >
                <Icon name="close" size={12} />
              </button>
            )}
          </span>
        ))}
        <input
          id={id}
          list={`${id}-list`}
          value={typed}
          disabled={disabled}
          autoComplete="off"
          aria-describedby={hint || fault ? `${id}-about` : undefined}
          aria-invalid={fault ? true : undefined}
          onChange={(event) => {
            const { value } = event.target
            const isChosen = options.some((one) => one.value === value) && !isTyping(event.nativeEvent)
            if (isChosen || value.endsWith(',')) add(value)
            else setTyped(value)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && typed) {
              event.preventDefault()
              add(typed)
            }
            if (event.key === 'Backspace' && typed === '') onChange(values.slice(0, -1))
          }}
          onBlur={() => typed && add(typed)}
        />
        <datalist id={`${id}-list`}>
          {options
            .filter(({ value }) => !values.includes(value))
            .map(({ value, text }) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
        </datalist>
      </div>
      {(fault || hint) && (
        <p className={fault ? 'field-fault' : 'field-hint'} id={`${id}-about`}>
          {fault ?? hint}
        </p>
      )}
    </div>
  )
}

/** Whether a change of the field came from a key; a choice from the list is none. */
const isTyping = (event: Event) =>
  event instanceof InputEvent && /^(insert|delete)(Text|Content)/.test(event.inputType)
