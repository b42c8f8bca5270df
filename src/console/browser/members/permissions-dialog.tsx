import { useQuery } from '@tanstack/react-query'
import type { EvaluationAnswer, Member, Role } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Badge } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Failed, Ghosts } from '../parts/notice.tsx'
import { permissionGroups } from '../roles/permission-matrix.tsx'
import { useMay } from '../session/session.ts'
import { nameOfMember } from './name-of-member.ts'
import { texts } from './texts.ts'

const { permissions: words } = texts

/** A permission, the roles of the member that give it, and what the policies make of it. */
interface Outcome {
  name: string
  from: string[]
  answer: EvaluationAnswer['context'] | null
}

const gives = (role: Role, permission: string) =>
  role.permissions.some((held) => held === permission || held === `${permission.split(':')[0]}:*`)

/** What a member may do in the end, and why: roles give, policies take and add. */
export function PermissionsDialog({
  member,
  roles,
  onClose,
}: {
  member: Member
  roles: readonly Role[]
  onClose: () => void
}) {
  const mayAsk = useMay()('access:evaluate')
  const held = roles.filter(({ name }) => member.roles.includes(name))
  const names = allPermissions(held)
  const query = useQuery({
    queryKey: ['members', 'permissions', member.id, member.updated_at],
    queryFn: () => evaluate(member, names),
    enabled: mayAsk && member.status === 'active',
  })
  const outcomes = names.map((name, n) => ({
    name,
    from: held.filter((role) => gives(role, name)).map((role) => role.name),
    answer: query.data?.[n] ?? null,
  }))
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={words.title(nameOfMember(member))}
      about={member.status === 'active' ? words.about : words.suspended}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <div className="dialog-body" tabIndex={0}>
        {query.isLoading && <Ghosts rows={5} />}
        {query.isError && <Failed problem={asProblem(query.error)} retry={() => void query.refetch()} />}
        {!query.isLoading && <Groups outcomes={outcomes.filter(isWorthShowing)} />}
      </div>
    </Dialog>
  )
}

const isWorthShowing = ({ from, answer }: Outcome) => from.length > 0 || (answer && answer.effect !== 'deny')

/** The service's own permissions, and those that the roles name for applications. */
function allPermissions(held: readonly Role[]): string[] {
  const own = permissionGroups.flatMap(([, names]) => names)
  const named = held.flatMap(({ permissions }) => permissions).filter((name) => !name.endsWith('*'))
  return [...new Set([...own, ...named])].sort()
}

const perCall = 50

/** Asks the service what it would decide about each permission, on any object of its kind. */
async function evaluate(member: Member, names: readonly string[]) {
  const subject = {
    type: member.kind,
    id: member.service_account?.id ?? member.user_id,
  }
  const answers: (EvaluationAnswer['context'] | null)[] = []
  for (let from = 0; from < names.length; from += perCall) {
    const evaluations = names.slice(from, from + perCall).map((name) => ({
      action: { name },
      resource: { type: name.split(':')[0], id: 'any' },
    }))
    const body = { subject, evaluations }
    const answer = await call('POST /access/v1/evaluations', { body })
    const list = 'evaluations' in answer ? answer.evaluations : []
    answers.push(...list.map(({ context }) => ('effect' in context ? context : null)))
  }
  return answers
}

function Groups({ outcomes }: { outcomes: readonly Outcome[] }) {
  const kinds = [...new Set(outcomes.map(({ name }) => name.split(':')[0]!))]
  if (kinds.length === 0) return <p className="muted">{words.none}</p>
  return (
    <div className="matrix">
      {kinds.map((kind) => (
        <div className="matrix-row" key={kind}>
          <span className="matrix-name">
            <bdi>{kind.replaceAll('_', ' ')}</bdi>
          </span>
          <ul className="grants">
            {outcomes
              .filter(({ name }) => name.startsWith(`${kind}:`))
              .map((outcome) => (
                <Grant key={outcome.name} {...outcome} verb={outcome.name.slice(kind.length + 1)} />
              ))}
          </ul>
        </div>
      ))}
    </div>
  )
}

const tones = { allow: 'good', deny: 'danger', require_approval: 'warn' } as const

function Grant({ verb, from, answer }: Outcome & { verb: string }) {
  const effect = answer?.effect ?? 'allow'
  const policies = (answer?.reasons ?? [])
    .filter(({ layer }) => layer !== 'rbac')
    .map(({ message }) => message)
  return (
    <li>
      <Badge tone={tones[effect]}>
        <bdi>{verb.replaceAll('_', ' ')}</bdi>
      </Badge>
      <span className="muted small">
        {effect !== 'allow' && `${words.effects[effect]} `}
        <bdi>{from.length > 0 && (effect === 'allow' || policies.length === 0) ? words.from(from) : ''}</bdi>
        {(effect !== 'allow' || from.length === 0) && <bdi>{policies.join(' ')}</bdi>}
      </span>
    </li>
  )
}
