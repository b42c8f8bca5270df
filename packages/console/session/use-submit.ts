import type { Problem } from '@bailiwick/client'
import { type FormEvent, useState } from 'react'
import { asProblem } from '../api/problem.ts'

/** The state of a form: `submit` makes the call; a refusal stays in `problem`, and the fields keep what was typed. */
export function useSubmit(submit: (form: FormData) => Promise<unknown>) {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const onSubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (busy) return
    setBusy(true)
    setProblem(null)
    try {
      await submit(new FormData(event.currentTarget))
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
    }
  }
  return { busy, problem, onSubmit }
}

export const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '')
