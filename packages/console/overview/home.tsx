import { Navigate } from '@tanstack/react-router'
import { useMay } from '../session/session.ts'
import { OverviewPage } from './overview-page.tsx'

/** Where people arrive: those who may not see the overview begin with their account. */
export function Home() {
  return useMay()('audit:list') ? <OverviewPage /> : <Navigate to="/account" replace />
}
