import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import { Icon } from './icon.tsx'
import { useFault } from './refused.tsx'
import { texts } from './texts.ts'

interface Shown {
  label: string
  hint?: ReactNode
  /** What is wrong with the value, and how to correct it. Without it, what the refusal of the form says about `name`. */
  fault?: string | undefined
  /** At the end of the label's line, such as a link. */
  aside?: ReactNode
}

/** What joins the control of a field to its label and its remark. */
interface Joined {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': true | undefined
}

function Framed({
  label,
  hint,
  fault: own,
  aside,
  name,
  children,
}: Shown & { name: string | undefined; children: (joined: Joined) => ReactNode }) {
  const id = useId()
  const fault = useFault(name, own)
  const about = `${id}-about`
  return (
    <div className="field">
      <div className="field-head">
        <label className="field-label" htmlFor={id}>
          {label}
        </label>
        {aside}
      </div>
      {children({
        id,
        'aria-describedby': hint || fault ? about : undefined,
        'aria-invalid': fault ? true : undefined,
      })}
      {fault ? (
        <p className="field-fault" id={about}>
          <Icon name="alert" size={14} />
          {fault}
        </p>
      ) : (
        hint && (
          <p className="field-hint" id={about}>
            {hint}
          </p>
        )
      )}
    </div>
  )
}

export const TextField = ({
  label,
  hint,
  fault,
  aside,
  className = '',
  ...rest
}: ComponentProps<'input'> & Shown) => (
  <Framed {...{ label, hint, fault, aside }} name={rest.name}>
    {(joined) => <input {...rest} {...joined} className={`input ${className}`} />}
  </Framed>
)

/** A text that programs read, such as an id, an address or a claim: browsers and keyboards leave it as it is typed. */
export const PlainField = (props: ComponentProps<typeof TextField>) => (
  <TextField autoCapitalize="none" autoComplete="off" spellCheck={false} {...props} />
)

export function PasswordField({ label, hint, fault, aside, ...rest }: ComponentProps<'input'> & Shown) {
  const [visible, setVisible] = useState(false)
  return (
    <Framed {...{ label, hint, fault, aside }} name={rest.name}>
      {(joined) => (
        <div className="input-inside">
          <input
            {...rest}
            {...joined}
            className="input"
            type={visible ? 'text' : 'password'}
            spellCheck={false}
            autoCapitalize="none"
          />
          <button
            type="button"
            className="button"
            data-kind="quiet"
            data-size="icon"
            aria-label={texts.showPassword}
            aria-pressed={visible}
            onClick={() => setVisible(!visible)}
          >
            <Icon name="eye" />
          </button>
        </div>
      )}
    </Framed>
  )
}

export const SelectField = ({ label, hint, fault, aside, ...rest }: ComponentProps<'select'> & Shown) => (
  <Framed {...{ label, hint, fault, aside }} name={rest.name}>
    {(joined) => <select {...rest} {...joined} className="input" />}
  </Framed>
)

export const TextArea = ({
  label,
  hint,
  fault,
  aside,
  className = '',
  ...rest
}: ComponentProps<'textarea'> & Shown) => (
  <Framed {...{ label, hint, fault, aside }} name={rest.name}>
    {(joined) => <textarea {...rest} {...joined} className={`input ${className}`} />}
  </Framed>
)

/** A choice with its consequence. */
export const CheckField = ({
  label,
  hint,
  ...rest
}: ComponentProps<'input'> & { label: ReactNode; hint: ReactNode }) => (
  <label className="choice">
    <input {...rest} type="checkbox" />
    <span>
      <strong>{label}</strong>
      <span className="muted small">{hint}</span>
    </span>
  </label>
)

/** A choice of one of a few, each with what it is. The first is chosen. */
export const RadioFields = <T extends string>({
  label,
  name,
  options,
  onChoose,
}: {
  label: string
  name: string
  options: Readonly<Record<T, { name: string; about: string }>>
  onChoose: (value: T) => void
}) => (
  <fieldset className="choices">
    <legend className="field-label">{label}</legend>
    {(Object.keys(options) as T[]).map((value, index) => (
      <label className="choice" key={value}>
        <input
          type="radio"
          name={name}
          value={value}
          defaultChecked={index === 0}
          onChange={() => onChoose(value)}
        />
        <span>
          <strong>{options[value].name}</strong>
          <span className="muted small">{options[value].about}</span>
        </span>
      </label>
    ))}
  </fieldset>
)

export function SearchField({ label, ...rest }: ComponentProps<'input'> & { label: string }) {
  return (
    <div className="search">
      <Icon name="search" />
      <input {...rest} type="search" className="input" aria-label={label} placeholder={label} />
    </div>
  )
}
