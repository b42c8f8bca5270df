import { QueryClient } from '@tanstack/react-query'
import { asProblem } from './problem.ts'

/** What the pages have read. */
export const queryClient = new QueryClient({
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
