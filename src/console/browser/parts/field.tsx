import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import { Icon } from './icon.tsx'
import { texts } from './texts.ts'

interface Shown {
  label: string
  hint?: ReactNode
  /** What is wrong with the value, and how to correct it. */
  fault?: string | undefined
  /** At the end of the label's line, such as a link. */
  aside?: ReactNode
}

function Framed({ label, hint, fault, aside, id, children }: Shown & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <div className="field-head">
        <label className="field-label" htmlFor={id}>
          {label}
        </label>
        {aside}
      </div>
      {children}
      {fault ? (
        <p className="field-fault" id={`${id}-about`}>
          <Icon name="alert" size={14} />
          {fault}
        </p>
      ) : (
        hint && (
          <p className="field-hint" id={`${id}-about`}>
            {hint}
          </p>
        )
      )}
    </div>
  )
}

const described = (id: string, { hint, fault }: Shown) => ({
  'aria-describedby': hint || fault ? `${id}-about` : undefined,
  'aria-invalid': fault ? true : undefined,
})

export function TextField({
  label,
  hint,
  fault,
  aside,
  className,
  ...rest
}: ComponentProps<'input'> & Shown) {
  const id = useId()
  return (
    <Framed {...{ label, hint, fault, aside, id }}>
      <input
        {...rest}
        id={id}
        className={`input ${className ?? ''}`}
        {...described(id, { label, hint, fault })}
      />
    </Framed>
  )
}

export function PasswordField({ label, hint, fault, aside, ...rest }: ComponentProps<'input'> & Shown) {
  const id = useId()
  const [visible, setVisible] = useState(false)
  return (
    <Framed {...{ label, hint, fault, aside, id }}>
      <div className="input-inside">
        <input
          {...rest}
          id={id}
          className="input"
          type={visible ? 'text' : 'password'}
          spellCheck={false}
          autoCapitalize="none"
          {...described(id, { label, hint, fault })}
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
    </Framed>
  )
}

export function SelectField({ label, hint, fault, aside, ...rest }: ComponentProps<'select'> & Shown) {
  const id = useId()
  return (
    <Framed {...{ label, hint, fault, aside, id }}>
      <select {...rest} id={id} className="input" {...described(id, { label, hint, fault })} />
    </Framed>
  )
}

export function TextArea({ label, hint, fault, aside, ...rest }: ComponentProps<'textarea'> & Shown) {
  const id = useId()
  return (
    <Framed {...{ label, hint, fault, aside, id }}>
      <textarea {...rest} id={id} className="input" {...described(id, { label, hint, fault })} />
    </Framed>
  )
}

export function SearchField({ label, ...rest }: ComponentProps<'input'> & { label: string }) {
  return (
    <div className="search">
      <Icon name="search" />
      <input {...rest} type="search" className="input" aria-label={label} placeholder={label} />
    </div>
  )
}
