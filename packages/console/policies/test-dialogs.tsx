import { Problem } from '@bailiwick/client'
import { useState } from 'react'
import { FormDialog } from '../parts/dialog.tsx'
import { SelectField, TextArea, TextField } from '../parts/field.tsx'
import { QuestionFields } from '../playground/question-fields.tsx'
import { textOf as fieldOf } from '../session/use-submit.ts'
import type { Effect } from './document.ts'
import { parsed } from './json-field.tsx'
import { type KeptTest, testsIn } from './kept-tests.ts'
import { texts } from './texts.ts'

const { tests: words } = texts

export function TestDialog({
  test,
  onClose,
  onSave,
}: {
  test: KeptTest
  onClose: () => void
  onSave: (test: KeptTest) => void
}) {
  const [question, setQuestion] = useState(test.question)
  return (
    <FormDialog
      open
      wide
      onClose={onClose}
      title={test.name ? words.editTitle : words.addTitle}
      go={words.save}
      submit={async (form) =>
        onSave({ ...test, question, name: fieldOf(form, 'name'), expect: fieldOf(form, 'expect') as Effect })
      }
    >
      <div className="columns">
        <TextField label={words.name} name="name" defaultValue={test.name} maxLength={254} autoFocus />
        <SelectField label={words.expect} name="expect" defaultValue={test.expect}>
          {Object.entries(texts.effects).map(([effect, name]) => (
            <option key={effect} value={effect}>
              {name}
            </option>
          ))}
        </SelectField>
      </div>
      <QuestionFields question={question} onChange={setQuestion} />
    </FormDialog>
  )
}

export function Paste({ onClose, onAdd }: { onClose: () => void; onAdd: (tests: KeptTest[]) => void }) {
  const [text, setText] = useState('')
  const found = testsIn(parsed(text))
  return (
    <FormDialog
      open
      wide
      onClose={onClose}
      title={words.paste}
      go={words.pasteGo}
      submit={async () => {
        if (!found) throw new Problem(400, { detail: words.pasteFault })
        onAdd(found)
      }}
    >
      <TextArea
        label={words.pasteLabel}
        className="mono"
        rows={10}
        spellCheck={false}
        value={text}
        fault={text.trim() !== '' && !found ? words.pasteFault : undefined}
        onChange={(event) => setText(event.target.value)}
      />
    </FormDialog>
  )
}
