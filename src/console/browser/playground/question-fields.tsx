import { TextArea, TextField } from '../parts/field.tsx'
import { useVocabulary } from '../policies/vocabulary.ts'
import { isProperties, type Question } from './question.ts'
import { texts } from './texts.ts'

const { question: words } = texts

/** Who asks for what, on what, when and from where. */
export function QuestionFields({
  question,
  onChange,
  fault,
}: {
  question: Question
  onChange: (question: Question) => void
  /** What the service says about a field, by its name in the API. */
  fault?: (name: string) => string | undefined
}) {
  const known = useVocabulary()
  const set = (name: keyof Question) => (event: { target: { value: string } }) =>
    onChange({ ...question, [name]: event.target.value })
  const wrong = fault ?? (() => undefined)
  const notObject = (text: string) => (isProperties(text) ? undefined : words.notObject)
  return (
    <div className="stack question">
      <div className="columns tight">
        <TextField
          label={words.person}
          placeholder={words.personHint}
          value={question.person}
          fault={wrong('subject.id')}
          maxLength={254}
          onChange={set('person')}
        />
        <TextField
          label={words.roles}
          placeholder={words.rolesHint}
          list="known-roles"
          value={question.roles}
          fault={wrong('subject.roles')}
          onChange={set('roles')}
        />
      </div>
      <div className="columns thirds">
        <TextField
          label={words.action}
          className="mono"
          list="known-actions"
          value={question.action}
          fault={wrong('action')}
          maxLength={254}
          onChange={set('action')}
        />
        <TextField
          label={words.type}
          className="mono"
          value={question.type}
          placeholder={question.action.split(':')[0]}
          fault={wrong('resource.type')}
          maxLength={254}
          onChange={set('type')}
        />
        <TextField
          label={words.id}
          className="mono"
          value={question.id}
          fault={wrong('resource.id')}
          maxLength={254}
          onChange={set('id')}
        />
      </div>
      <TextArea
        label={words.properties}
        placeholder={words.propertiesHint}
        className="input mono"
        rows={2}
        spellCheck={false}
        value={question.properties}
        fault={notObject(question.properties) ?? wrong('resource.properties')}
        onChange={set('properties')}
      />
      <details className="more" open={question.attributes + question.time + question.ip !== '' || undefined}>
        <summary>{words.more}</summary>
        <div className="stack">
          <TextArea
            label={words.attributes}
            placeholder={words.attributesHint}
            className="input mono"
            rows={2}
            spellCheck={false}
            value={question.attributes}
            fault={notObject(question.attributes) ?? wrong('subject.properties')}
            onChange={set('attributes')}
          />
          <div className="columns tight">
            <TextField
              label={words.time}
              placeholder="2026-11-21T03:00:00Z"
              value={question.time}
              fault={wrong('context.time')}
              onChange={set('time')}
            />
            <TextField
              label={words.ip}
              placeholder="203.0.113.7"
              value={question.ip}
              fault={wrong('context.ip')}
              onChange={set('ip')}
            />
          </div>
        </div>
      </details>
      <datalist id="known-roles">
        {known.roles.map((role) => (
          <option key={role} value={role} />
        ))}
      </datalist>
      <datalist id="known-actions">
        {known.actions
          .filter((action) => !action.endsWith('*'))
          .map((action) => (
            <option key={action} value={action} />
          ))}
      </datalist>
    </div>
  )
}
