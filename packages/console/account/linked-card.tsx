import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'

interface Linked<T> {
  /** The key of its query. */
  name: string
  icon: IconName
  words: {
    title: string
    about: string
    remove: string
    removeOf: (name: string) => string
    removed: string
    removing: { title: (name: string) => string; about: string }
  }
  read: (signal: AbortSignal) => Promise<{ results: T[] }>
  remove: (path: { id: string }) => Promise<unknown>
  nameOf: (one: T) => string
  /** What is said of one, each in its line. */
  linesOf: (one: T) => ReactNode[]
}

/** What the account of a person is linked to, which they can end. Without one there is no card. */
export function LinkedCard<T extends { id: string }>({
  name,
  icon,
  words,
  read,
  remove,
  nameOf,
  linesOf,
}: Linked<T>) {
  const [asked, setAsked] = useState<T | null>(null)
  const { data } = useQuery({ queryKey: [name], queryFn: ({ signal }) => read(signal) })
  if (!data?.results.length) return null
  return (
    <Card title={words.title} about={words.about}>
      <ul className="rows">
        {data.results.map((one) => (
          <li key={one.id}>
            <span className="rows-icon">
              <Icon name={icon} />
            </span>
            <div className="what">
              <p>
                <bdi>{nameOf(one)}</bdi>
              </p>
              {linesOf(one)
                .filter(Boolean)
                .map((line, index) => (
                  <p className="muted small" key={index}>
                    {line}
                  </p>
                ))}
            </div>
            <Button
              kind="quiet"
              icon="trash"
              aria-label={words.removeOf(nameOf(one))}
              onClick={() => setAsked(one)}
            />
          </li>
        ))}
      </ul>
      {asked && (
        <Removal
          texts={words}
          name={nameOf(asked)}
          remove={() => changed(name, () => remove({ id: asked.id }), words.removed)}
          onClose={() => setAsked(null)}
        />
      )}
    </Card>
  )
}
