import { type ReactNode, useEffect } from 'react'

/** A page of the console: its title in the tab, and its head with the actions. */
export function Page({
  title,
  about,
  actions,
  width,
  children,
}: {
  title: string
  about?: ReactNode
  actions?: ReactNode
  width?: 'text' | 'wide'
  children: ReactNode
}) {
  useTitle(title)
  return (
    <div className="page" data-width={width}>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {about && <p>{about}</p>}
        </div>
        {actions && <div className="line">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Bailiwick`
  }, [title])
}

export function Card({
  title,
  about,
  actions,
  foot,
  danger,
  children,
}: {
  title?: string
  about?: ReactNode
  actions?: ReactNode
  foot?: ReactNode
  danger?: boolean
  children?: ReactNode
}) {
  return (
    <section className="card" data-tone={danger ? 'danger' : undefined}>
      {title && (
        <div className="card-head">
          <div>
            <h2>{title}</h2>
            {about && <p>{about}</p>}
          </div>
          {actions && <div className="line">{actions}</div>}
        </div>
      )}
      {children}
      {foot && <div className="card-foot">{foot}</div>}
    </section>
  )
}
