import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { texts } from './texts.ts'

/** Shows a secret once. Only its button closes it, so that a stray click loses nothing. `children` stand below it. */
export function SecretDialog({
  title,
  about = texts.shownOnce,
  secret,
  onDone,
  children,
}: {
  title: string
  about?: string
  secret: string
  onDone: () => void
  children?: ReactNode
}) {
  return (
    <Dialog open onClose={() => undefined} title={title} about={about}>
      <div className="dialog-body">
        <div className="secret">
          <code>{secret}</code>
          <CopyButton text={secret} />
        </div>
        {children}
      </div>
      <div className="dialog-foot">
        <Button kind="primary" onClick={onDone}>
          {texts.kept}
        </Button>
      </div>
    </Dialog>
  )
}
