import type { Remark } from '../editor/code-editor.tsx'
import { SelectField, TextArea, TextField } from '../parts/field.tsx'
import { TokenField } from '../parts/token-field.tsx'
import { ConditionPart } from './condition-part.tsx'
import { type Document, isRego, listOf, objectOf, withMember } from './document.ts'
import { Approval, EffectChoice, Part } from './form-parts.tsx'
import { JsonField } from './json-field.tsx'
import { texts } from './texts.ts'
import type { Vocabulary } from './vocabulary.ts'

const { form: words } = texts

interface Shown {
  document: Document
  onChange: (document: Document) => void
  known: Vocabulary
  remarks: readonly Remark[]
  isReadOnly: boolean
}

/** The same document as fields. What it does not know stays as it is in the text. */
export function PolicyForm({ document, onChange, known, remarks, isReadOnly }: Shown) {
  const set = (name: string, value: unknown) => onChange(withMember(document, name, value))
  const fault = (pointer: string) =>
    remarks.find((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`))?.detail
  const subjects = objectOf(document.subjects)
  const setSubjects = (name: string, ids: string[]) => {
    const { [name]: _, ...others } = subjects
    set('subjects', ids.length > 0 ? { ...others, [name]: ids } : others)
  }
  const text = (name: string) => (typeof document[name] === 'string' ? (document[name] as string) : '')
  const departments = known.departments.map(({ id, name }) => ({ value: id, text: name }))
  return (
    <fieldset className="policy-form" disabled={isReadOnly}>
      <Part title={words.what}>
        <TextField
          label={words.name}
          value={text('name')}
          maxLength={120}
          fault={fault('/name')}
          onChange={(event) => set('name', event.target.value)}
        />
        <EffectChoice effect={text('effect')} onChange={(effect) => set('effect', effect)} />
        <TokenField
          label={words.actions}
          hint={words.actionsHint}
          fault={fault('/actions')}
          values={listOf(document.actions)}
          suggestions={known.actions}
          disabled={isReadOnly}
          onChange={(actions) => set('actions', actions)}
        />
        <TokenField
          label={words.types}
          hint={words.typesHint}
          fault={fault('/resource_types')}
          values={listOf(document.resource_types)}
          suggestions={known.resourceTypes}
          disabled={isReadOnly}
          onChange={(types) => set('resource_types', types)}
        />
        <TextArea
          label={words.description}
          rows={2}
          value={text('description')}
          maxLength={2000}
          fault={fault('/description')}
          onChange={(event) => set('description', event.target.value)}
        />
      </Part>
      <Part title={words.who} about={words.whoAbout}>
        <TokenField
          label={words.roles}
          fault={fault('/subjects/roles')}
          values={listOf(subjects.roles)}
          suggestions={known.roles}
          disabled={isReadOnly}
          onChange={(ids) => setSubjects('roles', ids)}
        />
        <TokenField
          label={words.departments}
          fault={fault('/subjects/departments')}
          values={listOf(subjects.departments)}
          suggestions={departments}
          disabled={isReadOnly}
          onChange={(ids) => setSubjects('departments', ids)}
        />
        <TokenField
          label={words.people}
          fault={fault('/subjects/users')}
          values={listOf(subjects.users)}
          disabled={isReadOnly}
          onChange={(ids) => setSubjects('users', ids)}
        />
      </Part>
      <Part title={words.when} about={words.whenAbout}>
        {isRego(document) ? (
          <p className="muted">{words.moduleDecides}</p>
        ) : (
          <ConditionPart
            value={document.conditions ?? null}
            pointer="/conditions"
            level={1}
            known={known}
            fault={fault}
            onChange={(conditions) => set('conditions', conditions ?? null)}
          />
        )}
      </Part>
      {document.effect === 'require_approval' && (
        <Approval
          approval={objectOf(document.approval)}
          known={known}
          fault={fault('/approval')}
          isReadOnly={isReadOnly}
          onChange={(approval) => set('approval', approval)}
        />
      )}
      <Part title={words.details}>
        <div className="columns">
          <SelectField
            label={words.mode}
            value={text('mode') || 'enforce'}
            onChange={(event) => set('mode', event.target.value)}
          >
            {Object.entries(texts.modes).map(([mode, name]) => (
              <option key={mode} value={mode}>
                {name}
              </option>
            ))}
          </SelectField>
          <TextField
            label={words.priority}
            hint={words.priorityHint}
            type="number"
            value={String(document.priority ?? 0)}
            fault={fault('/priority')}
            onChange={(event) => set('priority', Number(event.target.value))}
          />
          {(['valid_from', 'valid_until'] as const).map((name) => (
            <TextField
              key={name}
              label={name === 'valid_from' ? words.from_ : words.until}
              type="datetime-local"
              value={localOf(text(name))}
              fault={fault(`/${name}`)}
              onChange={(event) =>
                set(name, event.target.value ? new Date(event.target.value).toISOString() : null)
              }
            />
          ))}
        </div>
        <JsonField
          label={words.obligations}
          hint={words.obligationsHint}
          value={document.obligations ?? []}
          fault={fault('/obligations')}
          onChange={(value) => set('obligations', value)}
        />
        <label className="line">
          <input
            type="checkbox"
            className="check"
            checked={document.is_active !== false}
            onChange={(event) => set('is_active', event.target.checked)}
          />
          {words.active}
        </label>
      </Part>
    </fieldset>
  )
}

/** A time in the reader's zone, as a field for times takes it. */
function localOf(at: string): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
