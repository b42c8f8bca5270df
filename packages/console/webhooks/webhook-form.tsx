import type { CreatedWebhook, Webhook } from '@bailiwick/client'
import { call } from '../api/client.ts'
import { faultOf } from '../api/problem.ts'
import { EditDialog } from '../parts/edit-dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { textOf } from '../session/use-submit.ts'
import { EventChoice, readChoice } from './event-choice.tsx'
import { texts } from './texts.ts'

const { form: words } = texts

const noType = () => faultOf('event_types', words.none)

/** Creates a webhook, or changes `known`. `onCreated` gets the secret, which is not shown again. */
export function WebhookForm({
  known,
  onClose,
  onCreated,
}: {
  known?: Webhook
  onClose: () => void
  onCreated?: (created: CreatedWebhook) => void
}) {
  const save = async (form: FormData) => {
    const types = readChoice(form)
    if (types === null) throw noType()
    const body = { url: textOf(form, 'url'), description: textOf(form, 'description'), event_types: types }
    return known
      ? call('PATCH /webhooks/{id}/', { path: { id: known.id }, body })
      : call('POST /webhooks/', { body })
  }
  return (
    <EditDialog
      name="webhooks"
      done={texts}
      {...{ words, known, save, onClose }}
      onSaved={(saved) => !known && onCreated?.(saved as CreatedWebhook)}
    >
      <TextField
        label={words.url}
        hint={words.urlHint}
        name="url"
        type="url"
        inputMode="url"
        placeholder="https://"
        maxLength={2000}
        defaultValue={known?.url}
        required
        autoFocus
      />
      <TextField
        label={words.description}
        name="description"
        maxLength={2000}
        defaultValue={known?.description}
      />
      <EventChoice chosen={known?.event_types ?? []} />
    </EditDialog>
  )
}
