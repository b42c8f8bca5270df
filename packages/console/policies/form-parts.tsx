import type { ReactNode } from 'react'
import { TextField } from '../parts/field.tsx'
import { TokenField } from '../parts/token-field.tsx'
import { type Document, type Effect, listOf, objectOf } from './document.ts'
import { texts } from './texts.ts'
import type { Vocabulary } from './vocabulary.ts'

const { form: words } = texts

export function Part({ title, about, children }: { title: string; about?: string; children: ReactNode }) {
  return (
    <section className="form-part">
      <div>
        <h2 className="part-title">{title}</h2>
        {about && <p className="muted small">{about}</p>}
      </div>
      <div className="stack">{children}</div>
    </section>
  )
}

export function EffectChoice({ effect, onChange }: { effect: string; onChange: (effect: Effect) => void }) {
  return (
    <fieldset className="choices">
      <legend className="field-label">{words.effect}</legend>
      <div className="columns effects">
        {(Object.keys(texts.effects) as Effect[]).map((one) => (
          <label className="choice" key={one}>
            <input type="radio" name="effect" checked={one === effect} onChange={() => onChange(one)} />
            <span>
              <strong>{texts.effects[one]}</strong>
              <span className="muted small">{words.effectAbout[one]}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

export function Approval({
  approval,
  known,
  fault,
  isReadOnly,
  onChange,
}: {
  approval: Document
  known: Vocabulary
  fault: string | undefined
  isReadOnly: boolean
  onChange: (approval: Document) => void
}) {
  const number = (name: string, standard: number) =>
    typeof approval[name] === 'number' ? (approval[name] as number) : standard
  const roles = listOf(objectOf(approval.approver).roles)
  return (
    <Part title={words.approvalTitle}>
      <TokenField
        label={words.approvers}
        fault={fault}
        values={roles.length > 0 ? roles : ['owner', 'admin']}
        suggestions={known.roles}
        disabled={isReadOnly}
        onChange={(chosen) => onChange({ ...approval, approver: { roles: chosen } })}
      />
      <div className="columns">
        {(
          [
            ['quorum', words.quorum, 1, 1],
            ['expires_in', words.expiresIn, 86_400, 3_600],
            ['valid_for', words.validFor, 3_600, 60],
          ] as const
        ).map(([name, label, standard, unit]) => (
          <TextField
            key={name}
            label={label}
            type="number"
            min={1}
            value={String(number(name, standard) / unit)}
            onChange={(event) =>
              onChange({ ...approval, [name]: Math.round(Number(event.target.value) * unit) })
            }
          />
        ))}
      </div>
    </Part>
  )
}
