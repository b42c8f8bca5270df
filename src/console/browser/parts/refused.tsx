import { createContext, type ReactNode, useContext, useLayoutEffect, useRef, useState } from 'react'
import type { Problem } from '../api/problem.ts'
import { Fault } from './notice.tsx'

/** The refusal that the fields below are about. */
export const Refusal = createContext<Problem | null>(null)

/** What the refusal of a form says about its field `name`, or about a part of the field's value. */
export function useFault(name: string | undefined): string | undefined {
  const fields = useContext(Refusal)?.fields
  if (!fields || !name) return undefined
  return fields.get(name) ?? [...fields].find(([field]) => field.startsWith(`${name}.`))?.[1]
}

/**
 * The fields of a form, with the reason why the service refused it: at the field that it is about, whose name is that of
 * the API, or above all fields. A faulty field gets the focus, because it may be out of view.
 */
export function Refused({ problem, children }: { problem: Problem | null; children: ReactNode }) {
  const inForm = useRef<HTMLInputElement>(null)
  const [isAtField, setAtField] = useState(false)
  useLayoutEffect(() => {
    const faulty = problem?.fields.size
      ? inForm.current?.form?.querySelector<HTMLElement>('[aria-invalid=true]')
      : null
    setAtField(Boolean(faulty))
    faulty?.focus()
  }, [problem])
  return (
    <Refusal value={problem}>
      <input type="hidden" ref={inForm} />
      {!isAtField && <Fault problem={problem} />}
      {children}
    </Refusal>
  )
}
