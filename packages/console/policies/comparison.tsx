import { type DataType, operatorsByType } from '../api/names.ts'
import { Button } from '../parts/button.tsx'
import { operatorTexts } from './operator-texts.ts'
import { texts } from './texts.ts'
import type { Attribute, Vocabulary } from './vocabulary.ts'

const { form: words } = texts
type Leaf = Record<string, unknown>

const lists = new Set(['in', 'not_in', 'contains_any', 'contains_all', 'subset_of', 'between'])
const onlyConstants = new Set(['between', 'matches', 'in_cidr', 'not_in_cidr'])
const withoutValue = new Set(['exists', 'not_exists'])

/** One comparison: an attribute, an operator of its type, and a value or another attribute. */
export function Comparison({
  value: leaf,
  pointer,
  known,
  fault,
  onChange,
}: {
  value: Leaf
  pointer: string
  known: Vocabulary
  fault: (pointer: string) => string | undefined
  onChange: (value: unknown) => void
}) {
  const name = String(leaf.attribute ?? '')
  const operator = String(leaf.operator ?? '')
  const attribute = known.attributes.find((one) => one.name === name)
  const type = attribute?.type ?? 'string'
  const operators: readonly string[] = operatorsByType[type]
  const isFrom = 'value_from' in leaf
  const setAttribute = (next: string) => {
    const nextType = known.attributes.find((one) => one.name === next)?.type ?? 'string'
    const fits = (operatorsByType[nextType] as readonly string[]).includes(operator)
    onChange(
      nextType === type
        ? { ...leaf, attribute: next }
        : withOperator({ attribute: next }, fits ? operator : 'eq', nextType),
    )
  }
  const wrong = fault(pointer)
  return (
    <div className="comparison-box" data-faulty={wrong ? true : undefined}>
      <div className="comparison">
        <AttributeSelect label={words.attribute} value={name} known={known} onChange={setAttribute} />
        <select
          className="input"
          aria-label={words.operator}
          value={operator}
          onChange={(event) => onChange(withOperator(leaf, event.target.value, type))}
        >
          {!operators.includes(operator) && <option value={operator}>{operator}</option>}
          {operators.map((one) => (
            <option key={one} value={one}>
              {operatorTexts[one] ?? one}
            </option>
          ))}
        </select>
        {!withoutValue.has(operator) && !onlyConstants.has(operator) && (
          <select
            className="input narrow"
            aria-label={words.from}
            value={isFrom ? 'from' : 'value'}
            onChange={(event) => onChange(withOperand(leaf, event.target.value === 'from'))}
          >
            <option value="value">{words.constant}</option>
            <option value="from">{words.otherAttribute}</option>
          </select>
        )}
        {!withoutValue.has(operator) &&
          (isFrom ? (
            <AttributeSelect
              label={words.valueFrom}
              value={String(leaf.value_from ?? '')}
              known={known}
              onChange={(next) => onChange({ ...leaf, value_from: next })}
            />
          ) : (
            <ValueField
              attribute={attribute}
              isList={lists.has(operator)}
              value={leaf.value}
              onChange={(value) => onChange({ ...leaf, value })}
            />
          ))}
        <Button kind="quiet" icon="trash" aria-label={words.removePart} onClick={() => onChange(undefined)} />
      </div>
      {wrong && <p className="field-fault">{wrong}</p>}
    </div>
  )
}

function withOperator({ value, value_from, ...leaf }: Leaf, operator: string, type: DataType): Leaf {
  const next = { ...leaf, operator }
  if (withoutValue.has(operator)) return next
  if (value_from !== undefined && !onlyConstants.has(operator)) return { ...next, value_from }
  const one = Array.isArray(value) ? value[0] : value
  const standard = type === 'boolean' ? true : type === 'integer' || type === 'number' ? 0 : ''
  const wanted = lists.has(operator)
    ? Array.isArray(value)
      ? value
      : one === undefined
        ? []
        : [one]
    : (one ?? standard)
  return { ...next, value: wanted }
}

const withOperand = ({ value, value_from, ...leaf }: Leaf, isFrom: boolean): Leaf =>
  isFrom ? { ...leaf, value_from: 'subject.id' } : { ...leaf, value: value ?? '' }

function AttributeSelect({
  label,
  value,
  known,
  onChange,
}: {
  label: string
  value: string
  known: Vocabulary
  onChange: (name: string) => void
}) {
  const categories = [...new Set(known.attributes.map(({ name }) => name.split('.')[0]!))]
  return (
    <select
      className="input mono"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {!known.attributes.some(({ name }) => name === value) && <option value={value}>{value}</option>}
      {categories.map((category) => (
        <optgroup key={category} label={category}>
          {known.attributes
            .filter(({ name }) => name.startsWith(`${category}.`))
            .map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
        </optgroup>
      ))}
    </select>
  )
}

function ValueField({
  attribute,
  isList,
  value,
  onChange,
}: {
  attribute: Attribute | undefined
  isList: boolean
  value: unknown
  onChange: (value: unknown) => void
}) {
  const type = attribute?.type ?? 'string'
  const choices = attribute?.allowed ?? (type === 'boolean' ? [true, false] : null)
  if (choices && !isList)
    return (
      <select
        className="input"
        aria-label={words.value}
        value={JSON.stringify(value)}
        onChange={(event) => onChange(JSON.parse(event.target.value))}
      >
        {!choices.some((one) => one === value) && (
          <option value={JSON.stringify(value) ?? 'null'}>{String(value ?? '')}</option>
        )}
        {choices.map((one) => (
          <option key={String(one)} value={JSON.stringify(one)}>
            {String(one)}
          </option>
        ))}
      </select>
    )
  const typed = (text: string) => {
    const isNumber = type === 'integer' || type === 'number'
    return isNumber && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
  }
  return (
    <input
      className="input"
      aria-label={words.value}
      title={isList ? words.list : undefined}
      value={Array.isArray(value) ? value.join(', ') : String(value ?? '')}
      onChange={(event) => {
        const { value: text } = event.target
        onChange(isList ? text.split(/,\s?/).map(typed) : typed(text))
      }}
    />
  )
}
