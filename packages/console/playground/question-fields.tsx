import { TextArea, TextField } from '../parts/field.tsx'
import { useVocabulary } from '../policies/vocabulary.ts'
import { isProperties, type Question } from './question.ts'
import { texts } from './texts.ts'

const { question: words } = texts

/** Who asks for what, on what, when and from where. */
export function QuestionFields({
  question,
  onChange,
}: {
  question: Question
  onChange: (question: Question) => void
}) {
  const known = useVocabulary()
  /** A part of the question; `name` is its name in the API. */
  const of = (part: keyof Question, name: string) => ({
    name,
    label: words[part],
    value: question[part],
    onChange: (event: { target: { value: string } }) => onChange({ ...question, [part]: event.target.value }),
  })
  const code = (part: keyof Question, name: string) => ({
    ...of(part, name),
    className: 'mono',
    maxLength: 254,
  })
  const json = (part: 'properties' | 'attributes', name: string) => ({
    ...of(part, name),
    className: 'mono',
    rows: 2,
    spellCheck: false,
    fault: isProperties(question[part]) ? undefined : words.notObject,
  })
  return (
    <div className="stack question">
      <div className="columns tight">
        <TextField {...of('person', 'subject.id')} placeholder={words.personHint} maxLength={254} />
        <TextField {...of('roles', 'subject.roles')} placeholder={words.rolesHint} list="known-roles" />
      </div>
      <div className="columns thirds">
        <TextField {...code('action', 'action')} list="known-actions" />
        <TextField {...code('type', 'resource.type')} placeholder={question.action.split(':')[0]} />
        <TextField {...code('id', 'resource.id')} />
      </div>
      <TextArea {...json('properties', 'resource.properties')} placeholder={words.propertiesHint} />
      <details className="more" open={question.attributes + question.time + question.ip !== '' || undefined}>
        <summary>{words.more}</summary>
        <div className="stack">
          <TextArea {...json('attributes', 'subject.properties')} placeholder={words.attributesHint} />
          <div className="columns tight">
            <TextField {...of('time', 'context.time')} placeholder="2026-11-21T03:00:00Z" />
            <TextField {...of('ip', 'context.ip')} placeholder="203.0.113.7" />
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
