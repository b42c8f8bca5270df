import type { CreatedWebhook, Webhook } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { faultOf } from '../api/problem.ts'
import { approvable } from '../parts/approvable.ts'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
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
  const client = useQueryClient()
  const submit = async (form: FormData) => {
    const types = readChoice(form)
    if (types === null) throw noType()
    let created: CreatedWebhook | null = null
    const body = { url: textOf(form, 'url'), description: textOf(form, 'description'), event_types: types }
    await approvable(
      () =>
        confirmed(async () => {
          const saved = known
            ? await call('PATCH /webhooks/{id}/', { path: { id: known.id }, body })
            : await call('POST /webhooks/', { body })
          if ('secret' in saved) created = saved as CreatedWebhook
        }),
      known ? texts.changed : texts.created,
    )
    await client.invalidateQueries({ queryKey: ['webhooks'] })
    if (created) onCreated?.(created)
  }
  return (
    <FormDialog
      open
      onClose={onClose}
      title={known ? words.edit : words.create}
      go={known ? words.editGo : words.createGo}
      submit={submit}
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
    </FormDialog>
  )
}
