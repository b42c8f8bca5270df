import type { Problem } from '@bailiwick/client'
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Fault } from './notice.tsx'

/** The refusal that the fields below are about. A field that shows faults says so by `show`, until it calls the answer. */
export const Refusal = createContext<{ problem: Problem | null; show?: (name: string) => () => void }>({
  problem: null,
})

/** Whether a fault of `field` is one of the field `name`, or of a part of its value. */
const isAbout = (name: string, field: string) => field === name || field.startsWith(`${name}.`)

/** What is wrong with the field `name`: its `own` fault, or what the refusal of the form says about it. */
export function useFault(name: string | undefined, own?: string): string | undefined {
  const { problem, show } = useContext(Refusal)
  const faults = (name && problem?.errors.filter(({ field }) => isAbout(name, field))) || []
  const shown = !own && faults.length > 0 ? name : undefined
  useLayoutEffect(() => (shown ? show?.(shown) : undefined), [shown, show])
  if (own || !shown) return own
  return [...new Set(faults.map(({ detail }) => detail))].join(' ')
}

/**
 * The fields of a form, with the reason why the service refused it: at the field that it is about, whose name is that of
 * the API. It is above all fields if one of its faults is shown at none. A faulty field gets the focus, because it may be
 * out of view.
 */
export function Refused({ problem, children }: { problem: Problem | null; children: ReactNode }) {
  const inForm = useRef<HTMLInputElement>(null)
  const [names, setNames] = useState<readonly string[]>([])
  const show = useCallback((name: string) => {
    setNames((now) => [...now, name])
    return () => setNames((now) => now.filter((one) => one !== name))
  }, [])
  useLayoutEffect(() => {
    if (problem?.errors.length)
      inForm.current?.form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problem])
  const faults = problem?.errors ?? []
  const isAtFields =
    faults.length > 0 && faults.every(({ field }) => names.some((name) => isAbout(name, field)))
  return (
    <Refusal value={{ problem, show }}>
      <input type="hidden" ref={inForm} />
      {!isAtFields && <Fault problem={problem} />}
      {children}
    </Refusal>
  )
}
