import type { Problem } from '@bailiwick/client'
import type { ReactNode } from 'react'
import { prefix } from '../api/client.ts'
import { comingBack } from '../session/session.ts'
import { texts } from './texts.ts'

const labels: Readonly<Record<string, string>> = texts.wayOn

/** A link to the sign-in that a refusal asks for, which comes back to the present address. Null where none helps. */
export function wayOn(problem: Problem): ReactNode {
  const [url, label] = [addressOf(problem), labels[problem.code]]
  if (!url || !label) return null
  return (
    <a className="button" href={comingBack(new URL(url, location.href)).href}>
      {label}
    </a>
  )
}

function addressOf({ code, members: { url, acr_values: acr } }: Problem): string | null {
  if (typeof url === 'string') return url
  if (code !== 'insufficient_user_authentication') return null
  return `${prefix}/sign-in/${acr === 'aal2' ? 'step-up' : 'address'}/`
}
