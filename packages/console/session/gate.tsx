import type { ReactNode } from 'react'
import { Mark } from '../parts/icon.tsx'
import { useTitle } from '../parts/page.tsx'
import { texts } from './texts.ts'

/** The frame of the pages that need no session. */
export function Gate({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  useTitle(title)
  return (
    <div className="gate">
      <main className="gate-card">
        <header className="gate-head">
          <Mark />
          <h1>{title}</h1>
          {about && <p>{about}</p>}
        </header>
        {children}
      </main>
      <footer className="gate-foot">{texts.foot}</footer>
    </div>
  )
}
