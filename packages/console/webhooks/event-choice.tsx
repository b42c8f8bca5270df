import { useState } from 'react'
import { eventTypes } from '../api/names.ts'
import { useFault } from '../parts/refused.tsx'
import { texts } from './texts.ts'

const { form: words } = texts
const families = [...new Set(eventTypes.map((type) => type.slice(0, type.indexOf('.'))))]

/** The types that a form's fields name; null if the person chose none. */
export function readChoice(form: FormData): string[] | null {
  if (form.get('scope') !== 'chosen') return []
  const types = form.getAll('types').map(String)
  const whole = new Set(types.filter((type) => type.endsWith('.*')))
  const needed = types.filter(
    (type) => !whole.has(`${type.slice(0, type.indexOf('.'))}.*`) || whole.has(type),
  )
  return needed.length > 0 ? [...new Set(needed)] : null
}

/** All events, or some: whole families and single types. */
export function EventChoice({ chosen }: { chosen: readonly string[] }) {
  const [every, setEvery] = useState(chosen.length === 0)
  const fault = useFault(every ? undefined : 'event_types')
  return (
    <fieldset className="choices">
      <legend className="field-label">{words.events}</legend>
      <label className="choice">
        <input
          type="radio"
          name="scope"
          value="every"
          defaultChecked={every}
          onChange={() => setEvery(true)}
        />
        <span>{words.every}</span>
      </label>
      <label className="choice">
        <input
          type="radio"
          name="scope"
          value="chosen"
          defaultChecked={!every}
          onChange={() => setEvery(false)}
        />
        <span>{words.chosen}</span>
      </label>
      {!every && (
        <>
          <div className="types">
            {families.map((family) => (
              <Family key={family} family={family} chosen={chosen} />
            ))}
          </div>
          {fault && <p className="field-fault">{fault}</p>}
        </>
      )}
    </fieldset>
  )
}

function Family({ family, chosen }: { family: string; chosen: readonly string[] }) {
  const [whole, setWhole] = useState(chosen.includes(`${family}.*`))
  const types = eventTypes.filter((type) => type.startsWith(`${family}.`))
  return (
    <details open={types.some((type) => chosen.includes(type))}>
      <summary>{texts.families[family] ?? family}</summary>
      <label>
        <input
          type="checkbox"
          className="check"
          name="types"
          value={`${family}.*`}
          checked={whole}
          onChange={() => setWhole(!whole)}
        />
        {words.family(family)}
      </label>
      {types.map((type) => (
        <label key={type}>
          <input
            type="checkbox"
            className="check"
            name="types"
            value={type}
            disabled={whole}
            defaultChecked={chosen.includes(type)}
          />
          <code>{type.slice(family.length + 1)}</code>
        </label>
      ))}
    </details>
  )
}
