import './design/console.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { asProblem } from './api/problem.ts'
import { followAppearance } from './frame/appearance.ts'
import { router } from './router.tsx'
import { followSession } from './session/session.ts'

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The service says when to come again; a refusal stays one.
      retry: (failures, error) => failures < 2 && !asProblem(error).isLasting,
      retryDelay: (failures, error) =>
        Math.min((asProblem(error).retryAfter ?? 2 ** failures) * 1_000, 10_000),
    },
  },
})

followAppearance()
followSession(client)
createRoot(document.getElementById('console')!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
