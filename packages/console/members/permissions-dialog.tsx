import type { Member, MemberPermissions, Role } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Badge } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { Failed, Ghosts } from '../parts/notice.tsx'
import { isOfService } from '../roles/permission-matrix.tsx'
import { nameOfMember } from './name-of-member.ts'
import { texts } from './texts.ts'

const { permissions: words } = texts
type Permission = MemberPermissions['permissions'][number]

/** Owners and admins hold every permission of applications. */
const gives = ({ permissions, is_system, name }: Role, permission: string) =>
  permissions.some((held) => held === permission || held === `${permission.split(':')[0]}:*`) ||
  (is_system && !isOfService(permission) && (name === 'owner' || name === 'admin'))

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
  const query = useQuery({
    queryKey: ['members', 'permissions', member.id, member.updated_at],
    queryFn: ({ signal }) => call('GET /permissions/', { query: { member_id: member.id }, signal }),
  })
  const held = roles.filter(({ name }) => member.roles.includes(name))
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
        {query.isError ? (
          <Failed problem={asProblem(query.error)} retry={() => void query.refetch()} />
        ) : query.data ? (
          <Kinds permissions={query.data} held={held} />
        ) : (
          <Ghosts rows={5} />
        )}
      </div>
    </Dialog>
  )
}

const kindOf = ({ permission }: Permission) => permission.split(':')[0]!

const looks = {
  always: { tone: 'good', icon: 'check' },
  sometimes: { tone: 'accent', icon: 'question' },
  never: { tone: 'danger', icon: 'close' },
} as const
type Often = keyof typeof looks

const OftenBadge = ({ often, children }: { often: Often; children: ReactNode }) => (
  <Badge tone={looks[often].tone}>
    <Icon name={looks[often].icon} size={12} />
    {children}
  </Badge>
)

function Kinds({ permissions, held }: { permissions: MemberPermissions; held: readonly Role[] }) {
  const { permissions: all, complete } = permissions
  const kinds = [...new Set(all.map(kindOf))]
  return (
    <>
      <p className="line">
        {(['always', 'sometimes', 'never'] as const).map((often) => (
          <OftenBadge key={often} often={often}>
            {words.counts[often](all.filter(({ permitted }) => permitted === often).length)}
          </OftenBadge>
        ))}
      </p>
      <div className="matrix">
        {kinds.map((kind) => (
          <div className="matrix-row" key={kind}>
            <span className="matrix-name">
              <bdi>{kind.replaceAll('_', ' ')}</bdi>
            </span>
            <Grants of={all.filter((one) => kindOf(one) === kind)} held={held} />
          </div>
        ))}
      </div>
      {!complete && <p className="muted small">{words.incomplete}</p>}
    </>
  )
}

/** What is permitted, or taken away by a policy: those with one reason in one line. Below it what nothing gives. */
function Grants({ of: permissions, held }: { of: readonly Permission[]; held: readonly Role[] }) {
  const missing: Permission[] = []
  const lines = new Map<string, { often: Often; remark: string; verbs: string[] }>()
  for (const one of permissions) {
    const roles = held.filter((role) => gives(role, one.permission)).map(({ name }) => name)
    if (one.permitted === 'never' && roles.length === 0) missing.push(one)
    else {
      const [often, remark] = [one.permitted, remarkOn(one, roles)]
      const line = lines.get(`${often} ${remark}`) ?? { often, remark, verbs: [] }
      line.verbs.push(verbOf(one))
      lines.set(`${often} ${remark}`, line)
    }
  }
  return (
    <ul className="grants">
      {[...lines.values()].map(({ often, remark, verbs }) => (
        <li key={`${often} ${remark}`}>
          {verbs.map((verb) => (
            <OftenBadge key={verb} often={often}>
              <span className="hidden-text">{words.often[often]} </span>
              <bdi>{verb}</bdi>
            </OftenBadge>
          ))}
          <span className="remark muted small">
            <bdi>{remark}</bdi>
          </span>
        </li>
      ))}
      {missing.length > 0 && (
        <li className="muted small">
          <bdi>{words.not(missing.map(verbOf))}</bdi>
        </li>
      )}
    </ul>
  )
}

const verbOf = ({ permission }: Permission) => {
  const verb = permission.slice(permission.indexOf(':') + 1)
  return verb === '*' ? words.others : verb.replaceAll('_', ' ')
}

function remarkOn(
  { permitted, approval, matched, depends_on, reasons }: Permission,
  roles: string[],
): string {
  const policies = matched.length > 0 && words.policies(matched.map(({ name }) => name))
  if (permitted === 'never') return words.taken(policies || '')
  const isOwn = reasons.some(({ code }) => code === 'not_owner')
  return [
    roles.length > 0 && words.from(roles),
    permitted === 'sometimes' && (isOwn ? words.own : words.sometimes(depends_on)),
    approval !== 'never' && words.approval[approval],
    policies,
  ]
    .filter(Boolean)
    .join(' · ')
}
