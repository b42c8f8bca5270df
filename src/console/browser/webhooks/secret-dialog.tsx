import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Time } from '../parts/time.tsx'
import { texts } from './texts.ts'

const { secret: words } = texts

export interface Shown {
  secret: string
  previous_secret_expires_at?: string
}

/** Shows a secret once. Only its button closes it, so that a stray click loses nothing. */
export function SecretDialog({ shown, onDone }: { shown: Shown; onDone: () => void }) {
  return (
    <Dialog open onClose={() => undefined} title={words.title} about={words.about}>
      <div className="dialog-body">
        <div className="secret">
          <code>{shown.secret}</code>
          <CopyButton text={shown.secret} />
        </div>
        {shown.previous_secret_expires_at && (
          <p className="muted small">
            {words.until} <Time at={shown.previous_secret_expires_at} form="exact" />.
          </p>
        )}
      </div>
      <div className="dialog-foot">
        <Button kind="primary" onClick={onDone}>
          {words.done}
        </Button>
      </div>
    </Dialog>
  )
}
