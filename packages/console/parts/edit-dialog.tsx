import type { ComponentProps } from 'react'
import { changed } from './approvable.ts'
import { FormDialog } from './dialog.tsx'

type Shown = Omit<ComponentProps<typeof FormDialog>, 'open' | 'title' | 'go' | 'submit'>

/**
 * A dialog that makes an object, or changes one that is `known`. `save` makes the call; `onSaved` gets its answer, unless the call waits
 * for an approval. `name` is the first part of the keys of the queries that show the object.
 */
export function EditDialog<Answer>({
  name,
  known,
  words,
  done,
  save,
  onSaved,
  ...rest
}: Shown & {
  name: string
  known: unknown
  words: { create: string; createGo: string; edit: string; editGo: string }
  done: { created: string; changed: string }
  save: (form: FormData) => Promise<Answer>
  onSaved?: (answer: Answer) => void
}) {
  const submit = async (form: FormData) => {
    let answer: Answer
    const run = async () => {
      answer = await save(form)
    }
    if (await changed(name, run, known ? done.changed : done.created)) onSaved?.(answer!)
  }
  return (
    <FormDialog
      open
      title={known ? words.edit : words.create}
      go={known ? words.editGo : words.createGo}
      submit={submit}
      {...rest}
    />
  )
}
