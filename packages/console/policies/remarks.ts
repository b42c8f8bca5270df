import type { Problem } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import type { Remark } from '../editor/code-editor.tsx'
import { useMay } from '../session/session.ts'
import { bodyOf, documentIn, isBegun, isRego } from './document.ts'
import { texts } from './texts.ts'

interface Fault {
  field: string
  pointer?: string
  detail: string
}

/** The faults of a policy that a refusal names, each at its place; empty if the refusal is about something else. */
export function remarksOf({ status, members }: Problem): Remark[] {
  const faults =
    [400, 422].includes(status) && Array.isArray(members.errors) ? (members.errors as Fault[]) : []
  return faults
    .map(({ field, pointer, detail }) => ({
      pointer: (pointer ?? `/${field.replaceAll('.', '/')}`).replace(/^\/draft(?=\/|$)/, ''),
      detail,
      tone: 'fault' as const,
    }))
    .filter(
      ({ pointer }) =>
        !/^\/(subject|resource|context|cases)\//.test(pointer) || pointer.startsWith('/subjects'),
    )
}

export type Checked = 'checking' | 'valid' | 'faulty' | 'unknown'

/** A text that rests: it changes when no key was pressed for a while. */
export function useRested<T>(value: T, ms = 500): T {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}

/** What is wrong with a document: it is no JSON, or the service would refuse it. Asks while the keyboard rests. */
export function useCheck(text: string, id: string | null): { state: Checked; remarks: readonly Remark[] } {
  const may = useMay()
  // A module is compiled for each check.
  const rested = useRested(text, isRego(documentIn(text)) ? 1_500 : 500)
  const document = documentIn(rested)
  const query = useQuery({
    queryKey: ['check', id, rested],
    queryFn: async ({ signal }) => {
      const body = { draft: bodyOf(document!) as never }
      try {
        if (id) await call('POST /policies/{id}/test/', { path: { id }, body, signal })
        else await call('POST /policies/test-draft/', { body, signal })
        return []
      } catch (error) {
        const remarks = remarksOf(asProblem(error))
        if (remarks.length > 0) return remarks
        throw error
      }
    },
    enabled: isBegun(id, document) && may('policy:test'),
    staleTime: 60_000,
  })
  if (text !== rested) return { state: 'checking', remarks: query.data ?? none }
  if (document === null) return { state: 'faulty', remarks: notJson }
  if (query.isFetching) return { state: 'checking', remarks: query.data ?? none }
  if (!query.data) return { state: 'unknown', remarks: none }
  return { state: query.data.length > 0 ? 'faulty' : 'valid', remarks: query.data }
}

const none: readonly Remark[] = []
const notJson: readonly Remark[] = [
  { pointer: '', range: 'not_json', detail: texts.editor.notJson, tone: 'fault' },
]
