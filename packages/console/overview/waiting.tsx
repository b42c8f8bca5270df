import { Link } from '@tanstack/react-router'
import { Icon } from '../parts/icon.tsx'
import { Empty, Ghosts } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { texts } from './texts.ts'
import { useItems } from './use-items.ts'

const { waits: words } = texts

/** What needs a person: approvals, what is broken, and what is risky. The most urgent first. */
export function Waiting() {
  const { items, isPending } = useItems()
  return (
    <Card title={words.title}>
      {isPending && <Ghosts rows={2} />}
      {!isPending && items.length === 0 && (
        <Empty icon="check" title={words.none.title}>
          {words.none.about}
        </Empty>
      )}
      <ul className="rows">
        {items.map(({ id, tone, icon, title, about, ...target }) => (
          <li key={id}>
            <span className="rows-icon" data-tone={tone}>
              <Icon name={icon} />
            </span>
            <div className="what">
              <p>
                <bdi>{title}</bdi>
              </p>
              <p className="muted small">{about}</p>
            </div>
            <Link
              className="button"
              {...(target as { to: '/members' })}
              aria-label={`${words.open}: ${title}`}
            >
              {words.open}
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  )
}
