import { QueryClient } from '@tanstack/react-query'

/** What the pages have read. The client repeats calls. */
export const queryClient = new QueryClient({
  defaultOptions: { queries: { staleTime: 5_000, retry: false } },
})
