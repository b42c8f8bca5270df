import type { Problem } from '@bailiwick/client'
import type { ReactNode } from 'react'
import { isLasting } from '../api/problem.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'
import { texts } from './texts.ts'
import { wayOn } from './way-on.tsx'

type Tone = 'danger' | 'warn' | 'good'

/** A message in the page. Screen readers announce it when it appears. */
export function Notice({
  tone,
  icon = 'alert',
  title,
  children,
}: {
  tone?: Tone
  icon?: IconName
  title?: string
  children?: ReactNode
}) {
  return (
    <div className="notice" data-tone={tone} role={tone === 'danger' ? 'alert' : 'status'}>
      <Icon name={icon} />
      <div>
        {title && <strong>{title}</strong>}
        {children}
      </div>
    </div>
  )
}

/** Why a call failed, above the form that made it. */
export function Fault({ problem }: { problem: Problem | null }) {
  if (!problem?.message) return null
  const way = wayOn(problem)
  return (
    <Notice tone="danger">
      <p>{problem.message}</p>
      {way && <div className="line notice-action">{way}</div>}
    </Notice>
  )
}

/** What stands in place of content: nothing is there yet, nothing matches, or it cannot be shown. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon: IconName
  title: string
  children?: ReactNode
  action?: ReactNode
}) {
  return (
    <div className="empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action && <div className="line">{action}</div>}
    </div>
  )
}

/** A page, or a part of one, that could not be loaded. */
export function Failed({ problem, retry }: { problem: Problem; retry: () => void }) {
  const about =
    problem.status === 403 ? texts.forbidden : problem.status === 404 ? texts.missing : texts.failed
  return (
    <div role="alert">
      <Empty
        icon={problem.status === 403 ? 'lock' : problem.status === 404 ? 'search' : 'alert'}
        title={about}
        action={
          isLasting(problem) ? (
            wayOn(problem)
          ) : (
            <Button icon="history" onClick={retry}>
              {texts.retry}
            </Button>
          )
        }
      >
        {problem.message}
      </Empty>
    </div>
  )
}

/** Rows that are still loading. */
export function Ghosts({ rows = 4 }: { rows?: number }) {
  return (
    <div className="card-body" role="status">
      <span className="hidden-text">{texts.loading}</span>
      {[...Array(rows).keys()].map((row) => (
        <span key={row} className="ghost" style={{ width: `${92 - ((row * 17) % 43)}%` }} />
      ))}
    </div>
  )
}
