import type { Problem } from '@bailiwick/client'
import * as Base from 'base-ui/dialog'
import { type FormEvent, type ReactNode, useState } from 'react'
import { asProblem } from '../api/problem.ts'
import { Button } from './button.tsx'
import { Refused } from './refused.tsx'
import { texts } from './texts.ts'

interface Common {
  open: boolean
  onClose: () => void
  title: string
  about?: ReactNode
}

export function Dialog({
  open,
  onClose,
  title,
  about,
  wide,
  children,
}: Common & { wide?: boolean; children: ReactNode }) {
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="veil" />
        <Base.Popup className="dialog" data-width={wide ? 'wide' : undefined}>
          <div className="dialog-head">
            <Base.Title>{title}</Base.Title>
            {about && <Base.Description className="muted">{about}</Base.Description>}
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

/**
 * A dialog with a form. `submit` makes the call; while it runs the button shows it. A refusal stays at the field that it
 * is about, or above the fields, which keep what was typed.
 */
export function FormDialog({
  open,
  onClose,
  title,
  about,
  wide,
  go,
  danger,
  submit,
  children,
}: Common & {
  wide?: boolean
  go: string
  danger?: boolean
  submit: (form: FormData) => Promise<unknown>
  children?: ReactNode
}) {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const close = () => {
    setProblem(null)
    onClose()
  }
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    event.stopPropagation()
    if (busy) return
    setBusy(true)
    try {
      await submit(new FormData(event.currentTarget))
      close()
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog {...{ open, title, about, wide }} onClose={close}>
      <form onSubmit={send} noValidate>
        <div className="dialog-body">
          <Refused problem={problem}>{children}</Refused>
        </div>
        <div className="dialog-foot">
          <Button onClick={close}>{texts.cancel}</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} busy={busy}>
            {go}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
