import type { ApprovalRequest } from '@bailiwick/client'
import { shown } from '../audit/in-words.ts'
import { Facts } from '../parts/facts.tsx'
import { texts } from './texts.ts'

const { request: words } = texts

/** What the policies that require the approval read of an application's question: the approval is for these values. */
export function ReadValues({ request }: { request: ApprovalRequest & { kind: 'application' } }) {
  const { properties, action_properties: ofAction, context } = request.context
  if (properties === null || context === null) return <p className="muted">{words.readGone}</p>
  const rows = [
    ...Object.entries(properties),
    ...Object.entries(ofAction ?? {}).map(([name, value]) => [words.ofAction(name), value] as const),
    ...Object.entries(context).map(([name, value]) => [words.ofContext(name), value] as const),
  ]
  if (rows.length === 0) return <p className="muted">{words.readNothing}</p>
  return (
    <div className="stack">
      <Facts of={rows.map(([name, value]) => [name, <bdi>{shown(value)}</bdi>])} />
      <p className="muted small">{words.readAbout}</p>
    </div>
  )
}
