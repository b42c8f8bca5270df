import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { createPortal } from 'react-dom'
import { asProblem } from '../api/problem.ts'
import { Icon } from './icon.tsx'
import { texts } from './texts.ts'
import { wayOn } from './way-on.tsx'

interface Toast {
  key: number
  title: string
  about: string | undefined
  isFault: boolean
  /** A link that leads on. */
  way: ReactNode
}

let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()
const maxShown = 3

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

const add = (toast: Omit<Toast, 'key'>) => set([{ key: ++last, ...toast }, ...toasts].slice(0, maxShown))

/** Says that something was done. */
export const say = (title: string, about?: string) => add({ title, about, isFault: false, way: null })

/** Says why something could not be done, where no form can show it. */
export function sayFault(error: unknown): void {
  const problem = asProblem(error)
  if (problem.message) add({ title: problem.message, about: undefined, isFault: true, way: wayOn(problem) })
}

/** Where messages appear, for some seconds. Beside the pages, so that a dialog neither hides them nor closes for a click. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => toasts,
  )
  return createPortal(
    <section className="toasts" aria-label={texts.messages} aria-live="polite">
      {shown.map((toast) => (
        <Shown key={toast.key} toast={toast} />
      ))}
    </section>,
    document.body,
  )
}

/** It stays while the pointer or the focus is on it. */
function Shown({ toast: { key, title, about, isFault, way } }: { toast: Toast }) {
  const [isHeld, setHeld] = useState(false)
  const close = () => set(toasts.filter((one) => one.key !== key))
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => set(toasts.filter((one) => one.key !== key)), isFault ? 10_000 : 5_000)
    return () => clearTimeout(timer)
  }, [key, isFault, isHeld])
  const held = {
    onPointerEnter: () => setHeld(true),
    onPointerLeave: () => setHeld(false),
    onFocus: () => setHeld(true),
    onBlur: () => setHeld(false),
  }
  return (
    <div
      className="toast"
      data-type={isFault ? 'fault' : undefined}
      role={isFault ? 'alert' : undefined}
      {...held}
    >
      <Icon name={isFault ? 'alert' : 'check'} />
      <div>
        <p className="toast-title">{title}</p>
        {about && <p className="muted small">{about}</p>}
        {way && <div className="line notice-action">{way}</div>}
      </div>
      <button type="button" className="toast-close" aria-label={texts.close} onClick={close}>
        <Icon name="close" size={14} />
      </button>
    </div>
  )
}
