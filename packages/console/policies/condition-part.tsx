import { writeJson } from '../editor/write-json.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Comparison } from './comparison.tsx'
import { texts } from './texts.ts'
import type { Vocabulary } from './vocabulary.ts'

const { form: words } = texts
const kinds = ['all', 'any', 'none'] as const
type Kind = (typeof kinds)[number]
const maxLevels = 4

interface Shown {
  value: unknown
  pointer: string
  level: number
  known: Vocabulary
  fault: (pointer: string) => string | undefined
  /** Undefined removes the part. */
  onChange: (value: unknown) => void
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const kindOf = (value: unknown): Kind | undefined =>
  isObject(value) ? kinds.find((kind) => Array.isArray(value[kind])) : undefined

/** A part of a condition as fields: a group of parts, or one comparison. */
export function ConditionPart({ value, pointer, level, known, fault, onChange }: Shown) {
  const kind = kindOf(value)
  const isEmpty =
    value === null || value === undefined || (isObject(value) && Object.keys(value).length === 0)
  if (isEmpty)
    return (
      <div className="line">
        <Button icon="plus" onClick={() => onChange({ all: [newComparison(known)] })}>
          {words.addCondition}
        </Button>
      </div>
    )
  if (isObject(value) && !kind && ('attribute' in value || 'operator' in value))
    return <Comparison {...{ value, pointer, known, fault, onChange }} />
  if (!kind) return <ByHand value={value} onRemove={() => onChange(undefined)} />
  const parts = (value as Record<Kind, unknown[]>)[kind]
  const setPart = (index: number, next: unknown) => {
    const changed = next === undefined ? parts.toSpliced(index, 1) : parts.with(index, next)
    onChange(changed.length === 0 ? undefined : { [kind]: changed })
  }
  const add = (part: unknown) => onChange({ [kind]: [...parts, part] })
  return (
    <fieldset className="group" data-kind={kind} aria-label={words.groups[kind]}>
      <div className="line">
        <select
          className="input group-kind"
          aria-label={words.group}
          value={kind}
          onChange={(event) => onChange({ [event.target.value]: parts })}
        >
          {kinds.map((one) => (
            <option key={one} value={one}>
              {words.groups[one]}
            </option>
          ))}
        </select>
        <Button kind="quiet" icon="trash" aria-label={words.removePart} onClick={() => onChange(undefined)} />
      </div>
      <ul className="group-parts">
        {parts.map((part, index) => (
          <li key={index}>
            <ConditionPart
              value={part}
              pointer={`${pointer}/${kind}/${index}`}
              level={level + 1}
              {...{ known, fault }}
              onChange={(next) => setPart(index, next)}
            />
          </li>
        ))}
      </ul>
      <div className="line">
        <button type="button" className="text-button add" onClick={() => add(newComparison(known))}>
          <Icon name="plus" size={14} /> {words.addComparison}
        </button>
        {level < maxLevels && (
          <button
            type="button"
            className="text-button add"
            onClick={() => add({ any: [newComparison(known)] })}
          >
            <Icon name="plus" size={14} /> {words.addGroup}
          </button>
        )}
      </div>
    </fieldset>
  )
}

const newComparison = ({ attributes }: Vocabulary) => ({
  attribute: attributes.find(({ name }) => name === 'environment.hour')?.name ?? attributes[0]?.name ?? '',
  operator: 'gte',
  value: 18,
})

/** A part that is neither a group nor a comparison: only the text can change it. */
function ByHand({ value, onRemove }: { value: unknown; onRemove: () => void }) {
  return (
    <div className="comparison">
      <span className="muted small">{words.unknown}</span>
      <code className="grow">{writeJson(value, ' ')}</code>
      <Button kind="quiet" icon="trash" aria-label={words.removePart} onClick={onRemove} />
    </div>
  )
}
