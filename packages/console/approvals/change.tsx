import type { ApprovalRequest } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { request as send } from '../api/client.ts'
import { JsonDiff } from '../editor/json-diff.tsx'
import { writeJson } from '../editor/write-json.ts'
import { Facts } from '../parts/facts.tsx'
import { Ghosts } from '../parts/notice.tsx'
import { scopeTexts } from '../parts/scope-texts.ts'
import { texts } from './texts.ts'

const { request: words } = texts
type Fields = Record<string, unknown>

/** What the call would change: its body beside the object as it is now, where there is one. */
export function Change({ request }: { request: ApprovalRequest & { kind: 'call' } }) {
  const { method, path, body } = request.context
  const fields = body !== null && typeof body === 'object' ? (body as Fields) : {}
  const names = Object.keys(fields).filter((name) => name !== 'change_reason')
  const isChange = ['PUT', 'PATCH'].includes(method) && names.length > 0 && request.status !== 'executed'
  const now = useQuery({
    queryKey: ['approvals', 'object', path],
    queryFn: async ({ signal }) =>
      (await send(`GET ${path.replace(/^\/api\/v1/, '')}`, { signal })) as Fields,
    enabled: isChange,
  })
  if (request.action === 'oauth:authorize') return <SignIn of={fields} />
  if (Object.keys(fields).length === 0) return <p className="muted">{words.noBody}</p>
  if (isChange && now.isPending) return <Ghosts rows={3} />
  if (!isChange || !now.data || !names.some((name) => name in now.data))
    return <pre className="json">{writeJson(body)}</pre>
  const pick = (from: Fields) => Object.fromEntries(names.map((name) => [name, inOrder(from[name])]))
  return (
    <>
      <p className="muted small">{words.sinceNow}</p>
      <JsonDiff before={pick(now.data)} after={pick(fields)} />
    </>
  )
}

/** What an application would get, and where it is. */
function SignIn({ of: { name, redirect_host: host, scopes } }: { of: Fields }) {
  const learnt = [scopes].flat().map((one) => scopeTexts[String(one)]?.[0] ?? String(one))
  return (
    <Facts
      of={[
        [words.application, <bdi>{String(name)}</bdi>],
        [words.leadsTo, <code>{String(host)}</code>],
        [words.learns, learnt.join(', ')],
      ]}
    />
  )
}

/** The same value with its members in order, so that only values differ. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, one]) => [name, inOrder(one)]),
  )
}
